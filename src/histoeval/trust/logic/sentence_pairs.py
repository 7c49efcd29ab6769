"""Sentences of a short report as they stand, held against each other.

What no table of terms knows is still said in words. In short reports in plain prose any two
sentences on the lesion are a pair, any two on its margins, and any two on lymph nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from histoeval.terms.sites import contains, find_sites, organ_of
from histoeval.terms.values.laterality import Side, side_of
from histoeval.trust.logic.grade_mentions import early
from histoeval.trust.logic.impression import leaning_of
from histoeval.trust.logic.lexicon import listed, pattern
from histoeval.trust.logic.rules.presence import is_prose
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import Specimen, span_of
from histoeval.trust.logic.statements import StatementPair
from histoeval.trust.logic.verbalise import LEANING, Statement, tidy

MAX_SENTENCE_PAIRS = 36
"""No more sentences of a report are held against each other as they stand."""

_STEM = 4
_WORD = re.compile(r"[a-z][a-z0-9-]{2,}")
_SITE = "site"
_LESION, _MARGINS, _NODES = "of the lesion", "of margins", "of nodes"


def sentence_pairs(specimen: Specimen) -> list[StatementPair]:
    """Two sentences of a specimen each that may contradict each other, the opposed first."""
    if not is_prose(specimen):
        return []
    told = [_sentence(passage, specimen) for passage in specimen.passages if _is_whole(passage)]
    pairs = [
        _held(one, other)
        for one, other in combinations(told, 2)
        if (shared := _subjects(one.passage) & _subjects(other.passage))
        and (shared != {_LESION} or _words(one.text) & _words(other.text) or _differ(one, other))
    ]
    return sorted(pairs, key=lambda pair: not pair.opposed)[:MAX_SENTENCE_PAIRS]


def _differ(one: Statement, other: Statement) -> bool:
    return _held(one, other).opposed


def _words(text: str) -> frozenset[str]:
    """The beginnings of the words of a sentence that are not in all of them."""
    stems = {word[:_STEM] for word in _WORD.findall(text.lower())}
    return frozenset(stems - listed("everywhere"))


def _held(one: Statement, other: Statement) -> StatementPair:
    """Two sentences as a pair; a place within another is the same place."""
    here, there = one.topics.get(_SITE, ""), other.topics.get(_SITE, "")
    if here and there and (contains(here, there) or contains(there, here)):
        other = replace(other, topics={**other.topics, _SITE: here})
    return StatementPair(one, other)


def _is_whole(passage: ReportSentence) -> bool:
    """Whether a sentence is of the lesion, and not of what is around it or of some of its cells."""
    of_tumour = pattern("tumour_cells").search(passage.text)
    apart = pattern("beyond").search(passage.text) or pattern("partly").search(passage.text)
    cells = pattern("some_cells").search(passage.text) and not of_tumour
    return not apart and not cells


def _subjects(passage: ReportSentence) -> frozenset[str]:
    """What a sentence is about: a stage is about the lesion and its nodes."""
    nodes = pattern("node_word").search(passage.text)
    margins = pattern("margin_word").search(passage.text)
    stage = pattern("stage_word").search(passage.text)
    about = {_NODES: nodes or stage, _MARGINS: margins, _LESION: stage or not (nodes or margins)}
    return frozenset(name for name, is_about in about.items() if is_about)


def _sentence(passage: ReportSentence, specimen: Specimen) -> Statement:
    span = span_of(specimen.text, passage.start, passage.end)
    topics = {name: value for name, value in _topics(passage, specimen) if value}
    return Statement(tidy(passage.text), span, passage, "morphology", topics)


def _topics(passage: ReportSentence, specimen: Specimen) -> Sequence[tuple[str, str]]:
    """What a sentence says of the things of which a lesion has but one."""
    side = side_of(passage.text)
    sites = {m.id for m in find_sites(passage.text) if organ_of(m.id) not in listed("tissues")}
    sizes = {
        f"{max(each.value.values):g}mm"
        for each in specimen.measurements
        if each.passage == passage and each.value.kind == "length"
    }
    grades = {
        f"{each.value.level:g}"
        for each in specimen.grades
        if each.passage == passage
        and not pattern("part_of_tumour").search(passage.text)
        and not early().search(passage.text)
    }
    return (
        ("side", side if side in (Side.LEFT, Side.RIGHT) else ""),
        (_SITE, sites.pop() if len(sites) == 1 else ""),
        ("size", sizes.pop() if len(sizes) == 1 else ""),
        ("grade", grades.pop() if len(grades) == 1 else ""),
        (LEANING, leaning_of(passage) or ""),
    )

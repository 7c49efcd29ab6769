"""Rules: two grades of one tumour, in one scheme or in any; a grade that the findings exclude."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import NamedTuple

from histoeval.pathgls.logic.contradiction import clash, two_values
from histoeval.pathgls.logic.grade_mentions import (
    GradeMention,
    are_at_odds,
    gradings,
    implied_by,
    is_of_early_lesion,
)
from histoeval.pathgls.logic.lexicon import GRADE, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.assertion import is_denied
from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.values.grades import Grade

_NEAR_CHARS = 60
_GLEASON = re.compile(r"\d\s*\+\s*\d|group|(?<!\d)(?:[6-9]|10)(?!\d)", re.IGNORECASE)
"""A score or a group, and not one pattern of several."""
_LESION = "lesion"
"""What dysplasia is a grade of: it may have one at one place and another beside it."""
_SHARE = (
    r"(?P<bound>more than|over|above|less than|under|below|up to|at most|at least|>|<)?\s{0,20}"
    r"(?P<share>\d{1,3})\s*(?:%|per ?cent)"
)
_THE = re.compile(r"\b(?:the|this|only)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_GROUP = re.compile("group", re.IGNORECASE)
_LESS = frozenset({"less than", "under", "below", "up to", "at most", "<"})
_MORE = frozenset({"more than", "over", "above", ">"})


def grade(specimen: Specimen) -> Iterator[Contradiction]:
    """Two grades of one scheme for the one tumour of a specimen."""
    if specimen.is_of_one_tumour:
        given = [
            each
            for each in specimen.grades
            if _is_of_all(each)
            and not is_denied(specimen.text, each.span.start, each.span.end)
            and not is_of_early_lesion(each.before[-_NEAR_CHARS:])
        ]
        yield from two_values("grade", given, _differ)


def _is_of_all(graded: ReportMention[Grade]) -> bool:
    """Whether a grade is one of the whole tumour, and a single rank."""
    found = graded.value
    single = found.part is None and found.level == int(found.level)
    pattern_only = found.scheme == "Gleason" and not _GLEASON.search(graded.span.text)
    partly = pattern("part_of_tumour").search(graded.clause) is not None
    several = graded.passage.has("several_tumours")
    return single and not (pattern_only or partly or several) and found.about != _LESION


def _differ(one: Grade, other: Grade) -> bool:
    """Whether two grades cannot both be right; those of different schemes always can."""
    comparable = one.scheme == other.scheme and (one.of == other.of or None in (one.of, other.of))
    return comparable and one.level != other.level


def grade_in_words(specimen: Specimen) -> Iterator[Contradiction]:
    """Grades of one lesion that cannot both be right, whatever the scheme."""
    if not specimen.is_of_one_lesion:
        return
    given = [each for each in gradings(specimen) if not _is_apart(each, specimen)]
    by_name = [each for name in specimen.names if name.settled for each in implied_by(name)]
    for one, other in combinations([*given, *by_name], 2):
        if _may_differ(one, other) and are_at_odds(one, other) and _is_same(other):
            why = f"{one.span.text} and {other.span.text} are two grades of one lesion"
            yield clash("grade", one, other, why)
    for each in given:
        yield from _not_as_described(each, specimen)


def _may_differ(one: GradeMention, other: GradeMention) -> bool:
    """Whether two grades stand in two sentences, or are a score and its group."""
    if one.passage != other.passage:
        return True
    groups = [bool(_GROUP.search(each.span.text)) for each in (one, other)]
    return one.scheme == other.scheme == "Gleason" and groups[0] != groups[1]


def _is_same(later: GradeMention) -> bool:
    """Whether a later grade is of the same lesion: dysplasia may differ from place to place."""
    again = bool(_THE.search(later.mention.before))
    return not later.early or again or later.passage.is_conclusion


def _is_apart(graded: GradeMention, specimen: Specimen) -> bool:
    """Whether the lesion has such words in its name, or a grading of its own."""
    apart = GRADE.ids("words", "apart")
    return graded.scheme in GRADE.ids("words", "alike") and _is_any_of(apart, specimen)


class _Described(NamedTuple):
    words: re.Pattern[str]
    ranks: Mapping[str, frozenset[int]]
    of: frozenset[str]


@cache
def _described() -> tuple[_Described, ...]:
    return tuple(
        _Described(
            any_of(row["words"]),
            {scheme: frozenset(ranks) for scheme, ranks in row["ranks"].items()},
            frozenset(row.get("of", ())),
        )
        for row in GRADE.entry("described")
    )


def _not_as_described(graded: GradeMention, specimen: Specimen) -> Iterator[Contradiction]:
    """What other sentences describe, and stands for another grade of the same scheme."""
    for passage in specimen.passages:
        if passage == graded.passage or graded.early or passage.has("beyond"):
            continue
        for seen in _seen(graded, passage, specimen):
            why = f"{seen.span.text} does not go with {graded.span.text}"
            yield clash("grade", graded, seen, why)


def _seen(
    graded: GradeMention, passage: ReportSentence, specimen: Specimen
) -> Iterator[ReportMention[str]]:
    for row in _described():
        ranks = row.ranks.get(graded.scheme)
        if ranks is None or graded.levels & ranks or (row.of and not _is_any_of(row.of, specimen)):
            continue
        found = row.words.search(passage.text)
        rest = passage.text.replace(found.group(), " ") if found else ""
        denied = found is not None and is_denied(passage.text, *found.span())
        if found and not denied and not pattern("partly").search(rest):
            yield passage.found(found)
    for row in GRADE.entry("share"):
        found = _share_of(row["of"], passage)
        if found and graded.scheme in row["scheme"] and not graded.levels & _ranks(row, found):
            yield passage.found(found)


def _is_any_of(ids: frozenset[str], specimen: Specimen) -> bool:
    """Whether the lesion is called one of these diagnoses, or a kind of one."""
    tree = diagnosis_tree()
    return any(tree.is_a(each.concept.id, id_) for each in specimen.names for id_ in ids)


def _share_of(what: str, passage: ReportSentence) -> re.Match[str] | None:
    """Where a sentence gives how much of the tumour is solid, or forms glands."""
    word = rf"\b{what}\w*\b"
    return re.search(rf"{word}[^.;]{{0,40}}?{_SHARE}", passage.text, re.IGNORECASE) or re.search(
        rf"{_SHARE}[^.;]{{0,45}}?{word}", passage.text, re.IGNORECASE
    )


def _ranks(row: Mapping[str, list[float]], found: re.Match[str]) -> frozenset[int]:
    """The ranks that a share stands for; of a bound all that it leaves open."""
    share, bound = float(found["share"]), (found["bound"] or "").lower()
    low = 0.0 if bound in _LESS else share
    high = share if bound in _LESS or not bound else 100.0
    limits = row["up_to"]
    steps = zip(row.get("ranks", [1, 2, 3]), [-1.0, *limits[:-1]], limits, strict=True)
    return frozenset(
        int(rank)
        for rank, least, most in steps
        if high > least and (low < most if bound in _MORE else low <= most)
    )

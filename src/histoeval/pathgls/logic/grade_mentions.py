"""Grades of a lesion in any scheme and in words, read from the sentences of a report in prose."""

import re
from collections.abc import Iterator
from functools import cache
from math import ceil, floor
from typing import NamedTuple

from histoeval.pathgls.logic.diagnosis_mentions import DiagnosisMention
from histoeval.pathgls.logic.lexicon import GRADE
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import ReportSpan
from histoeval.terms.assertion import asserts_now, is_denied
from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.values.grade_phrases import find_grades
from histoeval.terms.values.grades import Grade

_TIERS = ("low", "intermediate", "high")
_NEAR_CHARS = 60
_NEAR = 4
"""Words around a grade in which it says what is graded."""


class GradeMention(NamedTuple):
    """A grade of the lesion as a whole."""

    scheme: str
    levels: frozenset[int]
    tiers: frozenset[str]
    early: bool
    """Whether it is one of dysplasia or of a lesion in situ."""
    mention: ReportMention[str]

    @property
    def passage(self) -> ReportSentence:
        """The sentence that it stands in."""
        return self.mention.passage

    @property
    def span(self) -> ReportSpan:
        """Where it stands."""
        return self.mention.span


def gradings(specimen: Specimen) -> Iterator[GradeMention]:
    """The grades of the lesion as a whole, in the order of the text."""
    for passage in specimen.passages:
        for found in find_grades(passage.text):
            mention = passage.at(found.start, found.end)
            if found.summed:
                yield _graded(found.grade, mention, early=False)
            elif found.grade.part is None and _is_given(mention):
                early = _is_early(mention, found.grade)
                if early is not None:
                    yield _graded(found.grade, mention, early=early)


def _graded(grade: Grade, mention: ReportMention[str], *, early: bool) -> GradeMention:
    return GradeMention(grade.scheme, _levels(grade), _tiers(grade), early, mention)


def implied_by(name: DiagnosisMention) -> Iterator[GradeMention]:
    """The grades that the name of a diagnosis implies."""
    for row in GRADE.entry("implied"):
        if any(diagnosis_tree().is_a(name.concept.id, id_) for id_ in row["diagnoses"]):
            tiers = frozenset(row["tiers"])
            ranks = frozenset(_TIERS.index(tier) + 1 for tier in tiers)
            yield GradeMention("tier", ranks, tiers, False, name.mention)
            if "WHO" in row:
                yield GradeMention("WHO", frozenset(row["WHO"]), tiers, False, name.mention)


def are_at_odds(one: GradeMention, other: GradeMention) -> bool:
    """Whether two grades cannot both be right."""
    if one.early != other.early:
        return False
    alike = GRADE.ids("words", "alike")
    if one.scheme == other.scheme or (one.scheme in alike and other.scheme in alike):
        return not one.levels & other.levels
    return not one.tiers & other.tiers


def is_of_early_lesion(text: str) -> bool:
    """Whether a text has a word for dysplasia or for a lesion in situ."""
    return _early().search(text) is not None


@cache
def _early() -> re.Pattern[str]:
    return any_of(GRADE.entry("patterns", "early"))


def _levels(grade: Grade) -> frozenset[int]:
    """The ranks that a grade may mean: two where it stands between them."""
    return frozenset({floor(grade.level), ceil(grade.level)})


def _tiers(grade: Grade) -> frozenset[str]:
    ranks = GRADE.entry("tiers").get(grade.scheme, ())
    return frozenset(
        tier for level in _levels(grade) for tier in (ranks[level - 1 : level] or [_TIERS])[0]
    )


def _is_given(mention: ReportMention[str]) -> bool:
    """Whether a grade is affirmed, of the whole, and not one of several."""
    before = re.split(r"[;:]|\bbut\b|\bno special type\b", mention.before)[-1]
    near = " ".join(re.split(r"[,;(.]", mention.after)[0].split()[:_NEAR])
    if GRADE.has(before, "words", "not_given") or not _is_stated(mention):
        return False
    last = re.split(r"[,(]", before)[-1]
    return not (GRADE.has(last, "words", "part") or GRADE.has(near, "words", "part_after"))


def _is_stated(mention: ReportMention[str]) -> bool:
    """Whether the words around a grade neither deny it nor tell of the past."""
    start = mention.span.start - mention.passage.start
    near = re.split(r"[.;]", mention.after)[0]
    denied = is_denied(mention.passage.text, start, start + len(mention.span.text))
    return not denied and asserts_now(mention.before) and asserts_now(near[:_NEAR_CHARS])


def _is_early(mention: ReportMention[str], grade: Grade) -> bool | None:
    """Whether it is a grade of an early lesion; None where the clause mentions both."""
    if grade.scheme in ("dysplasia", "SIL", "CIN"):
        return True
    in_situ = is_of_early_lesion(mention.clause)
    if in_situ and GRADE.has(mention.clause, "words", "invasive"):
        near = " ".join(mention.after.split()[:_NEAR])
        return True if is_of_early_lesion(near) else None
    return in_situ

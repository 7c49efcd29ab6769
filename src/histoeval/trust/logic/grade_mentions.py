"""Grades of a lesion in any scheme and in words, as the sentences of a plain report give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import ceil, floor
from typing import NamedTuple

from histoeval.terms.catalogue import diagnosis_tree
from histoeval.terms.values.grades import Grade, read_grade
from histoeval.trust.logic.diagnosis_mentions import DiagnosisMention
from histoeval.trust.logic.lexicon import begins, table, written_as
from histoeval.trust.logic.sentences import ReportSentence
from histoeval.trust.logic.specimen import ReportMention, Specimen, said_in

_RANK = r"(?:[1-5]|I{1,3}|IV)\b(?:\s*(?:/|of|out of|-|to)\s*(?:[1-5]|III|IV)\b)?"
_SCHEMES = (
    r"(?:Nottingham|FIGO|Fuhrman|WHO/ISUP|ISUP|CNS WHO|WHO|FNCLCC|Edmondson(?:-Steiner)?|nucleolar)"
)
_PHRASE = re.compile(
    r"\bGleason\b[^.;,]{0,25}?\d\s*\+\s*\d(?:\s*=\s*\d+)?"
    r"|\bGleason (?:score |sum )?(?:of )?(?:10|[6-9])\b"
    r"|\bgrade group(?:\s+(?:is|of))?[\s:]*[1-5]\b"
    r"|\b(?:total|score|sum|Nottingham)\b[^.;]{0,20}?\b[3-9]\s*(?:/|out of)\s*9\b"
    rf"|\b{_SCHEMES}(?:[\s-]+(?:histologic(?:al)?|nuclear|nucleolar|combined))?(?:[\s-]+grade)?"
    rf"(?:\s+(?:is|of|as))?[\s:]*{_RANK}"
    rf"|\b(?:histologic(?:al)? |overall |tumou?r )?grade(?:d)?(?:\s+(?:is|of|as|was))?[\s:]*{_RANK}"
    r"|\bG[1-4]\b"
    r"|\b(?:well|moderately|poorly)(?:[\s-]+(?:to|and)[\s-]+(?:moderately|poorly))?[\s-]+differentiated\b"
    r"|\bundifferentiated\b(?! pleomorphic)|\b(?:good|moderate|poor) differentiation\b"
    r"|\bdifferentiation is (?:good|moderate|poor)\b"
    r"|\b(?:low|intermediate|high)(?:[\s-]+to[\s-]+(?:intermediate|high))?[\s-]+grade\b"
    r"|\bgrade(?:\s+(?:is|was))?[\s:]*(?:low|intermediate|high)\b"
    r"|\b(?:mild|moderate|severe) (?:\w+ )?dysplasia\b|\b[HL]G?SIL\b"
    r"|\b(?:CIN|VIN|AIN) ?(?:[1-3]|I{1,3})\b",
    re.IGNORECASE,
)
"""All ways to give a grade that `terms.grades` can read."""
_SCORES = re.compile(
    r"\btub\w+\D{0,20}?([1-3])\b\D{1,20}?\b(?:nucle\w+|pleo\w+)\D{0,20}?([1-3])\b"
    r"\D{1,20}?\bmito\w+\D{0,20}?([1-3])\b",
    re.IGNORECASE,
)
"""Scores of tubules, nuclei and mitoses."""
_OF_GROUP = re.compile(r"group (?:is|of) ", re.IGNORECASE)
_ABSENT = re.compile(
    r"(?:\s+[\w-]+){0,3}\s+(?:is|are|was|were)\s+(?:absent|not|excluded|lacking|no longer)\b"
    r"|[^.;]{0,40}\b(?:years ago|in (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
"""That it is not there, or was there before, after a grade."""
_TIERS = ("low", "intermediate", "high")
_NEAR = 4
"""What is graded stands within so many words."""


class GradeMention(NamedTuple):
    """A grade of the lesion as a whole."""

    scheme: str
    levels: frozenset[int]
    tiers: frozenset[str]
    early: bool
    """Whether it is one of dysplasia or what is in situ."""
    said: ReportMention[str]

    @property
    def passage(self) -> ReportSentence:
        """The sentence that it stands in."""
        return self.said.passage


def gradings(specimen: Specimen) -> Iterator[GradeMention]:
    """The grades that are given of the lesion as a whole, in the order of the text."""
    for passage in specimen.passages:
        yield from _summed(passage, specimen)
        for found in _PHRASE.finditer(passage.text):
            grade = read_grade(_OF_GROUP.sub("group ", found.group()))
            said = said_in(found, passage, specimen)
            if grade and grade.part is None and _is_given(said):
                of_early = _is_early(said, grade)
                if of_early is not None:
                    yield GradeMention(grade.scheme, _levels(grade), _tiers(grade), of_early, said)


def _summed(passage: ReportSentence, specimen: Specimen) -> Iterator[GradeMention]:
    """The Nottingham grade that three scores of one sentence add up to."""
    if found := _SCORES.search(passage.text):
        grade = read_grade(f"Nottingham {sum(int(each) for each in found.groups())}/9")
        if grade:
            said = said_in(found, passage, specimen)
            yield GradeMention(grade.scheme, _levels(grade), _tiers(grade), False, said)


def implied(named: DiagnosisMention) -> Iterator[GradeMention]:
    """The grades that a diagnosis has by its name."""
    for row in table("stated_grades")["implied"]:
        if any(diagnosis_tree().is_a(named.concept.id, id_) for id_ in row["diagnoses"]):
            tiers = frozenset(row["tiers"])
            ranks = frozenset(_TIERS.index(tier) + 1 for tier in tiers)
            yield GradeMention("tier", ranks, tiers, False, named.said)
            if "WHO" in row:
                yield GradeMention("WHO", frozenset(row["WHO"]), tiers, False, named.said)


def are_at_odds(one: GradeMention, other: GradeMention) -> bool:
    """Whether two grades cannot both be right."""
    if one.early != other.early:
        return False
    alike = words()["alike"]
    if one.scheme == other.scheme or (one.scheme in alike and other.scheme in alike):
        return not one.levels & other.levels
    return not one.tiers & other.tiers


@cache
def words() -> Mapping[str, frozenset[str]]:
    """Lists of ids and of schemes."""
    return {name: frozenset(listed) for name, listed in table("stated_grades")["words"].items()}


@cache
def begun(name: str) -> re.Pattern[str]:
    """One list of words as a pattern."""
    return begins(table("stated_grades")["words"][name])


@cache
def early() -> re.Pattern[str]:
    """Words for dysplasia and for what is in situ."""
    return written_as(table("stated_grades")["patterns"]["early"])


def _levels(grade: Grade) -> frozenset[int]:
    """The ranks that a grade may mean: two where it stands between them."""
    return frozenset({floor(grade.level), ceil(grade.level)})


def _tiers(grade: Grade) -> frozenset[str]:
    ranks = table("stated_grades")["tiers"].get(grade.scheme, ())
    return frozenset(
        tier for level in _levels(grade) for tier in (ranks[level - 1 : level] or [_TIERS])[0]
    )


def _is_given(said: ReportMention[str]) -> bool:
    """Whether a grade is given, of the whole, and not one of several."""
    text, start = said.passage.text, said.passage.start
    before = re.split(r"[;:]|\bbut\b|\bno special type\b", text[: said.span.start - start])[-1]
    near = " ".join(re.split(r"[,;(.]", text[said.span.end - start :])[0].split()[:_NEAR])
    denied = begun("denied").search(before) or _ABSENT.match(text[said.span.end - start :])
    part = begun("part").search(re.split(r"[,(]", before)[-1]) or begun("part_after").search(near)
    return not denied and not part


def _is_early(said: ReportMention[str], grade: Grade) -> bool | None:
    """Whether it is a grade of an early lesion; nothing where the clause speaks of both."""
    if grade.scheme in ("dysplasia", "SIL", "CIN"):
        return True
    after = said.passage.text[said.span.end - said.passage.start :]
    in_situ, invasive = early().search(said.clause), begun("invasive").search(said.clause)
    if in_situ and invasive:
        near = " ".join(after.split()[:_NEAR])
        return True if early().search(near) else None
    return bool(in_situ)

"""The lesion in the sentences of a report: its names, its grades, and what it looks like.

Reports return to their lesion by other names ("the squamous carcinoma", "this lymphoma"), outside
of any diagnosis. All names of the lesion itself count; what is denied, considered, or lies beside
it does not.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from math import ceil, floor
from typing import Literal, NamedTuple

from histoeval.pathgls.logic.lexicon import GRADE, listed, pattern
from histoeval.pathgls.logic.sentences import ReportMention, ReportSentence
from histoeval.pathgls.results import ReportSpan
from histoeval.terms.assertion import affirmed_text, asserts_now, is_denied
from histoeval.terms.catalogue import Concept, concepts, diagnosis_tree
from histoeval.terms.lexicon import any_of
from histoeval.terms.naming import find_diagnoses, refine
from histoeval.terms.values.grades import Grade, find_grades

_NEAR_NAME = 6  # words around a name in which it may be called something beside the lesion
# The, and up to four words, just before a name
_DEFINITE = re.compile(
    r"\b(?:the|this|these|such|said|above|our|patient's|her|his)"
    r"(?:\s+(?!an?\b|and\b|with\b|of\b|in\b|is\b|are\b|was\b)[\w-]+){0,4}\s*$",
    re.IGNORECASE,
)
# The lesion is, before a name
_EQUATED = re.compile(
    r"\b(?:this|it|these|(?:the|these) (?:\w+ )?(?:lesion|tumou?r|mass|neoplasm|malignancy|picture"
    r"|growth|appearances?|findings|features|process|nodule|polyp))\b[^.;:]{0,40}?"
    r"\b(?:is|are|represents?|corresponds? to|amounts? to|constitutes?|is classified as)\b"
    r"[^.;:]{0,60}$"
    r"|\b(?:consistent|compatible|in keeping|in accordance) with (?:an? |the )?(?:[\w-]+ ){0,3}$"
    r"|\bdiagnosis of (?:an? |the )?(?:[\w-]+ ){0,3}$",
    re.IGNORECASE,
)
# Something that is found beside, before a name
_WITH = re.compile(r"\b(?:with|and) an? (?:[\w-]+ ){0,4}$", re.IGNORECASE)
_TIERS = ("low", "intermediate", "high")
_NEAR_CHARS = 60
_NEAR_GRADE = 4  # words around a grade in which it says what is graded
Leaning = Literal["malignant", "harmless"]

# Words by which what was sent is normal
_NORMAL = re.compile(
    r"\b(?:normal|unremarkable|healthy|benign)(?:[\s-]+(?!and|but|with|the)[a-z-]+){0,3}?[\s-]+"
    r"(?:mucosa|tissue|parenchyma|epithelium|glands?|ducts?|lobules?|crypts?|skin|liver|breast|kidney"
    r"|lung|thyroid|endometrium|myometrium|histology|morphology|appearances?|findings?)\b"
    r"|\b(?:mucosa|tissue|parenchyma|epithelium|glands|crypts|follicles|architecture|histology)"
    r"(?: (?:is|are|appears?|looks?))?(?: (?:entirely|completely|histologically))? "
    r"(?:normal|unremarkable)\b",
    re.IGNORECASE,
)


class DiagnosisMention(NamedTuple):
    concept: Concept
    span: ReportSpan
    passage: ReportSentence
    settled: bool  # refers to the lesion of the report: the carcinoma, this is a carcinoma


def diagnosis_mentions(
    passages: Iterable[ReportSentence], sent: frozenset[str]
) -> Iterator[DiagnosisMention]:
    """Names that sentences give the lesion of a specimen, whose sites help to read them."""
    for passage in passages:
        text = passage.text
        for match in find_diagnoses(text, sent):
            if pattern("supposed").search(_statement(text, match.start)):
                continue
            before = re.split(r"[.;:]", text[: match.start])[-1]
            after = re.split(r"[.;:,]", text[match.end :])[0]
            nearby = before.split()[-_NEAR_NAME:], after.split()[:_NEAR_NAME]
            lists = zip(("beside_before", "beside_after"), map(" ".join, nearby), strict=True)
            is_beside = any(pattern(name).search(words) for name, words in lists)
            if is_beside or is_denied(text, match.start, match.end):
                continue
            is_again = bool(_DEFINITE.search(before) or _EQUATED.search(before))
            is_settled = is_again or (passage.is_conclusion and not _WITH.search(before))
            concept, span = concepts()[match.id], passage.at(match.start, match.end).span
            if match.id not in listed("umbrellas"):
                concept = refine(concept, sent)
            yield DiagnosisMention(concept, span, passage, is_settled)


def _statement(text: str, position: int) -> str:
    """The text around a place, up to a semicolon or a contrast on each side."""
    breaks = [m.span() for m in re.finditer(r";|\b(?:but|however|whereas)\b", text)]
    start = max((end for _, end in breaks if end <= position), default=0)
    return text[start : min((begin for begin, _ in breaks if begin > position), default=len(text))]


# --- grades, in any scheme and in words -----------------------------------------------------------


class GradeMention(NamedTuple):
    scheme: str
    levels: frozenset[int]
    tiers: frozenset[str]
    early: bool  # of dysplasia or of a lesion in situ
    span: ReportSpan
    passage: ReportSentence


def gradings(passages: Iterable[ReportSentence]) -> Iterator[GradeMention]:
    for passage in passages:
        for match in find_grades(passage.text):
            mention = passage.at(match.start, match.end)
            is_given = match.grade.part is None and _is_given(mention)
            early = _is_early(mention, match.grade) if is_given else None
            if (early := False if match.summed else early) is not None:
                levels, tiers = _levels(match.grade), _tiers(match.grade)
                scheme, span = match.grade.scheme, mention.span
                yield GradeMention(scheme, levels, tiers, early, span, passage)


def implied_by(name: DiagnosisMention) -> Iterator[GradeMention]:
    for row in GRADE.entry("implied"):
        if any(diagnosis_tree().is_a(name.concept.id, id_) for id_ in row["diagnoses"]):
            tiers = frozenset(row["tiers"])
            ranks = frozenset(_TIERS.index(tier) + 1 for tier in tiers)
            location = name.span, name.passage
            yield GradeMention("tier", ranks, tiers, False, *location)
            if "WHO" in row:
                yield GradeMention("WHO", frozenset(row["WHO"]), tiers, False, *location)


def are_at_odds(one: GradeMention, other: GradeMention) -> bool:
    if one.early != other.early:
        return False
    similar = GRADE.ids("words", "alike")
    if one.scheme == other.scheme or (one.scheme in similar and other.scheme in similar):
        return not one.levels & other.levels
    return not one.tiers & other.tiers


def is_of_early_lesion(text: str) -> bool:
    return _early().search(text) is not None


@cache
def _early() -> re.Pattern[str]:
    return any_of(GRADE.entry("patterns", "early"))


def _levels(grade: Grade) -> frozenset[int]:
    """Two ranks where a grade stands between them."""
    return frozenset({floor(grade.level), ceil(grade.level)})


def _tiers(grade: Grade) -> frozenset[str]:
    ranks = GRADE.entry("tiers").get(grade.scheme, ())
    return frozenset(
        tier for level in _levels(grade) for tier in (ranks[level - 1 : level] or [_TIERS])[0]
    )


def _is_given(mention: ReportMention[str]) -> bool:
    """True if a grade is affirmed, of the whole, and not one of several."""
    before = re.split(r"[;:]|\bbut\b|\bno special type\b", mention.before)[-1]
    nearby = " ".join(re.split(r"[,;(.]", mention.after)[0].split()[:_NEAR_GRADE])
    start = mention.span.start - mention.passage.start
    remainder = re.split(r"[.;]", mention.after)[0][:_NEAR_CHARS]
    if (
        GRADE.has(before, "words", "not_given")
        or is_denied(mention.passage.text, start, start + len(mention.span.text))
        or not (asserts_now(mention.before) and asserts_now(remainder))
    ):
        return False
    last = re.split(r"[,(]", before)[-1]
    return not (GRADE.has(last, "words", "part") or GRADE.has(nearby, "words", "part_after"))


def _is_early(mention: ReportMention[str], grade: Grade) -> bool | None:
    """True for a grade of an early lesion; None where the clause mentions both."""
    if grade.scheme in ("dysplasia", "SIL", "CIN"):
        return True
    in_situ = is_of_early_lesion(mention.clause)
    if in_situ and GRADE.has(mention.clause, "words", "invasive"):
        nearby = " ".join(mention.after.split()[:_NEAR_GRADE])
        return True if is_of_early_lesion(nearby) else None
    return in_situ


# --- benign or malignant by what is described -----------------------------------------------------


def signs_of(passage: ReportSentence, leaning: Leaning) -> frozenset[str]:
    """The words of a sentence that suggest one of the two; none of what lies around the lesion."""
    if passage.has("around"):
        return frozenset()
    if leaning == "harmless":
        return passage.names("looks_harmless")
    affirmed = affirmed_text(passage.text)
    if pattern("inflamed").search(affirmed):
        return frozenset()
    return frozenset(
        match.group().lower() for match in pattern("looks_malignant").finditer(affirmed)
    )


def leaning_of(passage: ReportSentence) -> Leaning | None:
    malignant = bool(signs_of(passage, "malignant"))
    if normal_at(passage) or signs_of(passage, "harmless"):
        return None if malignant or mentions_tumour(passage) else "harmless"
    return "malignant" if malignant else None


def mentions_tumour(passage: ReportSentence) -> bool:
    return bool(pattern("of_tumour").search(affirmed_text(passage.text)))


def normal_at(passage: ReportSentence) -> re.Match[str] | None:
    if passage.has("around"):
        return None
    words = _NORMAL, pattern("called_normal"), pattern("looks_normal")
    return next((match for sign in words if (match := sign.search(passage.text))), None)

"""Errors of reading: both reports say the same of a specimen, only the reader took it otherwise."""

import re
from bisect import bisect_right
from functools import lru_cache

from histoeval.concordance.evidence import ErrorKind, ReportError
from histoeval.facts.facts import Facts
from histoeval.facts.scope import stance_at
from histoeval.report import Assertion, Entity

# Errors that a reader makes who overlooks a phrase
_MISSED = frozenset(
    {ErrorKind.OMISSION, ErrorKind.INVENTION, ErrorKind.WRONG_DIAGNOSIS, ErrorKind.UNDERCALL}
)
_ONE_SIDED = frozenset({ErrorKind.OMISSION, ErrorKind.INVENTION})
_POSITIVE_NODES = re.compile(
    r"\bnod(?:es?|al)\b[^.\n]{0,60}?\b(?:[1-9]\d? ?(?:/|of|out of) ?\d{1,2}\b|[1-9]\d? positive)"
    r"|\b[1-9]\d? ?(?:/|of|out of) ?\d{1,2} (?:lymph )?nodes?\b",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.;](?=\s|\Z)|\n")


def says_the_same(error: ReportError, reference: Facts, candidate: Facts) -> bool:
    """Whether each report has the very words that the other has in this error, or their meaning."""
    here, there = error.reference, error.candidate
    if _has_sentence(candidate, reference, here) and _has_sentence(reference, candidate, there):
        return True
    if _counts_positive(candidate, here) or _counts_positive(reference, there):
        return error.kind in _ONE_SIDED or error.part == "spread"
    return error.kind in _MISSED and (_has_words(candidate, here) or _has_words(reference, there))


def _has_sentence(facts: Facts, own: Facts, entity: Entity | None) -> bool:
    """Whether a report has the very sentence that an entity of the other stands in."""
    if entity is None:
        return True
    text = own.stated.text
    stops = _stops(text)
    before = bisect_right(stops, entity.start)
    start = stops[before - 1] if before else 0
    if text[max(0, entity.start - 1) : entity.start] in (".", ";"):
        start = entity.start
    stop = _STOP.search(text, entity.end)
    sentence = text[start : stop.start() if stop else len(text)]
    return bool(sentence.strip()) and _folded(sentence) in _folded(facts.stated.text)


@lru_cache(maxsize=1 << 4)  # asked for by each error of a pair
def _stops(text: str) -> list[int]:
    """Where the statements of a text end."""
    return [each.end() for each in _STOP.finditer(text)]


@lru_cache(maxsize=1 << 6)
def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _counts_positive(facts: Facts, entity: Entity | None) -> bool:
    """Whether a report has nodes with tumour by their number, as the other has by name."""
    return (
        entity is not None
        and entity.assertion == Assertion.PRESENT
        and "metasta" in entity.text.casefold()
        and bool(_POSITIVE_NODES.search(facts.report.text))
    )


def _has_words(facts: Facts, entity: Entity | None) -> bool:
    """Whether a report has the words of an entity of the other, and denies them as that does."""
    if entity is None:
        return False
    at = facts.stated.text.lower().find(entity.text.lower())
    if at < 0:
        return False
    stance = stance_at(facts.stated.text, at, at + len(entity.text))
    return (stance is False) == (entity.assertion == Assertion.ABSENT)

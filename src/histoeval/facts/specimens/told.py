"""Specimens that a report tells of in sentences: the left ovary contains, the rectum shows."""

import re
from collections.abc import Iterator
from functools import lru_cache

from histoeval.facts.specimens.headings import NO_SPECIMEN
from histoeval.facts.specimens.labels import names_place
from histoeval.facts.specimens.places import Place, place_of
from histoeval.facts.specimens.text import SpecimenText, Stretch
from histoeval.reader.sentences import sentences
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.values.laterality import side_of

# Where another specimen may begin inside of a sentence
_BORDER = re.compile(
    r"[;\n]\s{0,4}|,\s(?:and|but|while|whereas)\s|\s(?:while|whereas)\s", re.IGNORECASE
)
# The first words of a sentence, up to its verb or a comma
_SUBJECT = re.compile(
    r"(?:[-*\u2022]\s|(?:and|but|while|whereas|in|on|of|from|sections?|the)\s|"
    r"(?:first|second|third|fourth|fifth|sixth|last|other|one)"
    r"(?:\s(?:specimen|sample|part|container|jar|pot|core|biopsy))?,?\s(?=from|of|\()){0,6}"
    r"(?P<head>[^\s.:;,()+][^.:;()+\n]{1,80}?)"
    r"(?:\s\([^()\n]{1,40}\))?"
    r"(?:[:,]\s|\s[-\u2013\u2014]\s|\s(?:is|are|was|were|shows?|showed|contains?|contained|has|had|"
    r"have|holds?|reveals?|revealed|consists?|demonstrates?|harbou?rs?|yields?|displays?|bears?|"
    r"there)\s)",
    re.IGNORECASE,
)
# Words for what was taken, which alone do not say from where
_WHAT = re.compile(r"\b(?:mucosa|lesions?|mass|nodules?|tumou?rs?|polyps?)\b", re.IGNORECASE)
_MAX_CHARS, _MOST = 20_000, 20  # A longer text, or one of more places, is not looked through


@lru_cache(maxsize=1 << 10)
def told_parts(text: str) -> tuple[SpecimenText, ...]:
    """The specimens that sentences or clauses begin with; none where there is only one."""
    if len(text) > _MAX_CHARS:
        return ()
    found: dict[Place, SpecimenText] = {}
    for start, end in _clauses(text):
        if head := _specimen(text[start:end]):
            found.setdefault(place_of(head), SpecimenText("", head, ((start, end),)))
    return tuple(found.values()) if 2 <= len(found) <= _MOST else ()


def _clauses(text: str) -> Iterator[Stretch]:
    for sentence in sentences(text):
        start = sentence.start
        for border in _BORDER.finditer(text, sentence.start, sentence.end):
            yield start, border.start()
            start = border.end()
        yield start, sentence.end


def _specimen(clause: str) -> str:
    """The place that a clause speaks of; below a title, that of the first item."""
    subject = _SUBJECT.match(clause)
    if subject is None:
        return ""
    if subject.group().rstrip().endswith(":") and (item := _specimen(clause[subject.end() :])):
        return item
    head = subject["head"]
    return head if _names_specimen(head) else ""


def _names_specimen(head: str) -> bool:
    where = _WHAT.sub("", head)
    if NO_SPECIMEN.search(where) or find_diagnoses(where) or find_findings(where):
        return False
    return names_place(where) and bool(place_of(where).features or side_of(where))

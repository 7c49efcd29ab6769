"""The clauses of a report in prose, each with the specimens that it may be about."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from histoeval.facts.specimens.divide import names_place
from histoeval.facts.specimens.headings import NO_SPECIMEN
from histoeval.facts.specimens.places import AHEAD, Clause, Gazetteer, Place, place_of
from histoeval.facts.specimens.text import Span, SpecimenText
from histoeval.reader.sentences import sentences
from histoeval.terms.findings import find_findings
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.values.laterality import Side, side_of

_CLEAR = 0.34  # how much of a place a clause must name to be about it
_PIECES = re.compile(
    r"[;|\n]\s?|,\s(?:and|but|while|whereas|with the)?\s?|\s(?:whereas|while|but)\s|\sand the\s",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]{0,400}\)")
_HEAD = re.compile(r"(?:^|(?<=\n))[^.:;\n]{3,110}(?::(?=\s)|[ ][-\u2013\u2014][ ])")
# A heading inside of a text, which is not cut at its commas
_HEADING = re.compile(r"[^.:;\n]{3,110}:(?=\s)")
_BY_LABEL = 0.35


def clauses_about(text: str, places: Gazetteer) -> list[Clause]:
    """The clauses of a text in prose, each with the parts of another report that it names."""
    clauses: list[Clause] = []
    side: Side | None = None
    about: frozenset[int] = frozenset()
    for sentence in sentences(text):
        waiting: list[tuple[int, int, Place]] = []
        began = False
        for start, end in _pieces(text, sentence.start, sentence.end):
            place = place_of(text[start:end])
            named = _named(places, place, side, _label(text[start:end], places.labels))
            side = place.side if place.side in (Side.LEFT, Side.RIGHT) else side
            if place.side and not place.features and not named:
                continue  # left side: of what follows
            if not named and not began:
                waiting.append((start, end, place))
                continue
            if named:
                clauses += [
                    Clause(a, b, about | named, False, False, where) for a, b, where in waiting
                ]
                waiting, about, began = [], named, True
            clear = len(about) == 1
            clauses.append(Clause(start, end, about, clear, bool(named), place))
        clauses += [Clause(a, b, about, False, False, where) for a, b, where in waiting]
    return clauses


_LABELLED = re.compile(
    r"\(#?(?P<bracket>[A-Z]{1,4}|\d{1,2})(?=[);,])"
    r"|\b(?:part|specimen)s? (?P<part>[A-Z]{1,4}|\d{1,2})\b|"
    r"(?:^|[:;,]\s{0,2}(?:and )?)(?P<subject>[A-Z])(?= (?:is|has|shows?|contains?|was|\())"
)


def _label(clause: str, labels: Sequence[str]) -> str:
    """The label of a part that a clause refers to, if it refers to one."""
    labels_named = {
        label
        for match in _LABELLED.finditer(clause)
        if (label := match["bracket"] or match["part"] or match["subject"]) in labels
    }
    return labels_named.pop() if len(labels_named) == 1 else ""


def _named(places: Gazetteer, place: Place, side: Side | None, label: str) -> frozenset[int]:
    """The parts that a place is of, as far as can be told; none where it names none of them."""
    values = [
        places.likeness(at, place, side) + _BY_LABEL * (bool(label) and label == own)
        for at, own in enumerate(places.labels)
    ]
    best = max(values, default=0.0)
    if best < _CLEAR:
        return frozenset()
    return frozenset(at for at, value in enumerate(values) if value > best - AHEAD)


def _pieces(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """A sentence cut into clauses, none inside of brackets."""
    brackets = [match.span() for match in _BRACKETS.finditer(text, start, end)]
    brackets += [match.span() for match in _HEAD.finditer(text[:end], start)]
    if head := _HEADING.match(text, start, end):
        brackets.append(head.span())
    at = start
    for cut in _PIECES.finditer(text, start, end):
        if not any(a < cut.start() < b for a, b in brackets) and cut.start() > at:
            yield at, cut.start()
            at = cut.start()
    if at < end:
        yield at, end


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
def prose_specimens(text: str) -> tuple[SpecimenText, ...]:
    """The specimens that sentences or clauses begin with; none where there is only one."""
    if len(text) > _MAX_CHARS:
        return ()
    specimens: dict[Place, SpecimenText] = {}
    for start, end in _prose_clauses(text):
        if head := _specimen(text[start:end]):
            specimens.setdefault(place_of(head), SpecimenText("", head, ((start, end),)))
    return tuple(specimens.values()) if 2 <= len(specimens) <= _MOST else ()


def _prose_clauses(text: str) -> Iterator[Span]:
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
    where = _WHAT.sub("", subject["head"])
    if NO_SPECIMEN.search(where) or find_diagnoses(where) or find_findings(where):
        return ""
    is_place = names_place(where) and (place_of(where).features or side_of(where))
    return subject["head"] if is_place else ""

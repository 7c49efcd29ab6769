"""The clauses of a report in prose, each with the specimens that it may be about."""

import re
from collections.abc import Iterable, Sequence

from histoeval.facts.specimens.places import AHEAD, Clause, Gazetteer, Place, place_of
from histoeval.reader.sentences import sentences
from histoeval.terms.values.laterality import Side

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
    found: list[Clause] = []
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
                found += [
                    Clause(a, b, about | named, False, False, where) for a, b, where in waiting
                ]
                waiting, about, began = [], named, True
            clear = len(about) == 1
            found.append(Clause(start, end, about, clear, bool(named), place))
        found += [Clause(a, b, about, False, False, where) for a, b, where in waiting]
    return found


_LABELLED = re.compile(
    r"\(#?(?P<bracket>[A-Z]{1,4}|\d{1,2})(?=[);,])"
    r"|\b(?:part|specimen)s? (?P<part>[A-Z]{1,4}|\d{1,2})\b|"
    r"(?:^|[:;,]\s{0,2}(?:and )?)(?P<subject>[A-Z])(?= (?:is|has|shows?|contains?|was|\())"
)


def _label(clause: str, labels: Sequence[str]) -> str:
    """The label of a part that a clause refers to, if it refers to one."""
    named = {
        label
        for found in _LABELLED.finditer(clause)
        if (label := found["bracket"] or found["part"] or found["subject"]) in labels
    }
    return named.pop() if len(named) == 1 else ""


def _named(places: Gazetteer, place: Place, side: Side | None, label: str) -> frozenset[int]:
    """The parts that a place is of, as far as can be told; none where it names none of them."""
    values = [
        places.likeness(at, place, side) + _BY_LABEL * (bool(label) and label == each)
        for at, each in enumerate(places.labels)
    ]
    best = max(values, default=0.0)
    if best < _CLEAR:
        return frozenset()
    return frozenset(at for at, value in enumerate(values) if value > best - AHEAD)


def _pieces(text: str, start: int, end: int) -> Iterable[tuple[int, int]]:
    """A sentence cut into clauses, none inside of brackets."""
    brackets = [each.span() for each in _BRACKETS.finditer(text, start, end)]
    brackets += [each.span() for each in _HEAD.finditer(text[:end], start)]
    if head := _HEADING.match(text, start, end):
        brackets.append(head.span())
    at = start
    for cut in _PIECES.finditer(text, start, end):
        if not any(a < cut.start() < b for a, b in brackets) and cut.start() > at:
            yield at, cut.start()
            at = cut.start()
    if at < end:
        yield at, end

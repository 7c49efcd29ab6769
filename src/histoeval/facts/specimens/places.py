"""Origin of a specimen: its heading compared with another heading, or with a clause.

Places are compared by sites of the catalogue, by numbers (10 o'clock, level VI, segment 4b, station
7), by words such as base or anterior, and by side. What only one part of a report has counts most.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import log

from histoeval.facts.specimens.text import SpecimenText
from histoeval.reader.lexicon import names_procedure
from histoeval.resources import load_toml
from histoeval.terms.number_words import roman_number
from histoeval.terms.plain import words_of
from histoeval.terms.sites import find_operated, find_sites, organ_of, site_closeness
from histoeval.terms.values.laterality import Side, side_of

_NUMBERED = re.compile(
    r"\b(?P<kind>(?i:levels?|stations?|segments?|nodes?|nodules?|cores?|zones?))\s{0,2}#?\s{0,2}"
    r"(?P<number>\d{1,2}[a-zA-Z]?|[IVX]{1,4}[ab]?)\b(?!\s{0,2}(?:[/.,]\d|mm|cm|of \d|x\b))"
)
_STATION = re.compile(r"\b(?P<number>\d{1,2}[RL])\b")
_CLOCK = re.compile(r"\b(?P<number>\d{1,2})(?::00|\s{0,2}o.?\s?clock)", re.IGNORECASE)
_DISTANCE = re.compile(r"\b(?P<number>\d{2}) cm\b")
_LETTERS = 4
_ENDING = 2  # how many letters of a word may differ at its end: rectum and rectal
_PROCEDURE, _SAME_ORGAN = 0.35, 0.25
_SITE, _NUMBER, _SIDE, _WORD = 1.0, 1.5, 1.0, 0.8
_SIDE_DIFFERS = 0.5
AHEAD = 0.12  # how much more of a place a clause must name than of any other, to be about it alone
_OTHER_SIDE = 0.45
# How much of a place is named by its side alone, where no other part is from there
_SIDE_ALONE = 0.4
# How much tells a number of one part alone, and how much of a place it names by itself
_OWN, _NUMBERED_PLACE = 0.9, 0.5


@dataclass(frozen=True)
class Place:
    """The origin of a specimen as a heading or a clause gives it."""

    sites: frozenset[str]
    numbers: frozenset[tuple[str, str]]
    words: frozenset[str]
    side: Side | None

    @cached_property
    def features(self) -> frozenset[tuple[str, str]]:
        sites = {("site", site) for site in self.sites}
        return frozenset({*sites, *self.numbers, *(("word", word) for word in self.words)})


@lru_cache(maxsize=1 << 12)
def place_of(text: str) -> Place:
    """The place that a few words name."""
    numbers = {
        (match["kind"].lower().rstrip("s"), _number(match["number"]))
        for match in _NUMBERED.finditer(text)
    }
    numbers |= {("station", match["number"].lower()) for match in _STATION.finditer(text)}
    numbers |= {("clock", match["number"]) for match in _CLOCK.finditer(text)}
    numbers |= {("cm", match["number"]) for match in _DISTANCE.finditer(text)}
    words = (
        _words().get(word.plain, word.plain)
        for word in words_of(text)
        if len(word.plain) > 2 and word.plain.isalpha()
    )
    return Place(
        frozenset(match.id for match in (*find_sites(text), *find_operated(text))),
        frozenset(numbers),
        frozenset(words).difference(_data()["ignored"]["words"]),
        side_of(text),
    )


def _data() -> dict[str, dict[str, list[str]]]:
    return load_toml("facts/data/specimens.toml")


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    return {other: word for word, others in _data()["same"].items() for other in others}


def _number(written: str) -> str:
    """A number as digits, with its letter: IVb is 4b."""
    match = re.match(r"([IVX]+)([ab]?)$", written)
    if not match:
        return written.lower()
    return f"{roman_number(match[1])}{match[2]}"


def _same(first: tuple[str, str], second: tuple[str, str]) -> float:
    if first == second:
        return 1.0
    if first[0] != second[0]:
        return 0.0
    if first[0] == "word":  # rectum and rectal are forms of one word
        short = min(len(first[1]), len(second[1]))
        shared = max(_LETTERS, short - _ENDING)
        return float(short >= shared and first[1][:shared] == second[1][:shared])
    if first[0] == "site":
        near = site_closeness(first[1], second[1])
        return near if near > 0.7 else _SAME_ORGAN * (organ_of(first[1]) == organ_of(second[1]))
    return 0.0


@dataclass(frozen=True, slots=True)
class Clause:
    """A span of text with the parts that it may be about."""

    start: int
    end: int
    about: frozenset[int]
    clear: bool  # it names the place of one part, or goes on about it in the same sentence
    named: bool  # it names a place itself
    place: Place


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """The places of the parts of one report, to look others up in."""

    places: tuple[Place, ...]
    rare: dict[tuple[str, str], float]  # how much a feature tells of which part it is
    labels: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[SpecimenText]) -> "Gazetteer":
        """The places of some parts."""
        places = tuple(place_of(part.heading) for part in parts)
        count = Counter(feature for place in places for feature in place.features)
        rare = {}
        for (kind, value), n in count.items():
            weight = {"site": _SITE, "word": _WORD}.get(kind, _NUMBER)
            if kind == "word" and names_procedure(value):
                weight = _PROCEDURE
            rare[kind, value] = weight * (0.15 + log((len(places) + 1) / (n + 0.5)))
        return cls(places, rare, tuple(part.label for part in parts))

    def likeness(self, at: int, other: Place, side: Side | None = None) -> float:
        """Share of a part's place that another place names, from -1 for the other side to 1."""
        place = self.places[at]
        total = sum(self.rare[feature] for feature in place.features)
        total += _SIDE if place.side else 0.0
        if not total:
            return 0.0
        found = sum(
            self.rare[feature] * max((_same(feature, each) for each in other.features), default=0)
            for feature in place.features
        )
        things = _data()["things"]["words"]
        if (
            not found
            and self._is_only_one_on(other.side, at)
            and not other.words.isdisjoint(things)
        ):
            return _SIDE_ALONE if not other.sites and not other.numbers else 0.0
        side = other.side or side
        if found and place.side and side:
            if side == place.side or Side.BILATERAL in (side, place.side):
                found += _SIDE if other.side else _SIDE / 2
            elif other.side:
                found -= _SIDE_DIFFERS * total
        found -= sum(
            self.rare[one]
            for one in place.numbers
            if (kinds := {n for k, n in other.numbers if k == one[0]}) and one[1] not in kinds
        )
        if found > 0 and any(
            one in other.numbers and self.rare[one] >= _NUMBER * _OWN for one in place.numbers
        ):
            return max(found / total, _NUMBERED_PLACE)
        return found / total

    def _is_only_one_on(self, side: Side | None, at: int) -> bool:
        """True if a part is from a side of the body that no other is from: the left tumour."""
        return side in (Side.LEFT, Side.RIGHT) and [
            i for i, each in enumerate(self.places) if each.side == side
        ] == [at]

    def on_other_side(self, at: int, clauses: Sequence[Clause]) -> tuple[tuple[int, int], ...]:
        """Spans of clauses that name the place of this part alone, but on the other side."""
        own = self.places[at].side
        opposite = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}.get(own) if own else None
        found = []
        for clause in clauses:
            if opposite is None or clause.place.side != opposite:
                continue
            unsided = replace(clause.place, side=None)
            values = [self.likeness(i, unsided) for i in range(len(self.places))]
            best = values.pop(at)
            if best >= _OTHER_SIDE and best > max(values, default=0.0) + AHEAD:
                found.append((clause.start, clause.end))
        return tuple(found)

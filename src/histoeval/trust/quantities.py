"""Sizes, weights and shares as ranges, so that one can be held against another.

"Larger than 3 cm" is a range as "3.2 cm" is, which lies in it: the one follows from the other.
Of what something is told (the tumour, the margin, the node) is told with it, since a margin of
2 mm says nothing on a tumour.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import NamedTuple

_NUMBER = r"\d+(?:\.\d+)?"
_UNITS = {
    "cm": ("length", 10.0),
    "mm": ("length", 1.0),
    "g": ("weight", 1.0),
    "kg": ("weight", 1000.0),
    "%": ("share", 1.0),
}
_AMOUNT = re.compile(
    rf"(?P<first>{_NUMBER})\s*(?:(?:x|by|-|to)\s*(?P<second>{_NUMBER})\s*)?"
    rf"(?:(?:x|by)\s*(?P<third>{_NUMBER})\s*)?"
    r"(?P<unit>cm|mm|kg|g|%|per ?cent|millimetres?|grams?)(?![a-z])"
)
_BETWEEN = re.compile(
    rf"(?:between|from)\s+(?P<low>{_NUMBER})\s*(?:cm|mm|g|%)?\s*(?:and|to)\s+(?P<high>{_NUMBER})\s*(?P<unit>cm|mm|kg|g|%)"
)
_MITOSES = re.compile(
    rf"(?:mito\w+[^.;,]{{0,30}}?(?P<after>{_NUMBER})|(?P<before>{_NUMBER}) mitos\w+)"
    r"(?:[^.;]{0,12}(?:hpf|high|mm2|mm²|square))?"
)
_PARTS = {
    "two thirds": 66.0,
    "three quarters": 75.0,
    "one third": 33.0,
    "a third": 33.0,
    "a quarter": 25.0,
    "half": 50.0,
}
_MORE = re.compile(
    r"(?:more than|larger than|greater than|thicker than|bigger than|longer than|over|above"
    r"|exceed\w*(?: by)?|at least|>=?|≥|beyond|wider than|deeper than)\W*$"
)
_LESS = re.compile(
    r"(?:less than|smaller than|fewer than|thinner than|under|below|at most|up to|<=?|≤|within"
    r"|not exceed\w*|no more than|shorter than)\W*$"
)
_ABOUT = re.compile(r"(?:about|approximately|around|roughly|almost|nearly|circa|~)\W*$")
_OF_LENGTHS = (
    (
        "margin",
        r"margins?\b|clear by|away from|superior|inferior|medial|lateral|anterior|posterior",
    ),
    ("depth", "breslow|depth|thick|invades? to|thinner|deep invasion"),
    ("node", "(?:micro|macro)?metastas[ie]s|deposit|lymph node"),
    ("insitu", "dcis|in situ|whole lesion|entire lesion"),
    ("length", r"in length|long\b"),
    ("width", r"wide\b|width"),
    ("specimen", "specimen|excision measur|ellipse|core length"),
)
_OF_SHARES = (
    ("ki-67", "ki-?67|mib-?1"),
    ("er", r"er\b|o?estrogen"),
    ("pr", r"pr\b|progesterone"),
    ("pd-l1", "pd-l1"),
    ("necrosis", "necro"),
    ("fat", r"steato|fat\b"),
)
_CLAUSES = re.compile(r"[;\n]|,\s|\.(?!\d)")
_DISTANCE = re.compile(rf"\bat {_NUMBER} ?cm")
"""How far in something lies, which is no size of it."""
_ROUNDING = 0.06
_ABOUT_SHARE = 0.2


class Fits(StrEnum):
    """What a quantity of a premise is to one of a hypothesis."""

    SAME = "same"
    OTHER = "other"
    OPEN = "open"


class Quantity(NamedTuple):
    """A range of a kind (length in mm, weight in g, share in per cent, mitoses), and of what."""

    kind: str
    low: float
    high: float
    subject: str


@lru_cache(maxsize=1 << 13)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities that a text tells."""
    return tuple(
        quantity for clause in _CLAUSES.split(text.lower()) for quantity in _of_clause(clause)
    )


def _of_clause(clause: str) -> Iterator[Quantity]:
    if _DISTANCE.search(clause):
        return
    subjects = {"length": _subject(clause, _OF_LENGTHS), "share": _subject(clause, _OF_SHARES)}
    if found := _MITOSES.search(clause):
        value = float(found["after"] or found["before"])
        start = found.start("after" if found["after"] else "before")
        yield Quantity("mitoses", *_range(clause[:start], value), "mitoses")
        return
    for found in _BETWEEN.finditer(clause):
        kind, factor = _UNITS[found["unit"]]
        yield Quantity(
            kind,
            float(found["low"]) * factor,
            float(found["high"]) * factor,
            subjects.get(kind, ""),
        )
    for found in _AMOUNT.finditer(_BETWEEN.sub("", clause)):
        kind, factor = _UNITS[_unit(found["unit"])]
        values = [float(found[name]) for name in ("first", "second", "third") if found[name]]
        yield Quantity(
            kind,
            *_range(_BETWEEN.sub("", clause)[: found.start()], max(values) * factor),
            subjects.get(kind, ""),
        )
    for words, share in _PARTS.items():
        if (at := clause.find(words)) >= 0 and "myometri" not in clause:
            low, high = _range(clause[:at], share)
            loose = share * _ABOUT_SHARE if low == high else 0.0
            yield Quantity("share", low - loose, high + loose, subjects["share"])
            break


def _subject(clause: str, known: Iterable[tuple[str, str]]) -> str:
    """Of what a clause tells a quantity; nothing for the lesion itself."""
    return next((name for name, words in known if re.search(rf"\b(?:{words})", clause)), "")


def _unit(written: str) -> str:
    if written.startswith("millim"):
        return "mm"
    if written.startswith("per"):
        return "%"
    return "g" if written.startswith("gram") else written


def _range(before: str, value: float) -> tuple[float, float]:
    """The range that a number stands for after these words."""
    if _LESS.search(before):
        return -math.inf, value
    if _MORE.search(before):
        return value, math.inf
    loose = value * _ABOUT_SHARE if _ABOUT.search(before) else 0.0
    return value - loose, value + loose


def compared(told: Iterable[Quantity], asked: Iterable[Quantity]) -> set[Fits]:
    """What the quantities of a premise are to those of a hypothesis."""
    told, asked, found = tuple(told), tuple(asked), set()
    for one, other in product(told, asked):
        if one.kind == other.kind and one.subject == other.subject:
            found.add(_fit(one, other))
    if asked and not found:
        found.add(Fits.OPEN)
    return found


def _fit(one: Quantity, other: Quantity) -> Fits:
    bound = max(abs(each) for each in (*one[1:3], *other[1:3]) if math.isfinite(each))
    loose = bound * _ROUNDING
    if one.low >= other.low - loose and one.high <= other.high + loose:
        return Fits.SAME
    if one.low > other.high + loose or one.high < other.low - loose:
        return Fits.OTHER
    ranges = all(math.isfinite(each) for each in (*one[1:3], *other[1:3]))
    return Fits.SAME if ranges else Fits.OPEN

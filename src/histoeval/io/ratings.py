"""Scores that people gave, as they stand in the cells of a sheet."""

from __future__ import annotations

import re
from decimal import Decimal

from histoeval.io.tables.row_faults import Fault, kind_of

Range = tuple[float, float]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LARGEST = 1e300
"""What a score looks like, and what none exceeds."""


def rating_of(value: object, within: Range | None = None) -> float | Fault | None:
    """The score in a cell, None where there is none, or what is wrong with it."""
    if value is None or isinstance(value, Fault):
        return value
    if isinstance(value, str):
        return _written(value, within)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return Fault("not_a_number", {"value": kind_of(value)})
    return _checked(value, within)


def _written(text: str, within: Range | None) -> float | Fault | None:
    """A score that is written out; Python itself would take `nan` and `1_0` for numbers."""
    if not text.strip():
        return None
    if NUMBER.fullmatch(text.strip()):
        return _checked(float(text), within)
    return Fault("not_a_number", {"value": repr(text[:40])})


def _checked(value: float | Decimal, within: Range | None) -> float | Fault | None:
    """A number, if it is a finite one in its range; data frames have one that says nothing."""
    if value != value:  # noqa: PLR0124 - so is a NaN known, of whatever type
        return None
    if not -LARGEST <= value <= LARGEST:
        return Fault("not_a_number", {"value": "infinite"})
    number = float(value)
    if within is not None and not within[0] <= number <= within[1]:
        return Fault("out_of_range", {"value": number, "low": within[0], "high": within[1]})
    return number

"""What quantities of a premise are to those of a hypothesis: they follow, exclude, or neither."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

from histoeval.terms.values.quantities import Quantity

_ROUNDING = 0.06
_OF_THEIR_OWN = frozenset({"margin", "apart", "depth", "wall", "width", "duct", "cord"})
"""Lengths that are never meant where nothing is named."""

_ELSEWHERE = frozenset({"metastasis", "blood", "adrenal"})
"""What is never meant where nothing is named."""


class Fits(StrEnum):
    """What a quantity of a premise is to one of a hypothesis."""

    SAME = "same"
    OTHER = "other"
    OPEN = "open"


def compared(told: Iterable[Quantity], asked: Iterable[Quantity]) -> set[Fits]:
    """What the quantities of a premise are to those of a hypothesis."""
    told = tuple(told)
    return {_answered(told, each) for each in asked}


def _answered(told: Sequence[Quantity], asked: Quantity) -> Fits:
    """Whether what is asked follows from all that is told of the same thing."""
    alike = [one for one in told if _is_alike(one, asked)]
    near = [one for one in alike if not _is_elsewhere(one, asked)]
    if not near:
        return _beyond(alike, asked)
    if "sum" in asked.tags and not any("sum" in one.tags for one in near) and len(near) > 1:
        return _fit(_sum(near), asked)
    if "max" in asked.tags and len(near) > 1:
        near = [max(near, key=lambda one: one.high)]
    elif "min" in asked.tags and len(near) > 1:
        near = [min(near, key=lambda one: one.low)]
    found = {_held(one, asked) for one in near}
    if "all" in asked.tags and len(found) > 1:
        return Fits.OTHER if Fits.OTHER in found else Fits.OPEN
    return next((fits for fits in (Fits.SAME, Fits.OPEN) if fits in found), Fits.OTHER)


def _is_alike(one: Quantity, asked: Quantity) -> bool:
    """Whether two quantities may be of the same thing."""
    if one.kind != asked.kind:
        return False
    if one.subject == asked.subject:
        return True
    named = {one.subject, asked.subject} - {None}
    return len(named) == 1 and not named & _OF_THEIR_OWN


def _is_elsewhere(one: Quantity, asked: Quantity) -> bool:
    """Whether two quantities are told of different places or with different means."""
    if one.scenes and asked.scenes and not one.scenes & asked.scenes:
        return True
    if asked.where & _ELSEWHERE and not one.where & asked.where:
        return True
    if asked.where and not one.where & asked.where:
        return bool(one.where) or (one.subject == "margin" and "all" not in one.tags)
    return False


def _beyond(alike: Sequence[Quantity], asked: Quantity) -> Fits:
    """One of several elsewhere: below the lowest of all it cannot be, nor above the highest."""
    for one in alike:
        if "min" in one.tags and asked.high < one.low and math.isfinite(asked.high):
            return Fits.OTHER
        if "max" in one.tags and "min" not in one.tags and asked.low > one.high:
            return Fits.OTHER if one.subject != "margin" else Fits.OPEN
    return Fits.OPEN


def _held(one: Quantity, asked: Quantity) -> Fits:
    """Two quantities of the same thing, or of which one is a part, or one of several."""
    if _is_within(one, asked):
        return Fits.OTHER if asked.low > one.high else Fits.OPEN
    if "whole" in asked.parts - one.parts and one.parts & {"invasive", "insitu"}:
        return Fits.OTHER if asked.high < one.low else Fits.OPEN
    return Fits.OPEN if _are_unlike(one, asked) else _fit(one, asked)


def _is_within(one: Quantity, asked: Quantity) -> bool:
    """Whether what is asked can only be less: a part, one of several, an item of a sum."""
    part = "whole" in one.parts - asked.parts and "invasive" in asked.parts
    item = bool(asked.tags & {"one", "min"}) and "max" in one.tags and "min" not in one.tags
    summed = "sum" in one.tags - asked.tags and bool(asked.tags & {"max", "min"})
    return part or item or summed


def _are_unlike(one: Quantity, asked: Quantity) -> bool:
    """Whether one is of what is in situ or a mean or an item, and the other is not."""
    differ = one.parts ^ asked.parts
    mean = "mean" in one.tags and "max" in asked.tags and asked.high > one.high
    item = "sum" in asked.tags - one.tags and bool(one.tags & {"max", "min"})
    return {"insitu", "invasive"} <= differ or mean or item


def _sum(near: Sequence[Quantity]) -> Quantity:
    low, high = sum(one.low for one in near), sum(one.high for one in near)
    return near[0]._replace(low=low, high=high)


def _fit(one: Quantity, other: Quantity) -> Fits:
    bound = max(abs(each) for each in (*one[1:3], *other[1:3]) if math.isfinite(each))
    loose = bound * _ROUNDING
    if math.isfinite(one.low + one.high) and not math.isfinite(other.low + other.high):
        middle = (one.low + one.high) / 2
        one = one._replace(low=middle, high=middle)
    if one.low >= other.low - loose and one.high <= other.high + loose:
        return Fits.SAME
    if one.low > other.high + loose or one.high < other.low - loose:
        return Fits.OTHER
    ranges = all(math.isfinite(each) for each in (*one[1:3], *other[1:3]))
    return Fits.SAME if ranges else Fits.OPEN

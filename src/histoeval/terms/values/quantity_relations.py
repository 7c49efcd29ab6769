"""Relations of quantities: a hypothesis follows from a premise, contradicts it, or neither."""

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

from histoeval.terms.values.quantities import Quantity

_ROUNDING = 0.06
# Lengths that are never meant where nothing is named
_OF_THEIR_OWN = frozenset({"margin", "apart", "depth", "wall", "width", "duct", "cord"})

# What is never meant where nothing is named
_ELSEWHERE = frozenset({"metastasis", "blood", "adrenal"})


class Fits(StrEnum):
    """The relation of a quantity of a premise to one of a hypothesis."""

    SAME = "same"
    OTHER = "other"
    OPEN = "open"


def compared(given: Iterable[Quantity], claimed: Iterable[Quantity]) -> set[Fits]:
    """The relations of the quantities of a hypothesis to those of a premise."""
    given = tuple(given)
    return {_answered(given, each) for each in claimed}


def _answered(given: Sequence[Quantity], claimed: Quantity) -> Fits:
    """Relation of a claim to all that is given for the same thing."""
    alike = [one for one in given if _is_alike(one, claimed)]
    near = [one for one in alike if not _is_elsewhere(one, claimed)]
    if not near:
        return _beyond(alike, claimed)
    if "sum" in claimed.tags and not any("sum" in one.tags for one in near) and len(near) > 1:
        low, high = sum(one.low for one in near), sum(one.high for one in near)
        return _fit(near[0]._replace(low=low, high=high), claimed)
    if "max" in claimed.tags and len(near) > 1:
        near = [max(near, key=lambda one: one.high)]
    elif "min" in claimed.tags and len(near) > 1:
        near = [min(near, key=lambda one: one.low)]
    found = {_held(one, claimed) for one in near}
    if "all" in claimed.tags and len(found) > 1:
        return Fits.OTHER if Fits.OTHER in found else Fits.OPEN
    return next((fits for fits in (Fits.SAME, Fits.OPEN) if fits in found), Fits.OTHER)


def _is_alike(one: Quantity, claimed: Quantity) -> bool:
    """True if two quantities may be of the same thing."""
    if one.kind != claimed.kind:
        return False
    if one.subject == claimed.subject:
        return True
    named = {one.subject, claimed.subject} - {None}
    return len(named) == 1 and not named & _OF_THEIR_OWN


def _is_elsewhere(one: Quantity, claimed: Quantity) -> bool:
    """True if two quantities are of different places or were measured in different ways."""
    if one.scenes and claimed.scenes and not one.scenes & claimed.scenes:
        return True
    if claimed.where & _ELSEWHERE and not one.where & claimed.where:
        return True
    if claimed.where and not one.where & claimed.where:
        return bool(one.where) or (one.subject == "margin" and "all" not in one.tags)
    return False


def _beyond(alike: Sequence[Quantity], claimed: Quantity) -> Fits:
    """One of several elsewhere: below the lowest of all it cannot be, nor above the highest."""
    for one in alike:
        if "min" in one.tags and claimed.high < one.low and math.isfinite(claimed.high):
            return Fits.OTHER
        if "max" in one.tags and "min" not in one.tags and claimed.low > one.high:
            return Fits.OTHER if one.subject != "margin" else Fits.OPEN
    return Fits.OPEN


def _held(one: Quantity, claimed: Quantity) -> Fits:
    """Two quantities of the same thing, or of which one is a part, or one of several."""
    if _is_within(one, claimed):
        return Fits.OTHER if claimed.low > one.high else Fits.OPEN
    if "whole" in claimed.parts - one.parts and one.parts & {"invasive", "insitu"}:
        return Fits.OTHER if claimed.high < one.low else Fits.OPEN
    return Fits.OPEN if _are_unlike(one, claimed) else _fit(one, claimed)


def _is_within(one: Quantity, claimed: Quantity) -> bool:
    """True if the claim can only be less: a part, one of several, an item of a sum."""
    part = "whole" in one.parts - claimed.parts and "invasive" in claimed.parts
    item = bool(claimed.tags & {"one", "min"}) and "max" in one.tags and "min" not in one.tags
    summed = "sum" in one.tags - claimed.tags and bool(claimed.tags & {"max", "min"})
    return part or item or summed


def _are_unlike(one: Quantity, claimed: Quantity) -> bool:
    """True if one is of what is in situ or a mean or an item, and the other is not."""
    differ = one.parts ^ claimed.parts
    mean = "mean" in one.tags and "max" in claimed.tags and claimed.high > one.high
    item = "sum" in claimed.tags - one.tags and bool(one.tags & {"max", "min"})
    return {"insitu", "invasive"} <= differ or mean or item


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

"""What two texts say of counted things: as many, another number, or nothing yet."""

from __future__ import annotations

import math
from collections.abc import Sequence

from histoeval.nli.features.parse import Statements
from histoeval.terms.values.counts import CountRange, Range, word
from histoeval.terms.values.quantity_relations import Fits

_NEAR = 4.0
"""Per cent by which a share may be off the count it is made of."""
_GENERAL = frozenset({"region"})
"""Places that may be meant where others are named."""


def of_counts(one: Statements, other: Statements) -> dict[str, float]:
    """The counts of the hypothesis beside those of the premise."""
    found = {_answered(one.counts, asked) for asked in other.counts} | _shares(one, other)
    if found and other.labels - one.labels:
        found = {Fits.OPEN}
    alone = word("single_any").search(other.text) and not word("single_any").search(one.text)
    many = [c for c in one.counts if c.total and c.total[0] > 1 and c.noun != "node"]
    crowd = bool(many) or bool(word("several").search(one.text))
    return {
        "count_same": Fits.SAME in found and Fits.OTHER not in found,
        "count_other": Fits.OTHER in found and Fits.SAME not in found,
        "count_open": found == {Fits.OPEN} and bool(one.counts),
        "count_single": bool(alone) and crowd,
        "count_several": bool(word("single_any").search(one.text))
        and (bool(word("several").search(other.text)) or _has_several(other)),
    }


def _has_several(other: Statements) -> bool:
    return any(c.total and c.total[0] > 1 for c in other.counts)


def _answered(told: Sequence[CountRange], asked: CountRange) -> Fits:
    near = [one for one in told if one.noun == asked.noun and not _is_elsewhere(one, asked)]
    if not near:
        return Fits.OPEN
    wanted = [
        (name, value)
        for name in ("part", "total", "free")
        if (value := getattr(asked, name)) is not None
    ]
    fits = {_fit(_known(near, name), value) for name, value in wanted}
    if Fits.OTHER in fits:
        return Fits.OTHER
    return Fits.OPEN if Fits.OPEN in fits else Fits.SAME


def _is_elsewhere(one: CountRange, asked: CountRange) -> bool:
    """Whether what is asked is counted at another place, or at one of which nothing is told."""
    for row in {place.partition(":")[0] for place in asked.where}:
        told, wanted = _in_row(one, row), _in_row(asked, row)
        if not told & wanted and (told or row not in _GENERAL or not one.where):
            return True
    return False


def _in_row(count: CountRange, row: str) -> set[str]:
    return {place for place in count.where if place.startswith(f"{row}:")}


def _known(near: Sequence[CountRange], name: str) -> list[Range]:
    """What is told of one number: each, and the sum of all."""
    if name == "free":
        both = [c for c in near if c.part and c.total]
        return [
            (c.total[0] - c.part[1], c.total[1] - c.part[0]) for c in both if c.total and c.part
        ]
    told: list[Range] = [value for c in near if (value := getattr(c, name)) is not None]
    if len(told) > 1:
        told.append((sum(low for low, _ in told), sum(high for _, high in told)))
    if not told and name == "total":
        held, free = ([v for c in near if (v := getattr(c, n))] for n in ("part", "free"))
        if held and free:
            return [(held[0][0] + free[0][0], held[0][1] + free[0][1])]
        told = [(c.part[0], math.inf) for c in near if c.part and c.part[0] > 1]
    if not told and name == "part":
        told = [(0.0, c.total[1]) for c in near if c.total]
    return told


def _fit(told: Sequence[Range], asked: Range) -> Fits:
    if any(low >= asked[0] and high <= asked[1] for low, high in told):
        return Fits.SAME
    if told and all(low > asked[1] or high < asked[0] for low, high in told):
        return Fits.OTHER
    return Fits.OPEN


def _shares(one: Statements, other: Statements) -> set[Fits]:
    """A share of things that the premise counts."""
    found: set[Fits] = set()
    for count in one.counts:
        if not (count.part and count.total and count.total[0] and _tells(other, count.noun)):
            continue
        share = 100 * count.part[0] / count.total[0]
        for asked in other.quantities:
            if asked.kind == "share":
                inside = asked.low - _NEAR <= share <= asked.high + _NEAR
                found.add(Fits.SAME if inside else Fits.OTHER)
    return found


def _tells(other: Statements, noun: str) -> bool:
    return noun[:5] in other.text

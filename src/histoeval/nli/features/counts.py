"""Features of counted things: the same number, another, or a new one."""

import math
from collections.abc import Sequence

from histoeval.nli.features.parse import Statements
from histoeval.terms.values.counts import COUNTS, CountRange, Range
from histoeval.terms.values.quantity_relations import Fits

_NEAR = 4.0  # per cent by which a share may be off the count it is made of
_GENERAL = frozenset({"region"})  # places that may be meant where others are named


def of_counts(one: Statements, other: Statements) -> dict[str, float]:
    """The counts of the hypothesis beside those of the premise."""
    found = {_answered(one.counts, claimed) for claimed in other.counts} | _shares(one, other)
    if found and other.labels - one.labels:
        found = {Fits.OPEN}
    single, several = (
        [COUNTS.has(each.text, "words", name) for each in (one, other)]
        for name in ("single_any", "several")
    )
    many = any(c.total and c.total[0] > 1 and c.noun != "node" for c in one.counts)
    more = any(c.total and c.total[0] > 1 for c in other.counts)
    return {
        "count_same": Fits.SAME in found and Fits.OTHER not in found,
        "count_other": Fits.OTHER in found and Fits.SAME not in found,
        "count_open": found == {Fits.OPEN} and bool(one.counts),
        "count_single": single[1] and not single[0] and (many or several[0]),
        "count_several": single[0] and (several[1] or more),
    }


def _answered(given: Sequence[CountRange], claimed: CountRange) -> Fits:
    near = [one for one in given if one.noun == claimed.noun and not _is_elsewhere(one, claimed)]
    if not near:
        return Fits.OPEN
    wanted = [
        (name, value)
        for name in ("part", "total", "free")
        if (value := getattr(claimed, name)) is not None
    ]
    fits = {_fit(_known(near, name), value) for name, value in wanted}
    if Fits.OTHER in fits:
        return Fits.OTHER
    return Fits.OPEN if Fits.OPEN in fits else Fits.SAME


def _is_elsewhere(one: CountRange, claimed: CountRange) -> bool:
    """Whether the claim is counted at another place, or at one that is not given."""
    for row in {place.partition(":")[0] for place in claimed.where}:
        given, wanted = _in_row(one, row), _in_row(claimed, row)
        if not given & wanted and (given or row not in _GENERAL or not one.where):
            return True
    return False


def _in_row(count: CountRange, row: str) -> set[str]:
    return {place for place in count.where if place.startswith(f"{row}:")}


def _known(near: Sequence[CountRange], name: str) -> list[Range]:
    """What is given for one number: each, and the sum of all."""
    if name == "free":
        both = [c for c in near if c.part and c.total]
        return [
            (c.total[0] - c.part[1], c.total[1] - c.part[0]) for c in both if c.total and c.part
        ]
    given: list[Range] = [value for c in near if (value := getattr(c, name)) is not None]
    if len(given) > 1:
        given.append((sum(low for low, _ in given), sum(high for _, high in given)))
    if not given and name == "total":
        held, free = ([v for c in near if (v := getattr(c, n))] for n in ("part", "free"))
        if held and free:
            return [(held[0][0] + free[0][0], held[0][1] + free[0][1])]
        given = [(c.part[0], math.inf) for c in near if c.part and c.part[0] > 1]
    if not given and name == "part":
        given = [(0.0, c.total[1]) for c in near if c.total]
    return given


def _fit(given: Sequence[Range], claimed: Range) -> Fits:
    if any(low >= claimed[0] and high <= claimed[1] for low, high in given):
        return Fits.SAME
    if given and all(low > claimed[1] or high < claimed[0] for low, high in given):
        return Fits.OTHER
    return Fits.OPEN


def _shares(one: Statements, other: Statements) -> set[Fits]:
    """A share of things that the premise counts."""
    found: set[Fits] = set()
    for count in one.counts:
        if not (count.part and count.total and count.total[0]):
            continue
        if count.noun[:5] not in other.text:
            continue
        share = 100 * count.part[0] / count.total[0]
        for claimed in other.quantities:
            if claimed.kind == "share":
                inside = claimed.low - _NEAR <= share <= claimed.high + _NEAR
                found.add(Fits.SAME if inside else Fits.OTHER)
    return found

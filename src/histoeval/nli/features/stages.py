"""Features of stages: the same, another, a finer one, or one that is implied."""

import re
from itertools import product

from histoeval.nli.features.parse import Statements
from histoeval.terms.values.implied_stages import is_far, is_least, organ_at, rank, worked_out
from histoeval.terms.values.quantity_relations import Fits
from histoeval.terms.values.stages import Stage

_AXES = ("t", "n", "m", "group")
_UNKNOWN = ("x", "+")


def of_stages(one: Statements, other: Statements) -> dict[str, float]:
    """The stages of the hypothesis beside those of the premise, stated or implied."""
    found = {_compared(a, b, one) for a, b in product(one.stages, other.stages)} - {None}
    worked = _worked(one, other)
    both = None not in (one.nodes, other.nodes)
    return {
        "stage_same": Fits.SAME in found and Fits.OTHER not in found,
        "stage_other": Fits.OTHER in found and Fits.SAME not in found,
        "stage_finer": found == {Fits.OPEN},
        "stage_new": bool(other.stages) and not found and not worked,
        "stage_axis": bool(other.stages) and bool(one.stages) and not found and not worked,
        "stage_worked_same": worked == {Fits.SAME},
        "stage_worked_other": Fits.OTHER in worked,
        "stage_worked_open": worked == {Fits.OPEN},
        "stage_far": is_far(other.text) and not is_far(one.text),
        "nodes_same": both and one.nodes == other.nodes,
        "nodes_other": both and one.nodes != other.nodes,
        "nodes_new": other.nodes is not None and one.nodes is None,
    }


def _compared(a: Stage, b: Stage, one: Statements) -> Fits | None:
    """The relation of two stages, over the axes that both name."""
    if "c" in {a.prefix, b.prefix} and a.prefix != b.prefix:
        return Fits.OPEN
    found = [
        _axis(x, y, at_least=axis == "t" and is_least(one.text))
        for axis in _AXES
        if (x := getattr(a, axis)) is not None and (y := getattr(b, axis)) is not None
    ]
    if not found:
        return None
    if Fits.OTHER in found:
        return Fits.OTHER
    return Fits.OPEN if Fits.OPEN in found else Fits.SAME


def _axis(given: str, claimed: str, *, at_least: bool) -> Fits:
    if given == claimed:
        return Fits.OPEN if at_least else Fits.SAME
    if given[0] in _UNKNOWN or claimed[0] in _UNKNOWN:
        return Fits.OPEN
    if at_least:
        return Fits.OPEN if rank(claimed) > rank(given) else Fits.OTHER
    if given.startswith(claimed) and not claimed.isupper():
        return Fits.SAME
    alike = given.startswith(claimed) or claimed.startswith(given)
    return _group(given, claimed) if alike else Fits.OTHER


def _group(given: str, claimed: str) -> Fits:
    """Roman numerals begin alike without being alike: I, II, III."""
    numbers = [re.match(r"[IV]+|\d|[a-z]+", each) for each in (given, claimed)]
    first, second = (found.group() if found else "" for found in numbers)
    if first != second:
        return Fits.OTHER
    return Fits.SAME if len(given) > len(claimed) else Fits.OPEN


def _worked(one: Statements, other: Statements) -> set[Fits]:
    """A stage of the hypothesis against sizes, counts and words of the premise; and the reverse."""
    if not (one.stages or other.stages):
        return set()
    organ = organ_at(one.text)
    organ = organ_at(other.text) if organ is None else organ
    if organ is None:
        return set()
    found: set[Fits] = set()
    given, claimed = worked_out(one.text, organ), worked_out(other.text, organ)
    for stage in other.stages:
        for known, value in ((given.tumour, stage.t), (given.nodes, stage.n)):
            if known and value and value[0] not in _UNKNOWN:
                higher = rank(value) > max(map(rank, known)) and is_least(one.text)
                found.add(Fits.SAME if _fits(known, value) else Fits.OPEN if higher else Fits.OTHER)
    for stage in one.stages:
        for known, value in ((claimed.tumour, stage.t), (claimed.nodes, stage.n)):
            if known and value and value[0] not in _UNKNOWN and not other.stages:
                found.add(Fits.OPEN if _fits(known, value) else Fits.OTHER)
    return found


def _fits(known: frozenset[str], value: str) -> bool:
    return any(each.startswith(value) or value.startswith(each) for each in known)

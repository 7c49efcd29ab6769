"""Features of grades, counted things and stages: the same, another, or implied."""

import math
import re
from collections.abc import Sequence
from itertools import product

from histoeval.nli.features.parse import Statements
from histoeval.terms.values import grades
from histoeval.terms.values.counts import COUNTS, CountRange, Range
from histoeval.terms.values.implied_grades import (
    ImpliedGrades,
    graded,
    has_tiers,
    is_least,
    is_not_graded,
    is_of_part,
)
from histoeval.terms.values.implied_stages import is_far, organ_at, rank, worked_out
from histoeval.terms.values.implied_stages import is_least as is_least_stage
from histoeval.terms.values.quantities import Fits
from histoeval.terms.values.stages import Stage

_GRADES_SAME, _GRADES_OTHER = 0.85, 0.8
_TIER = {"1": "low", "2": "low", "3": "high", "4": "high"}


def of_grades(one: Statements, other: Statements) -> dict[str, float]:
    same = different = False
    for (a, a_denied), (b, b_denied) in product(one.grades, other.grades):
        if None not in (a.about, b.about) and a.about != b.about:
            continue
        near = grades.agreement(a, b)
        if a.level == b.level and {"grade", "nuclear", "tier"} & {a.scheme, b.scheme}:
            near = 1.0
        flipped = a_denied != b_denied
        same |= near >= _GRADES_SAME and not flipped
        different |= near >= _GRADES_SAME and flipped
        different |= near < _GRADES_OTHER and not flipped
    apart = bool(other.components - one.components)
    given, claimed = graded(one.text), graded(other.text)
    fits = _fits(given, claimed, one, other)
    part = is_of_part(one.text) != is_of_part(other.text)
    return {
        "grade_same": same and not different and fits is None,
        "grade_other": different and not same and not apart and fits is None,
        "grade_component": different and not same and apart and fits is None,
        "grade_part": different and not same and part and fits is None,
        "grade_two": different and same,
        "grade_new": bool(other.grades) and not one.grades,
        "grade_worked_same": fits is Fits.SAME,
        "grade_worked_other": fits is Fits.OTHER,
        "grade_worked_open": fits is Fits.OPEN,
        "grade_not_given": bool(other.grades) and is_not_graded(one.text),
        "grade_least": bool(other.grades) and is_least(one.text),
    }


def _fits(
    given: ImpliedGrades, claimed: ImpliedGrades, premise: Statements, hypothesis: Statements
) -> Fits | None:
    if claimed.gleason and given.group and not given.gleason:
        return (
            Fits.OPEN
            if claimed.group & given.group and given.group != {"1"}
            else _sets(given.group, claimed.group)
        )
    if given.group and claimed.group:
        return _sets(given.group, claimed.group)
    if given.number and claimed.number and (given.worked or claimed.worked):
        return _sets(given.number, claimed.number)
    if (has_tiers(premise.text) or has_tiers(hypothesis.text)) and given.number and claimed.tier:
        return _sets(frozenset(_TIER[each] for each in given.number), claimed.tier)
    if has_tiers(premise.text) and given.tier and claimed.number and not given.number:
        fits = _sets(given.tier, frozenset(_TIER[each] for each in claimed.number))
        return Fits.OPEN if fits is Fits.SAME else fits
    return None


def _sets(given: frozenset[str], claimed: frozenset[str]) -> Fits:
    if given <= claimed:
        return Fits.SAME
    return Fits.OPEN if given & claimed else Fits.OTHER


_NEAR = 4.0  # per cent by which a share may be off the count it is made of
_GENERAL = frozenset({"region"})  # places that may be meant where others are named


def of_counts(one: Statements, other: Statements) -> dict[str, float]:
    fits = {_answered(one.counts, claimed) for claimed in other.counts} | _shares(one, other)
    if fits and other.labels - one.labels:
        fits = {Fits.OPEN}
    single, several = (
        [COUNTS.has(text.text, "words", name) for text in (one, other)]
        for name in ("single_any", "several")
    )
    many = any(c.total and c.total[0] > 1 and c.noun != "node" for c in one.counts)
    more = any(c.total and c.total[0] > 1 for c in other.counts)
    return {
        "count_same": Fits.SAME in fits and Fits.OTHER not in fits,
        "count_other": Fits.OTHER in fits and Fits.SAME not in fits,
        "count_open": fits == {Fits.OPEN} and bool(one.counts),
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
    fits = {_fit_range(_known(near, name), value) for name, value in wanted}
    if Fits.OTHER in fits:
        return Fits.OTHER
    return Fits.OPEN if Fits.OPEN in fits else Fits.SAME


def _is_elsewhere(one: CountRange, claimed: CountRange) -> bool:
    """True if the claim is counted at another place, or at one that is not given."""
    for row in {place.partition(":")[0] for place in claimed.where}:
        given, wanted = (
            {place for place in count.where if place.startswith(f"{row}:")}
            for count in (one, claimed)
        )
        if not given & wanted and (given or row not in _GENERAL or not one.where):
            return True
    return False


def _known(near: Sequence[CountRange], name: str) -> list[Range]:
    """Values that are given for one number: each, and the sum of all."""
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


def _fit_range(given: Sequence[Range], claimed: Range) -> Fits:
    if any(low >= claimed[0] and high <= claimed[1] for low, high in given):
        return Fits.SAME
    if given and all(low > claimed[1] or high < claimed[0] for low, high in given):
        return Fits.OTHER
    return Fits.OPEN


def _shares(premise: Statements, hypothesis: Statements) -> set[Fits]:
    fits: set[Fits] = set()
    for count in premise.counts:
        if (
            not (count.part and count.total and count.total[0])
            or count.noun[:5] not in hypothesis.text
        ):
            continue
        share = 100 * count.part[0] / count.total[0]
        for claimed in hypothesis.quantities:
            if claimed.kind == "share":
                inside = claimed.low - _NEAR <= share <= claimed.high + _NEAR
                fits.add(Fits.SAME if inside else Fits.OTHER)
    return fits


_AXES = ("t", "n", "m", "group")
_UNKNOWN = ("x", "+")


def of_stages(one: Statements, other: Statements) -> dict[str, float]:
    fits = {_compared(a, b, one) for a, b in product(one.stages, other.stages)} - {None}
    worked = _worked(one, other)
    both = None not in (one.nodes, other.nodes)
    return {
        "stage_same": Fits.SAME in fits and Fits.OTHER not in fits,
        "stage_other": Fits.OTHER in fits and Fits.SAME not in fits,
        "stage_finer": fits == {Fits.OPEN},
        "stage_new": bool(other.stages) and not fits and not worked,
        "stage_axis": bool(other.stages) and bool(one.stages) and not fits and not worked,
        "stage_worked_same": worked == {Fits.SAME},
        "stage_worked_other": Fits.OTHER in worked,
        "stage_worked_open": worked == {Fits.OPEN},
        "stage_far": is_far(other.text) and not is_far(one.text),
        "nodes_same": both and one.nodes == other.nodes,
        "nodes_other": both and one.nodes != other.nodes,
        "nodes_new": other.nodes is not None and one.nodes is None,
    }


def _compared(a: Stage, b: Stage, one: Statements) -> Fits | None:
    if "c" in {a.prefix, b.prefix} and a.prefix != b.prefix:
        return Fits.OPEN
    found = [
        _axis(x, y, at_least=axis == "t" and is_least_stage(one.text))
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
    numbers = [re.match(r"[IV]+|\d|[a-z]+", group) for group in (given, claimed)]
    first, second = (match.group() if match else "" for match in numbers)
    if first != second:
        return Fits.OTHER
    return Fits.SAME if len(given) > len(claimed) else Fits.OPEN


def _worked(premise: Statements, hypothesis: Statements) -> set[Fits]:
    """A stage of the hypothesis against sizes, counts and words of the premise; and the reverse."""
    if not (premise.stages or hypothesis.stages):
        return set()
    organ = organ_at(premise.text)
    organ = organ_at(hypothesis.text) if organ is None else organ
    if organ is None:
        return set()
    fits: set[Fits] = set()
    given, claimed = worked_out(premise.text, organ), worked_out(hypothesis.text, organ)
    for stage in hypothesis.stages:
        for known, value in ((given.tumour, stage.t), (given.nodes, stage.n)):
            if known and value and value[0] not in _UNKNOWN:
                higher = rank(value) > max(map(rank, known)) and is_least_stage(premise.text)
                fits.add(
                    Fits.SAME if _fits_stage(known, value) else Fits.OPEN if higher else Fits.OTHER
                )
    for stage in premise.stages:
        for known, value in ((claimed.tumour, stage.t), (claimed.nodes, stage.n)):
            if known and value and value[0] not in _UNKNOWN and not hypothesis.stages:
                fits.add(Fits.OPEN if _fits_stage(known, value) else Fits.OTHER)
    return fits


def _fits_stage(categories: frozenset[str], value: str) -> bool:
    return any(category.startswith(value) or value.startswith(category) for category in categories)

"""Rules: two values where a tumour can have but one: grade, side, stage, size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from histoeval.facts.diagnoses import Diagnosis
from histoeval.report import Entity, EntityType
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.laterality import Side, side_of
from histoeval.terms.values.measurements import Measurement
from histoeval.terms.values.stages import Stage
from histoeval.trust.logic.lexicon import listed, pattern
from histoeval.trust.logic.rules.presence import (
    behaviour_of,
    clash,
    is_prose,
    organs_of,
    own_concept,
)
from histoeval.trust.logic.specimen import ReportMention, Specimen, span_of
from histoeval.trust.results import Contradiction

_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
_GLEASON = re.compile(r"\d\s*\+\s*\d|group|(?<!\d)(?:[6-9]|10)(?!\d)", re.IGNORECASE)
"""A score or a group, and not one pattern of several."""
_SIDE = re.compile(r"\b(?:left|right)\b(?: \w+)?", re.IGNORECASE)
_SIDE_OF_LESION = re.compile(
    r"\b(?:left|right)\s+(?:\w+\s+){0,2}(?:margin|aspect|edge)", re.IGNORECASE
)
_NOT = re.compile(r"\b(?:no|not|without|neither|nor|free|negative)\b", re.IGNORECASE)
_LESION = "lesion"
"""Of what dysplasia is a grade: it may be of one at one place and of another beside it."""
_NEAR = 12
_APART = 1.5
"""Two sizes are not the same when one is so many times the other."""


def grade(specimen: Specimen) -> Iterator[Contradiction]:
    """Two grades of one scheme for the one tumour of a specimen."""
    if not _is_one_tumour(specimen):
        return
    whole = [each for each in specimen.grades if _is_of_all(each)]
    for one, other in combinations(whole, 2):
        if one.passage != other.passage and _grades_clash(one.value, other.value):
            why = f"{one.span.text} and {other.span.text} are two grades of one tumour"
            yield clash("grade", one, other, why)


def _is_of_all(said: ReportMention[Grade]) -> bool:
    """Whether a grade is one of the whole tumour, and a single rank."""
    single = said.value.part is None and said.value.level == int(said.value.level)
    pattern_only = said.value.scheme == "Gleason" and not _GLEASON.search(said.span.text)
    partly = pattern("part_of_tumour").search(said.clause) or pattern("several_tumours").search(
        said.passage.text
    )
    return single and not pattern_only and not partly and said.value.about != _LESION


def _grades_clash(one: Grade, other: Grade) -> bool:
    """Whether two grades cannot both be right; those of different schemes always can."""
    comparable = one.scheme == other.scheme and (one.of == other.of or None in (one.of, other.of))
    return comparable and one.level != other.level


def _is_one_tumour(specimen: Specimen) -> bool:
    """Whether the tumours that are diagnosed are one in more or fewer words."""
    tumours = {
        concept.id
        for each in specimen.made
        if (concept := own_concept(each.value))
        and concept.behaviour == Behaviour.MALIGNANT
        and not concept.generic
    }
    return all(_is_kin(a, b) for a, b in combinations(sorted(tumours), 2))


def _is_kin(a: str, b: str) -> bool:
    return diagnosis_tree().is_a(a, b) or diagnosis_tree().is_a(b, a)


def side(specimen: Specimen) -> Iterator[Contradiction]:
    """One diagnosis on the left and on the right of a paired organ.

    Only where all but one sentence name the same side, and none names both: a report on two
    tumours speaks of each more than once.
    """
    sides = [side_of(passage.text) for passage in specimen.passages]
    if Side.BILATERAL in sides or min(sides.count(Side.LEFT), sides.count(Side.RIGHT)) != 1:
        return
    yield from _on_the_other_side(specimen)
    sited = list(_sided_diagnoses(specimen))
    for (one, here), (other, there) in combinations(sited, 2):
        opposite = _OPPOSITE.get(here[1]) == there[1] and here[0] == there[0]
        if opposite and one.passage != other.passage and _is_same(one, other):
            why = f"{one.span.text} is said to be on the {here[1]} and on the {there[1]}"
            yield clash("side", one, other, why)


def _on_the_other_side(specimen: Specimen) -> Iterator[Contradiction]:
    """In plain prose on one paired organ: two sentences on the tumour, each on one side."""
    organs = organs_of(specimen)
    paired = len(organs) == 1 and organs <= listed("paired")
    if not is_prose(specimen) or not paired or _has_several(specimen):
        return
    told = [
        (
            ReportMention(
                found.group(), span_of(specimen.text, at, at + len(found.group())), passage
            ),
            here,
        )
        for passage in specimen.passages
        if (here := side_of(passage.text)) in _OPPOSITE
        and (found := _SIDE.search(passage.text))
        and (pattern("tumour").search(passage.text) or passage == specimen.passages[0])
        and not _NOT.search(passage.text)
        and not pattern("another_tumour").search(passage.text)
        and not _SIDE_OF_LESION.search(passage.text)
        for at in [passage.start + found.start()]
    ]
    for (one, here), (other, there) in combinations(told, 2):
        if here != there:
            yield clash("side", one, other, f"the tumour is said to be on the {here} and {there}")


def _is_same(one: ReportMention[Diagnosis], other: ReportMention[Diagnosis]) -> bool:
    a, b = own_concept(one.value), own_concept(other.value)
    return a is not None and b is not None and _is_kin(a.id, b.id)


def _sided_diagnoses(
    specimen: Specimen,
) -> Iterator[tuple[ReportMention[Diagnosis], tuple[str, Side]]]:
    """Diagnoses, each with a paired organ and the side of it that they are linked to."""
    for each in specimen.made:
        linked = [tail for head, tail in specimen.relations if head.start == each.span.start]
        places = [tail for tail in linked if tail.type == EntityType.SITE] or [
            said.value
            for said in specimen.entities
            if said.value.type == EntityType.SITE and said.passage == each.passage
        ]
        for place in places:
            yield from ((each, found) for found in _paired(place))


def _paired(place: Entity) -> Iterator[tuple[str, Side]]:
    if (found := side_of(place.text)) in _OPPOSITE:
        for match in find_sites(place.text):
            if (organ := organ_of(match.id)) in listed("paired"):
                yield organ, found


def stage(specimen: Specimen) -> Iterator[Contradiction]:
    """Two stages of the tumour by the same rules: pT2 and pT3."""
    if _has_several(specimen):
        return
    for one, other in combinations(specimen.stages, 2):
        if one.passage != other.passage and _stages_clash(one.value, other.value):
            why = f"{one.span.text} and {other.span.text} are two stages of one tumour"
            yield clash("stage", one, other, why)


def _stages_clash(one: Stage, other: Stage) -> bool:
    if one.prefix != other.prefix or not (one.prefix or "").endswith("p"):
        return False
    return bool(
        one.t and other.t and one.t[0] != other.t[0] and one.t[0].isdigit() and other.t[0].isdigit()
    )


def size(specimen: Specimen) -> Iterator[Contradiction]:
    """Two largest dimensions of the one tumour of a specimen that are far apart."""
    if not _is_one_tumour(specimen) or _has_several(specimen):
        return
    sizes = [
        each
        for each in specimen.measurements
        if each.value.kind == "length"
        and each.value.bound is None
        and [m.passage for m in specimen.measurements].count(each.passage) == 1
        and (pattern("tumour_size").search(each.passage.text) or _is_of_tumour(each, specimen))
        and not pattern("part_of_tumour").search(each.clause)
    ]
    for one, other in combinations(sizes, 2):
        if one.passage != other.passage and _sizes_clash(one.value, other.value):
            why = f"{one.span.text} and {other.span.text} are two sizes of one tumour"
            yield clash("size", one, other, why)


def _is_of_tumour(said: ReportMention[Measurement], specimen: Specimen) -> bool:
    """In plain prose: a size that stands behind the name of the tumour, and is no distance."""
    named = any(
        each.passage == said.passage
        and (each.span.end <= said.span.start or 0 <= each.span.start - said.span.end <= _NEAR)
        and behaviour_of(each) in (Behaviour.MALIGNANT, Behaviour.BENIGN)
        for each in specimen.made
    )
    told = named or pattern("tumour_is").search(said.passage.text)
    return bool(told) and is_prose(specimen) and not pattern("distance").search(said.passage.text)


def _has_several(specimen: Specimen) -> bool:
    """Whether any sentence speaks of more than one tumour."""
    return any(pattern("tumours").search(passage.text) for passage in specimen.passages)


def _sizes_clash(one: Measurement, other: Measurement) -> bool:
    small, large = sorted((one.values[0], other.values[0]))
    return small > 0 and large / small >= _APART

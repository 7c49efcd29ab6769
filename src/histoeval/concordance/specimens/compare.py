"""Two reports compared specimen by specimen.

Where both are written part by part, facts are compared within the parts that match, and what stands
outside of the parts as a whole. A report in prose is compared as a whole; but where its sentences
name the sites of the other's parts, a finding that stands with the wrong one is found all the same.
Where both are in prose, they are compared as wholes, and what stands with another place in the
candidate than in the reference is found too. One part against one part is compared as ever.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from histoeval.concordance.compare import compare
from histoeval.concordance.diagnosis import Alike
from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    NOTHING_EXCUSED,
    ComparedPart,
    EntityMatch,
    Excused,
    ReportError,
    without_errors,
)
from histoeval.concordance.specimens.combine import (
    by_gravity,
    by_severity,
    in_both_views,
    together,
    with_errors,
)
from histoeval.concordance.specimens.content import Content
from histoeval.concordance.specimens.matching import (
    MatchedSpecimens,
    SpecimenPair,
    SpecimenSide,
    match_specimens,
)
from histoeval.concordance.specimens.misnamed import PART, misnamed, on_other_side
from histoeval.concordance.specimens.misplaced import misplaced, swapped_specimens
from histoeval.concordance.specimens.sides import Sides, said_in, sides_of
from histoeval.concordance.specimens.told import match_told
from histoeval.concordance.specimens.wording import says_the_same
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import lexical_facts
from histoeval.facts.specimens.text import Stretch, only
from histoeval.report import Entity, EntityType
from histoeval.terms.values.laterality import Side

# How much the worst part pulls all of them down, by how grave its content is
_IMPORTANCE = (0.5, 0.6, 0.85, 1.0, 1.0)
# What is wrong of necessity where two parts are swapped
_PLACED = ("site", "laterality", "no_inventions")
# What is said outside of the parts is not said of each of them
_GLOBAL = frozenset({EntityType.DIAGNOSIS, EntityType.SITE, EntityType.PROCEDURE})


def compare_reports(
    reference: Facts, candidate: Facts, alike: Alike, excused: Excused = NOTHING_EXCUSED
) -> Mapping[str, ComparedPart]:
    """Every part of the comparison by its name, specimen by specimen where there are several."""
    if reference.report is candidate.report:
        return compare(reference, candidate, alike, excused)
    matched = match_specimens(reference.report.text, candidate.report.text)
    if matched is None:
        return _as_told(reference, candidate, alike, excused)
    sides = sides_of(reference, candidate, matched)
    ref, cand = sides.reference, sides.candidate
    swapped = swapped_specimens(sides)
    errors = [
        *misnamed(matched, ref, cand),
        *on_other_side(matched, reference.report, candidate.report),
        *misplaced(sides, swapped, alike),
    ]
    if matched.divided:
        crossed = _crosswise(matched, swapped)
        parts = _by_specimen(reference, candidate, crossed, (ref, cand), alike, excused)
    else:
        parts = _in_prose(reference, candidate, matched, (ref, cand), alike, excused)
    return with_errors(parts, errors, tuple(_beside(sides)), excused)


def _as_told(
    reference: Facts, candidate: Facts, alike: Alike, excused: Excused
) -> Mapping[str, ComparedPart]:
    """Two reports that are not written part by part, and what stands with another place in one."""
    parts = compare(reference, candidate, alike, excused)
    matched = match_told(reference.report.text, candidate.report.text)
    if matched is None:
        return parts
    sides = sides_of(reference, candidate, matched)
    errors = [*misplaced(sides, swapped_specimens(sides), alike)]
    return with_errors(parts, errors, (), excused) if errors else parts


def _beside(sides: Sides) -> Iterator[EntityMatch]:
    """Part beside part: the headings of specimens that both reports have."""
    for pair, here, there in zip(
        sides.matched.pairs, sides.reference_sure, sides.candidate_sure, strict=True
    ):
        if here.head and there.head:
            yield EntityMatch(PART, here.head, there.head, 1.0, pair.name)


def _with_common(facts: Facts, side: SpecimenSide, common: tuple[Stretch, ...]) -> Facts:
    """What a report says of a part, with the details that it gives for all of them."""
    report, own = facts.report, side.stretches
    part = said_in(report, own)
    if not common:
        return part
    rest = said_in(report, common)
    return replace(
        part,
        grades=(*part.grades, *rest.grades),
        stages=(*part.stages, *rest.stages),
        markers={**rest.markers, **part.markers},
        findings=(*part.findings, *rest.findings),
        mentioned=(*part.mentioned, *rest.mentioned),
        measurements=(*part.measurements, *rest.measurements),
        stated=lexical_facts(only(report, (*own, *common)).text),
    )


def _inside(entity: Entity, stretches: Iterable[Stretch]) -> bool:
    return any(start <= entity.start < end for start, end in stretches)


def _in_prose(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    contents: tuple[Sequence[Content], Sequence[Content]],
    alike: Alike,
    excused: Excused,
) -> dict[str, ComparedPart]:
    """The reports as wholes; what they say of different specimens is no difference.

    Where the prose speaks of every specimen, only what is wrong in both views counts: as a whole,
    a specimen is set against another; specimen by specimen, a sentence may count for the wrong one.
    """
    parts = _as_wholes(reference, candidate, matched, alike, excused)
    if not all(pair.reference.known and pair.candidate.known for pair in matched.pairs):
        return parts
    apart = _by_specimen(reference, candidate, matched, contents, alike, excused)
    wrong = [error for part in apart.values() for error in part.mistakes]
    return {name: in_both_views(part, apart[name], wrong) for name, part in parts.items()}


def _as_wholes(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    alike: Alike,
    excused: Excused,
) -> dict[str, ComparedPart]:
    """Two reports without their division."""
    first = compare(reference, candidate, alike, excused)
    across = frozenset(
        error
        for part in first.values()
        for error in part.mistakes
        if _is_across(error, matched.pairs)
    )
    parts = dict(first)
    if across:
        parts = {
            name: without_errors(part, Excused(across))
            for name, part in compare(
                reference, candidate, alike, Excused(excused.errors | across)
            ).items()
        }
    if all(_sides_named(facts) >= {Side.LEFT, Side.RIGHT} for facts in (reference, candidate)):
        parts["laterality"] = replace(parts["laterality"], value=1.0, mistakes=())
    return parts


def _is_across(error: ReportError, pairs: Sequence[SpecimenPair]) -> bool:
    """Whether an error sets what is said of one specimen against what is said of another."""
    if error.reference is None or error.candidate is None:
        return False
    here = [i for i, pair in enumerate(pairs) if _inside(error.reference, pair.reference.sure)]
    if error.part == "laterality":  # a side above several parts is of those below it
        return bool(here) and not any(
            _inside(error.candidate, pairs[i].candidate.stretches) for i in here
        )
    there = [i for i, pair in enumerate(pairs) if _inside(error.candidate, pair.candidate.sure)]
    return bool(here and there) and not set(here) & set(there)


def _sides_named(facts: Facts) -> set[Side]:
    return {each.value for each in facts.sides}


def _crosswise(matched: MatchedSpecimens, swapped: Mapping[int, int]) -> MatchedSpecimens:
    """The specimens with those that were swapped as if they were not: that is one error."""
    pairs = [
        replace(pair, candidate=matched.pairs[swapped[i]].candidate, swapped=True)
        if i in swapped
        else pair
        for i, pair in enumerate(matched.pairs)
    ]
    return replace(matched, pairs=tuple(pairs))


def _by_specimen(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    contents: tuple[Sequence[Content], Sequence[Content]],
    alike: Alike,
    excused: Excused,
) -> dict[str, ComparedPart]:
    """The parts of the comparison within each pair of specimens, and of all of them together."""
    views: list[tuple[float, Mapping[str, ComparedPart]]] = []
    for pair, ref, cand in zip(matched.pairs, *contents, strict=True):
        if pair.reference.known and pair.candidate.known:
            here = _with_common(reference, pair.reference, matched.reference_common)
            there = _with_common(candidate, pair.candidate, matched.candidate_common)
            compared = _without_common(here, there, pair, alike, excused)
            if pair.swapped:
                compared |= dict.fromkeys(_PLACED, NOT_MENTIONED)
            gravity = max(ref.gravity, cand.gravity)
            views.append((_IMPORTANCE[gravity], by_severity(by_gravity(compared, gravity))))
    views.append((_IMPORTANCE[0], _common(reference, candidate, matched, alike, excused)))
    names = views[-1][1]
    return {name: together([(weight, view[name]) for weight, view in views]) for name in names}


def _without_common(
    here: Facts, there: Facts, pair: SpecimenPair, alike: Alike, excused: Excused
) -> dict[str, ComparedPart]:
    """One part against one part; what is wrong outside of it is counted elsewhere, and once."""
    own = pair.reference.stretches, pair.candidate.stretches

    def is_own(error: ReportError) -> bool:
        return any(
            entity is not None and _inside(entity, stretches)
            for entity, stretches in zip((error.reference, error.candidate), own, strict=True)
        )

    first = compare(here, there, alike, excused)
    elsewhere = frozenset(
        error
        for part in first.values()
        for error in part.mistakes
        if not is_own(error) or says_the_same(error, here, there)
    )
    parts = first
    if elsewhere:
        parts = compare(here, there, alike, Excused(excused.errors | elsewhere))
    return {
        name: ComparedPart(
            part.value,
            tuple(replace(match, specimen=pair.name) for match in part.matched),
            tuple(
                replace(each, specimen=pair.name)
                for each in part.mistakes
                if is_own(each) and not says_the_same(each, here, there)
            ),
        )
        for name, part in parts.items()
    }


def _common(
    reference: Facts,
    candidate: Facts,
    matched: MatchedSpecimens,
    alike: Alike,
    excused: Excused,
) -> dict[str, ComparedPart]:
    """The reports as wholes, as far as what is outside of the parts is wrong."""
    common = matched.reference_common, matched.candidate_common

    def is_common(error: ReportError) -> bool:
        return all(
            entity is None or (_inside(entity, stretches) and entity.type not in _GLOBAL)
            for entity, stretches in zip((error.reference, error.candidate), common, strict=True)
        )

    first = compare(reference, candidate, alike, excused)
    inside = frozenset(
        error for part in first.values() for error in part.mistakes if not is_common(error)
    )
    parts = compare(reference, candidate, alike, Excused(excused.errors | inside))
    return {
        name: ComparedPart(
            part.value if any(map(is_common, first[name].mistakes)) else None,
            (),
            tuple(filter(is_common, first[name].mistakes)),
        )
        for name, part in parts.items()
    }

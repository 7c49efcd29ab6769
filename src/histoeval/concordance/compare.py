"""All parts of the comparison of two reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from histoeval.concordance.changed_numbers import with_degrees, with_numbers
from histoeval.concordance.diagnosis import Alike, compare_diagnoses
from histoeval.concordance.evidence import ComparedPart, ErrorKind, ReportError
from histoeval.concordance.findings import compare_findings
from histoeval.concordance.grade_stage_size import (
    compare_grades,
    compare_measurements,
    compare_stages,
)
from histoeval.concordance.markers import compare_markers
from histoeval.concordance.other_diagnoses import (
    compare_additional,
    compare_denials,
    with_denials,
)
from histoeval.concordance.site import compare_sides, compare_sites, extra_sites, same_named
from histoeval.facts.facts import Facts
from histoeval.facts.normalise import NormalisedText

PARTS = (
    "diagnosis",
    "behaviour",
    "spread",
    "completeness",
    "soundness",
    "site",
    "laterality",
    "grade",
    "stage",
    "markers",
    "findings",
    "no_inventions",
    "measurements",
)
"""The names of the parts, in the order in which they are shown."""


_SAME_DIAGNOSIS = 0.85


def compare(reference: Facts, candidate: Facts, alike: Alike) -> Mapping[str, ComparedPart]:
    """Every part by its name."""
    diagnoses = compare_diagnoses(reference, candidate, alike)
    known = diagnoses.identity.mistakes
    complete, sound = compare_findings(reference, candidate, alike)
    if (diagnoses.identity.value or 0.0) >= _SAME_DIAGNOSIS:
        missing, extra = compare_additional(reference, candidate, alike)
        complete, sound = _both(complete, missing), _both(sound, extra)
    texts = reference.stated.text, candidate.stated.text
    grade, stage = compare_grades(reference, candidate), compare_stages(reference, candidate)
    markers = compare_markers(reference, candidate)
    sizes = compare_measurements(reference, candidate)
    wrong = sum(len(part.mistakes) for part in (grade, stage, markers, sizes))
    return {
        "diagnosis": diagnoses.identity,
        "behaviour": with_denials(diagnoses.behaviour, reference, candidate),
        "spread": diagnoses.spread,
        "completeness": _without(diagnoses.completeness, known),
        "soundness": _without(diagnoses.soundness, known),
        "site": _site(reference, candidate, diagnoses.identity),
        "laterality": compare_sides(reference, candidate),
        "grade": with_degrees(grade, *texts),
        "stage": stage,
        "markers": markers,
        "findings": _both(complete, compare_denials(reference, candidate)),
        "no_inventions": _both(sound, extra_sites(reference, candidate)),
        "measurements": with_numbers(sizes, wrong, *texts),
    }


def _site(reference: Facts, candidate: Facts, identity: ComparedPart) -> ComparedPart:
    """The site; right for the same diagnosis at sites of the same names."""
    site = compare_sites(reference, candidate)
    if (identity.value or 0.0) >= _SAME_DIAGNOSIS and same_named(reference, candidate):
        return ComparedPart(1.0, site.matched)
    return site


def _both(one: ComparedPart, other: ComparedPart) -> ComparedPart:
    """Two parts as one: their costs add up."""
    values = [part.value for part in (one, other) if part.value is not None]
    if not values:
        return one
    left = max(0.0, 1 - sum(1 - value for value in values))
    return ComparedPart(left, one.matched + other.matched, one.mistakes + other.mistakes)


def _without(part: ComparedPart, known: Sequence[ReportError]) -> ComparedPart:
    """A part without the mistakes that are listed already: one swap is one mistake."""
    listed = {id(entity) for error in known for entity in (error.reference, error.candidate)}
    mistakes = tuple(
        mistake
        for mistake in part.mistakes
        if mistake.kind == ErrorKind.CONTRADICTION
        or not ({id(mistake.reference), id(mistake.candidate)} - {id(None)}) & listed
    )
    return ComparedPart(part.value, part.matched, mistakes)


def restored(
    part: ComparedPart, reference: NormalisedText, candidate: NormalisedText
) -> ComparedPart:
    """A part with its evidence in the words of the two reports."""
    if not reference.changes and not candidate.changes:
        return part
    return ComparedPart(
        part.value,
        tuple(
            replace(
                match,
                reference=reference.restored(match.reference),
                candidate=candidate.restored(match.candidate),
            )
            for match in part.matched
        ),
        tuple(
            replace(
                mistake,
                reference=mistake.reference and reference.restored(mistake.reference),
                candidate=mistake.candidate and candidate.restored(mistake.candidate),
            )
            for mistake in part.mistakes
        ),
    )

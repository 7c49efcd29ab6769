"""All parts of the comparison of two reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from histoeval.concordance.changed_numbers import with_degrees, with_numbers
from histoeval.concordance.decisive_findings import with_decisive
from histoeval.concordance.diagnosis import Alike, compare_diagnoses, without_implied
from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    NOTHING_EXCUSED,
    ComparedPart,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
    closed,
)
from histoeval.concordance.findings import compare_findings
from histoeval.concordance.grade_stage_size import (
    compare_grades,
    compare_measurements,
    compare_stages,
)
from histoeval.concordance.laterality import compare_sides
from histoeval.concordance.markers import compare_markers
from histoeval.concordance.other_diagnoses import (
    compare_additional,
    compare_denials,
    with_denials,
)
from histoeval.concordance.site import (
    compare_sites,
    extra_sites,
    same_named,
    with_specimen,
)
from histoeval.concordance.stated_values import (
    stated_margins,
    without_margins,
    without_settled_numbers,
)
from histoeval.facts.facts import Facts
from histoeval.report import Entity
from histoeval.terms.rewriting import RewrittenText

# The parts that an NLI model makes; all others are of facts
OF_STATEMENTS = ("kept", "supported", "consistent")

OF_FACTS = (
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
    "specimens",
)

PARTS = (*OF_FACTS, *OF_STATEMENTS)  # the names of the parts, in the order in which they are shown


Texts = tuple[str, str]

_SAME_DIAGNOSIS = 0.85
_SAME_FINDING = 0.95


def compare(
    reference: Facts, candidate: Facts, alike: Alike, excused: Excused = NOTHING_EXCUSED
) -> Mapping[str, ComparedPart]:
    """Every part by its name; errors that are excused cost nothing."""
    both = reference, candidate = without_implied(reference, candidate)
    diagnoses = compare_diagnoses(*both, alike, excused)
    known = diagnoses.identity.mistakes
    margins = stated_margins(*both)
    complete, sound = compare_findings(
        without_margins(reference, margins, of_reference=True),
        without_margins(candidate, margins, of_reference=False),
        alike,
        excused,
    )
    if (diagnoses.identity.value or 0.0) >= _SAME_DIAGNOSIS:
        missing, extra = compare_additional(*both, alike, _and_matched(excused, complete))
        complete, sound = _both(complete, missing), _both(sound, extra)
    texts = reference.stated.text, candidate.stated.text
    grade, stage = compare_grades(*both, excused), compare_stages(*both, excused)
    markers = compare_markers(*both, excused)
    sizes = compare_measurements(*both, excused)
    unsettled = without_settled_numbers(*both)
    wrong = sum(
        _keeps_numbers(error, texts, unsettled)
        for part in (grade, stage, markers, sizes)
        for error in part.mistakes
    )
    parts = {
        "diagnosis": diagnoses.identity,
        "behaviour": with_denials(diagnoses.behaviour, *both, excused),
        "spread": diagnoses.spread,
        "completeness": _without(diagnoses.completeness, known),
        "soundness": _without(diagnoses.soundness, known),
        "site": with_specimen(_site(*both, diagnoses.identity, excused), *both, excused),
        "laterality": compare_sides(*both, excused),
        "grade": with_degrees(grade, *texts, excused),
        "stage": stage,
        "markers": markers,
        "findings": margins.taken_off(_both(complete, compare_denials(*both, excused)), excused),
        "no_inventions": _both(sound, extra_sites(*both, excused)),
        "measurements": with_numbers(sizes, wrong, *unsettled, excused),
        "specimens": NOT_MENTIONED,
    }
    return with_decisive(parts, *both, excused)


def _keeps_numbers(error: ReportError, texts: Texts, unsettled: Texts) -> bool:
    """Whether the words of an error are still in texts from which settled numbers were taken."""
    entities = (error.reference, error.candidate)
    return all(
        each is None or whole[each.start : each.end] == rest[each.start : each.end]
        for each, whole, rest in zip(entities, texts, unsettled, strict=True)
    )


def _and_matched(excused: Excused, findings: ComparedPart) -> Excused:
    """What is excused, and what both reports have as a finding: it is no diagnosis besides."""
    matched = {
        ReportError(ErrorKind.OMISSION, each.part, Severity.MINOR, each.reference, each.candidate)
        for each in findings.matched
        if each.similarity >= _SAME_FINDING
    }
    return Excused(excused.errors | matched)


def _site(
    reference: Facts, candidate: Facts, identity: ComparedPart, excused: Excused
) -> ComparedPart:
    """The site; right for the same diagnosis at sites of the same names."""
    site = compare_sites(reference, candidate, excused)
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
    part: ComparedPart, reference: RewrittenText, candidate: RewrittenText
) -> ComparedPart:
    """A part with its evidence in the words of the two reports, none cut before a bracket."""
    return ComparedPart(
        part.value,
        tuple(
            replace(
                match,
                reference=_original(match.reference, reference),
                candidate=_original(match.candidate, candidate),
            )
            for match in part.matched
        ),
        tuple(
            replace(
                mistake,
                reference=mistake.reference and _original(mistake.reference, reference),
                candidate=mistake.candidate and _original(mistake.candidate, candidate),
            )
            for mistake in part.mistakes
        ),
    )


def _original(entity: Entity, text: RewrittenText) -> Entity:
    return closed(text.restored(entity), text.original)

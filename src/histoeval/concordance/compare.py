"""All parts of the comparison of two reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from histoeval.concordance.changed_numbers import with_degrees, with_numbers
from histoeval.concordance.diagnosis import Alike, compare_diagnoses, without_implied
from histoeval.concordance.evidence import (
    NONE_IGNORED,
    NOT_MENTIONED,
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
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
from histoeval.concordance.markers import compare_markers
from histoeval.concordance.other_diagnoses import (
    compare_additional,
    compare_denials,
    with_denials,
)
from histoeval.concordance.site import (
    compare_sides,
    compare_sites,
    extra_sites,
    same_named,
    with_specimen,
)
from histoeval.concordance.stated_values import (
    COST,
    stated_margins,
    without_margins,
    without_settled_numbers,
)
from histoeval.facts.facts import Facts
from histoeval.report import Entity, EntityType
from histoeval.terms.decisive_findings import DecisiveFinding, Standing, read_decisive
from histoeval.terms.rewriting import RewrittenText

# The parts that an NLI model makes; all others are of facts
OF_STATEMENTS = ("kept", "supported", "consistent")

OF_FACTS = (
    "diagnosis", "behaviour", "spread", "completeness", "soundness", "site", "laterality", "grade",
    "stage", "markers", "findings", "no_inventions", "measurements", "specimens",
)  # fmt: skip

PARTS = (*OF_FACTS, *OF_STATEMENTS)  # the names of the parts, in the order in which they are shown


Texts = tuple[str, str]

_SAME_DIAGNOSIS = 0.85
_SAME_FINDING = 0.95


def compare(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors = NONE_IGNORED
) -> Mapping[str, ComparedPart]:
    """Every part by its name; errors that are ignored cost nothing."""
    both = reference, candidate = without_implied(reference, candidate)
    diagnoses = compare_diagnoses(*both, alike, ignored)
    diagnosis_errors = diagnoses.identity.mistakes
    margins = stated_margins(*both)
    complete, sound = compare_findings(
        without_margins(reference, margins, of_reference=True),
        without_margins(candidate, margins, of_reference=False),
        alike,
        ignored,
    )
    if (diagnoses.identity.value or 0.0) >= _SAME_DIAGNOSIS:
        missing, extra = compare_additional(*both, alike, _and_matched(ignored, complete))
        complete, sound = _both(complete, missing), _both(sound, extra)
    texts = reference.stated.text, candidate.stated.text
    grade, stage = compare_grades(*both, ignored), compare_stages(*both, ignored)
    markers = compare_markers(*both, ignored)
    sizes = compare_measurements(*both, ignored)
    unsettled = without_settled_numbers(*both)
    # Errors whose words are still in the texts from which settled numbers were taken
    wrong = sum(
        all(
            entity is None or text[entity.start : entity.end] == rest[entity.start : entity.end]
            for entity, text, rest in zip(
                (error.reference, error.candidate), texts, unsettled, strict=True
            )
        )
        for part in (grade, stage, markers, sizes)
        for error in part.mistakes
    )
    site = compare_sites(*both, ignored)
    is_same = (diagnoses.identity.value or 0.0) >= _SAME_DIAGNOSIS
    if is_same and same_named(*both):  # right for the same diagnosis at sites of the same names
        site = ComparedPart(1.0, site.matched)
    parts = {
        "diagnosis": diagnoses.identity,
        "behaviour": with_denials(diagnoses.behaviour, *both, ignored),
        "spread": diagnoses.spread,
        "completeness": _without(diagnoses.completeness, diagnosis_errors),
        "soundness": _without(diagnoses.soundness, diagnosis_errors),
        "site": with_specimen(site, *both, ignored),
        "laterality": compare_sides(*both, ignored),
        "grade": with_degrees(grade, *texts, ignored),
        "stage": stage,
        "markers": markers,
        "findings": margins.taken_off(_both(complete, compare_denials(*both, ignored)), ignored),
        "no_inventions": _both(sound, extra_sites(*both, ignored)),
        "measurements": with_numbers(sizes, wrong, *unsettled, ignored),
        "specimens": NOT_MENTIONED,
    }
    return with_decisive(parts, *both, ignored)


def _and_matched(ignored: IgnoredErrors, findings: ComparedPart) -> IgnoredErrors:
    """Excuse, too, what both reports have as a finding: it is no diagnosis besides."""
    matched = {
        ReportError(
            ErrorKind.OMISSION, match.part, Severity.MINOR, match.reference, match.candidate
        )
        for match in findings.matched
        if match.similarity >= _SAME_FINDING
    }
    return IgnoredErrors(ignored.errors | matched)


def _both(first: ComparedPart, second: ComparedPart) -> ComparedPart:
    """Two parts as one: their costs add up."""
    values = [part.value for part in (first, second) if part.value is not None]
    if not values:
        return first
    left = max(0.0, 1 - sum(1 - value for value in values))
    return ComparedPart(left, first.matched + second.matched, first.mistakes + second.mistakes)


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

    def ref(entity: Entity) -> Entity:
        return closed(reference.restored(entity), reference.original)

    def cand(entity: Entity) -> Entity:
        return closed(candidate.restored(entity), candidate.original)

    matched = tuple(
        replace(match, reference=ref(match.reference), candidate=cand(match.candidate))
        for match in part.matched
    )
    mistakes = tuple(
        replace(
            error,
            reference=error.reference and ref(error.reference),
            candidate=error.candidate and cand(error.candidate),
        )
        for error in part.mistakes
    )
    return ComparedPart(part.value, matched, mistakes)


_FINDINGS = "findings"
# Parts whose errors may be about such a finding
_RATED = ("diagnosis", "findings", "no_inventions", "markers", "completeness", "soundness")


def with_decisive(
    parts: Mapping[str, ComparedPart], reference: Facts, candidate: Facts, ignored: IgnoredErrors
) -> dict[str, ComparedPart]:
    compared = dict(parts)
    for decisive in _unshared(reference, candidate):
        is_counted = False
        for name in _RATED:
            mistakes = list(compared[name].mistakes)
            for at, error in enumerate(mistakes):
                if _is_about(error, decisive):
                    is_counted = True
                    if error.kind not in (ErrorKind.WRONG_DIAGNOSIS, ErrorKind.MARKER_FLIP):
                        severity = max(error.severity, decisive.severity)
                        mistakes[at] = replace(error, severity=severity)
            compared[name] = replace(compared[name], mistakes=tuple(mistakes))
        if not is_counted:
            part = compared[_FINDINGS]
            value = 1.0 if part.value is None else part.value
            left = max(0.0, value - (0.0 if ignored(decisive) else COST[decisive.severity]))
            compared[_FINDINGS] = ComparedPart(left, part.matched, (*part.mistakes, decisive))
    return compared


def _unshared(reference: Facts, candidate: Facts) -> Iterator[ReportError]:
    ref, cand = read_decisive(reference.stated.text), read_decisive(candidate.stated.text)
    for name in sorted({*ref, *cand}):
        ref_finding, cand_finding = ref.get(name), cand.get(name)
        standings = {
            finding.standing if finding else None for finding in (ref_finding, cand_finding)
        }
        known = ref_finding or cand_finding
        if Standing.AFFIRMED not in standings or len(standings) == 1 or known is None:
            continue
        silent = None in standings or (
            Standing.IMPLIED in standings
            and all(f and f.implied for f in (ref_finding, cand_finding))
        )
        ref_entity = _decisive_entity(reference, ref_finding) if ref_finding else None
        cand_entity = _decisive_entity(candidate, cand_finding) if cand_finding else None
        if silent and not known.both:
            left_out = ref_finding is not None and ref_finding.standing == Standing.AFFIRMED
            kind = ErrorKind.OMISSION if left_out else ErrorKind.INVENTION
            entity = ref_entity if left_out else cand_entity
            if entity is not None:
                yield ReportError.one_sided(kind, _FINDINGS, Severity(known.severity), entity)
        elif Standing.DENIED in standings and not known.compared:
            yield ReportError(
                ErrorKind.CONTRADICTION,
                _FINDINGS,
                Severity(known.severity),
                ref_entity,
                cand_entity,
            )


def _decisive_entity(facts: Facts, finding: DecisiveFinding) -> Entity:
    return Entity(
        text=facts.stated.text[finding.start : finding.end],
        start=finding.start,
        end=finding.end,
        type=EntityType.FINDING,
        score=0.5,
    )


def _is_about(error: ReportError, decisive: ReportError) -> bool:
    """True if an error is about the words of a decisive finding, in one report at least."""
    return any(
        first is not None
        and second is not None
        and first.start < second.end
        and second.start < first.end
        for first, second in (
            (error.reference, decisive.reference),
            (error.candidate, decisive.candidate),
        )
    )

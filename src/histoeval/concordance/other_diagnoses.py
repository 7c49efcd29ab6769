"""Diagnoses besides the leading one: omitted or hallucinated, denied by one report only."""

import re
from collections.abc import Sequence

from histoeval.concordance.diagnosis import Alike, diagnosis_closeness
from histoeval.concordance.diagnosis_errors import MATCHED, severity_of
from histoeval.concordance.evidence import (
    NONE_IGNORED,
    NOT_MENTIONED,
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.concordance.spread import Near, best_of
from histoeval.facts.diagnoses import Diagnosis, names_only_spread
from histoeval.facts.facts import Facts
from histoeval.facts.spread import states_spread
from histoeval.report import Entity, EntityType
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.plain import plain
from histoeval.terms.values.stated import clauses

# The cost of an additional diagnosis that was omitted or hallucinated, and of all of them
_ADDITIONAL, _MAX_ADDITIONAL = 0.2, 0.5
_REVERSED = {Behaviour.MALIGNANT: 0.9, Behaviour.IN_SITU: 0.8, Behaviour.BORDERLINE: 0.7}
_REVERSED_OTHER = 0.5  # the cost of affirming what the other report denies, by behaviour
_DENIAL_OMITTED, _MAX_DENIALS_OMITTED = 0.2, 0.3
_GRAVE = frozenset({Behaviour.MALIGNANT, Behaviour.IN_SITU})
_GRAVE_LEFT = 0.7  # what is left of the behaviour when one of these was denied by one report only
_OPEN = frozenset({Behaviour.MALIGNANT, Behaviour.UNSPECIFIED})
_LOW_GRADE = "low_grade_dysplasia"
# A whole statement that there is nothing to find
_CLEAR = re.compile(
    r"(?:diagnosis:\s{0,3})?(?:no (?:(?:significant|specific|diagnostic|histolog\w+|patholog\w+"
    r"|microscopic|evident) ){0,2}(?:abnormalit\w+|patholog\w+|changes?|lesions?)"
    r"(?: (?:is|are|was|were|seen|identified|detected|present|found|evident)){0,2}"
    r"|(?:histologically |essentially |entirely )?(?:unremarkable|normal)"
    r"(?: (?:histology|study|biopsy|mucosa|findings|tissue|parenchyma|specimen))?"
    r"|(?:histology )?within normal limits)",
    re.IGNORECASE,
)


# --- additional diagnoses, where the leading one is right ---------------------------------------


def compare_additional(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors = NONE_IGNORED
) -> tuple[ComparedPart, ComparedPart]:
    """Omitted and invented diagnoses, where the leading diagnosis is right."""

    def near(ref: Diagnosis, cand: Diagnosis) -> float:
        """The better of both directions: here neither report is the measure of the other."""
        return max(diagnosis_closeness(ref, cand, alike), diagnosis_closeness(cand, ref, alike))

    return (
        _additional(reference, candidate, near, ErrorKind.OMISSION, ignored),
        _additional(candidate, reference, near, ErrorKind.INVENTION, ignored),
    )


def _additional(
    one: Facts, other: Facts, near: Near, kind: ErrorKind, ignored: IgnoredErrors
) -> ComparedPart:
    """Part that is left after diagnoses of one report that the other has in no words."""
    if not one.diagnoses:
        return NOT_MENTIONED
    missing = [
        ReportError.one_sided(kind, "diagnosis", severity_of(diagnosis), diagnosis.entity)
        for diagnosis in (*one.diagnoses, *one.others)
        if diagnosis.known
        and diagnosis.behaviour != Behaviour.NORMAL
        and best_of(diagnosis, other.made, near)[0] < MATCHED
        and not other.stated.has_words(diagnosis.entity.text)
        and not (names_only_spread(diagnosis) and states_spread(other.stated.text))
    ]
    mistakes = tuple(error for error in missing if not ignored(error))
    return ComparedPart(1 - min(_MAX_ADDITIONAL, _ADDITIONAL * len(mistakes)), (), mistakes)


# --- denied diagnoses ----------------------------------------------------------------------------


def compare_denials(
    reference: Facts, candidate: Facts, ignored: IgnoredErrors = NONE_IGNORED
) -> ComparedPart:
    """Part that is left after diagnoses that one report denies and the other makes or omits."""
    clear = _all_clear(reference, candidate)
    if not reference.denied and not candidate.denied and clear is None:
        return NOT_MENTIONED
    contradicted = _contradicted(reference, candidate)
    cost = sum(
        _REVERSED.get(denied.behaviour, _REVERSED_OTHER)
        for denied, mistake in contradicted
        if not ignored(mistake)
    )
    counted = {id(denied) for denied, _ in contradicted}
    omitted = [
        ReportError(ErrorKind.OMISSION, "findings", Severity.MINOR, denied.entity, None)
        for denied in _not_mentioned(reference, candidate)
        if id(denied) not in counted
    ]
    left_out = sum(not ignored(mistake) for mistake in omitted)
    cost += min(_MAX_DENIALS_OMITTED, _DENIAL_OMITTED * left_out)
    mistakes = (*(mistake for _, mistake in contradicted), *omitted)
    if clear is not None and not contradicted:
        cost += 0.0 if ignored(clear) else _REVERSED_OTHER
        mistakes = (clear, *mistakes)
    return ComparedPart(max(0.0, 1 - cost), (), mistakes)


def with_denials(
    behaviour: ComparedPart,
    reference: Facts,
    candidate: Facts,
    ignored: IgnoredErrors = NONE_IGNORED,
) -> ComparedPart:
    """The behaviour; less where only one of the reports denies a malignancy."""
    grave = any(
        denied.behaviour in _GRAVE and not ignored(mistake)
        for denied, mistake in _contradicted(reference, candidate)
    )
    if behaviour.value is None or not grave:
        return behaviour
    return ComparedPart(behaviour.value * _GRAVE_LEFT, behaviour.matched, behaviour.mistakes)


def _contradicted(reference: Facts, candidate: Facts) -> list[tuple[Diagnosis, ReportError]]:
    """Diagnoses that one report denies and the other makes: the reference's denials first."""
    kind, part = ErrorKind.CONTRADICTION, "findings"
    return [
        (denied, ReportError(kind, part, _severity(made), denied.entity, made.entity))
        for denied, made in _reversed(reference, candidate)
    ] + [
        (denied, ReportError(kind, part, _severity(made), made.entity, denied.entity))
        for denied, made in _reversed(candidate, reference)
    ]


def _severity(diagnosis: Diagnosis) -> Severity:
    grave = diagnosis.behaviour in _GRAVE and not diagnosis.hedged
    is_low_grade = diagnosis.concept is not None and diagnosis_tree().is_a(
        diagnosis.concept.id, _LOW_GRADE
    )
    return Severity.CRITICAL if grave and not is_low_grade else Severity.MAJOR


def _reversed(one: Facts, other: Facts) -> list[tuple[Diagnosis, Diagnosis]]:
    """Diagnoses that one report only denies, and the other only makes.

    Who denies a disease denies every kind of it.
    """
    found: dict[str, tuple[Diagnosis, Diagnosis]] = {}
    theirs, ours, denied_there = (_distinct(d) for d in (other.made, one.made, other.denied))
    for denied in _distinct(one.denied):
        if denied.behaviour == Behaviour.NORMAL:
            continue
        made = next((diagnosis for diagnosis in theirs if _denies(denied, diagnosis)), None)
        if made is None:
            continue
        own = [diagnosis for diagnosis in ours if _denies(denied, diagnosis)]
        if own and (not _names(made, denied) or any(_names(d, denied) for d in own)):
            continue
        if not any(_same(denied, d) or _denies(d, made) for d in denied_there):
            found.setdefault(_name(denied), (denied, made))
    return list(found.values())


def _distinct(diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
    """The first of those that have the same words and mean the same."""
    diagnoses_by_name: dict[tuple[str, str | None, str | None], Diagnosis] = {}
    for diagnosis in diagnoses:
        meant, broad = (
            concept.id if concept else None
            for concept in (diagnosis.concept, diagnosis.concept_without_context)
        )
        diagnoses_by_name.setdefault((plain(diagnosis.entity.text), meant, broad), diagnosis)
    return list(diagnoses_by_name.values())


def _names(diagnosis: Diagnosis, denied: Diagnosis) -> bool:
    """True if a diagnosis is made in the very words in which another is denied."""
    return set(plain(denied.entity.text).split()) <= set(plain(diagnosis.entity.text).split())


def _all_clear(reference: Facts, candidate: Facts) -> ReportError | None:
    """A report that says in so many words that there is nothing, where the other has a disease."""
    ref, cand = _clear_verdict(reference), _clear_verdict(candidate)
    facts = reference if ref is None else candidate
    diagnosis = next((d for d in facts.first if d.known and d.behaviour != Behaviour.NORMAL), None)
    if (ref is None) == (cand is None) or diagnosis is None:
        return None
    entities = (diagnosis.entity, cand) if ref is None else (ref, diagnosis.entity)
    return ReportError(ErrorKind.CONTRADICTION, "findings", _severity(diagnosis), *entities)


def _clear_verdict(facts: Facts) -> Entity | None:
    text = facts.stated.text
    for start, end in clauses(text):
        words = text[start:end].strip()
        if _CLEAR.fullmatch(words):
            at = text.index(words, start)
            kind = EntityType.DIAGNOSIS
            return Entity(text=words, start=at, end=at + len(words), type=kind, score=0.5)
    return None


def _denies(denied: Diagnosis, diagnosis: Diagnosis) -> bool:
    """True if `denied` negates `made` or one of its ancestors."""
    if _same(denied, diagnosis):
        return True
    if diagnosis.concept is None:
        return False
    # Of umbrella words only if it matters
    return any(
        diagnosis_tree().is_a(diagnosis.concept.id, concept.id)
        and (concept.behaviour not in _OPEN or diagnosis.concept.behaviour in _GRAVE)
        and concept.behaviour in (diagnosis.concept.behaviour, Behaviour.UNSPECIFIED)
        for concept in (denied.concept_without_context, denied.concept)
        if concept is not None
    )


def _not_mentioned(reference: Facts, candidate: Facts) -> list[Diagnosis]:
    """Diagnoses that the reference denies and the candidate does not mention."""
    by_name: dict[str, Diagnosis] = {}
    for denied in reference.denied:
        others = (*candidate.denied, *candidate.made)
        mentioned = any(_same(denied, other) or _akin(denied, other) for other in others)
        if not mentioned and not candidate.stated.has_words(denied.entity.text):
            by_name.setdefault(_name(denied), denied)
    return list(by_name.values())


def _name(diagnosis: Diagnosis) -> str:
    return diagnosis.concept.id if diagnosis.concept else plain(diagnosis.entity.text)


def _same(first: Diagnosis, second: Diagnosis) -> bool:
    return _name(first) == _name(second) or plain(first.entity.text) == plain(second.entity.text)


def _akin(first: Diagnosis, second: Diagnosis) -> bool:
    if first.concept is None or second.concept is None:
        return False
    tree, a, b = diagnosis_tree(), first.concept, second.concept
    both_open = a.generic and b.generic and {a.behaviour, b.behaviour} <= _OPEN
    return both_open or tree.is_a(a.id, b.id) or tree.is_a(b.id, a.id)

"""Errors about diagnoses: another disease, too much or too little made of it, a doubt lost."""

from histoeval.concordance.evidence import ErrorKind, ReportError, Severity
from histoeval.facts.diagnoses import Diagnosis
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, diagnosis_tree

HEDGE = 0.75  # what is left of a match when only one of the two reports is sure
MATCHED, SAME = 0.5, 0.85  # how near two diagnoses are that belong together, and that are the same
_INFECTION = "infection"
_AKIN = 0.2  # from here on a diagnosis is one of the same group as another, and takes its place
_ATYPIA = "atypia"
_ATYPICAL = "atypical_epithelial_proliferation"
_BEHAVIOURS = {
    frozenset({Behaviour.MALIGNANT, Behaviour.IN_SITU}): 0.5,
    frozenset({Behaviour.MALIGNANT, Behaviour.BORDERLINE}): 0.35,
    frozenset({Behaviour.MALIGNANT, Behaviour.UNSPECIFIED}): 0.45,
    frozenset({Behaviour.MALIGNANT, Behaviour.BENIGN}): 0.0,
    frozenset({Behaviour.MALIGNANT, Behaviour.NON_NEOPLASTIC}): 0.0,
    frozenset({Behaviour.MALIGNANT, Behaviour.NORMAL}): 0.0,
    frozenset({Behaviour.IN_SITU, Behaviour.BORDERLINE}): 0.5,
    frozenset({Behaviour.IN_SITU, Behaviour.BENIGN}): 0.25,
    frozenset({Behaviour.IN_SITU, Behaviour.NON_NEOPLASTIC}): 0.15,
    frozenset({Behaviour.IN_SITU, Behaviour.NORMAL}): 0.1,
    frozenset({Behaviour.BORDERLINE, Behaviour.BENIGN}): 0.5,
    frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC}): 0.7,
    frozenset({Behaviour.BENIGN, Behaviour.NORMAL}): 0.6,
    frozenset({Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL}): 0.6,
}
_BEHAVIOUR_UNLIKE = 0.3


def mistake_of(ref: Diagnosis, cand: Diagnosis, value: float, right: bool) -> ReportError:
    """Error where two diagnoses are not the same; `right` if another one is.

    Words that no catalogue knows are no proof of an error: they count as moderate at most.
    """
    ref_concept, cand_concept = ref.concept, cand.concept
    open_both = _is_doubtful(ref) and _is_doubtful(cand)
    if ref_concept is None or cand_concept is None:
        kind = ErrorKind.OMISSION if value >= MATCHED else ErrorKind.WRONG_DIAGNOSIS
        severity = Severity.MODERATE
    elif ref.hedged != cand.hedged and value >= SAME * HEDGE:  # only one report is sure of it
        kind = ErrorKind.OVERCALL if ref.hedged else ErrorKind.UNDERCALL
        harmless = ref.behaviour in (Behaviour.BENIGN, Behaviour.NORMAL, Behaviour.BORDERLINE)
        severity = Severity.MODERATE if harmless else Severity.MAJOR
    elif not open_both and (call := _call(ref, cand)) is not None:
        malignant = Behaviour.MALIGNANT in (ref.behaviour, cand.behaviour)
        kind, severity = call, Severity.CRITICAL if malignant else Severity.MAJOR
    elif not open_both and (atypia := _atypia(ref_concept, cand_concept)) is not None:
        kind, severity = atypia, Severity.MAJOR
    elif open_both or _akin(ref, cand):
        kind, severity = ErrorKind.OMISSION, Severity.MODERATE
    else:
        kind, severity = ErrorKind.WRONG_DIAGNOSIS, _of_another(ref, cand, value, right)
    return ReportError(kind, "diagnosis", severity, ref.entity, cand.entity)


def _akin(ref: Diagnosis, cand: Diagnosis) -> bool:
    """True if one is a kind of the other, by their words alone or by what the report adds."""
    tree = diagnosis_tree()
    ones, others = (
        [c for c in (d.concept, d.concept_without_context, d.primary) if c] for d in (ref, cand)
    )
    return any(tree.are_kin(a.id, b.id) for a in ones for b in others)


def _is_doubtful(diagnosis: Diagnosis) -> bool:
    """True if it leaves open what there is: a suspicion, atypia, a lesion of unclear behaviour."""
    concept, is_a = diagnosis.concept, diagnosis_tree().is_a
    unclear = concept and any(is_a(concept.id, kind) for kind in (_ATYPIA, _ATYPICAL))
    return diagnosis.hedged or bool(unclear)


def _atypia(first: Concept, second: Concept) -> ErrorKind | None:
    """Atypia that is taken for a malignancy, or for nothing."""
    tree = diagnosis_tree()
    unclear = [
        concept.behaviour == Behaviour.UNSPECIFIED and tree.is_a(concept.id, _ATYPIA)
        for concept in (first, second)
    ]
    if unclear not in ([True, False], [False, True]):
        return None
    clear = second if unclear[0] else first
    if clear.behaviour == Behaviour.MALIGNANT:
        return ErrorKind.OVERCALL if unclear[0] else ErrorKind.UNDERCALL
    if clear.behaviour in HARMLESS:
        return ErrorKind.UNDERCALL if unclear[0] else ErrorKind.OVERCALL
    return None


def _of_another(ref: Diagnosis, cand: Diagnosis, value: float, right: bool) -> Severity:
    """Severity of naming another disease: less for umbrella words, or beside a right one."""
    generic = any(d.concept and d.concept.generic for d in (ref, cand))
    malignant = Behaviour.MALIGNANT in (ref.behaviour, cand.behaviour)
    if Behaviour.UNSPECIFIED in (ref.behaviour, cand.behaviour) or (generic and not malignant):
        return Severity.MODERATE
    if malignant:
        return Severity.MAJOR if value >= MATCHED or generic else Severity.CRITICAL
    if {ref.behaviour, cand.behaviour} == {Behaviour.NORMAL}:
        return Severity.MINOR
    grave = {ref.behaviour, cand.behaviour} & {Behaviour.IN_SITU, Behaviour.BORDERLINE}
    infections = all(
        d.concept and diagnosis_tree().is_a(d.concept.id, _INFECTION) for d in (ref, cand)
    )
    beside = right and value < _AKIN and not grave and not infections
    return Severity.MODERATE if beside else Severity.MAJOR


def severity_of(diagnosis: Diagnosis) -> Severity:
    """Severity of omitting or inventing a diagnosis."""
    return {
        Behaviour.MALIGNANT: Severity.CRITICAL,
        Behaviour.IN_SITU: Severity.MAJOR,
        Behaviour.BORDERLINE: Severity.MAJOR,
        Behaviour.NORMAL: Severity.MINOR,
    }.get(diagnosis.behaviour, Severity.MODERATE)


def _call(ref: Diagnosis, cand: Diagnosis) -> ErrorKind | None:
    """Overcall or undercall, if the candidate makes more or less of the disease than there is."""
    if Behaviour.UNSPECIFIED in (ref.behaviour, cand.behaviour):
        return None
    if behaviour_agreement(ref.behaviour, cand.behaviour) >= MATCHED + 0.1:
        return None
    order = list(Behaviour)
    worse = order.index(cand.behaviour) < order.index(ref.behaviour)
    return ErrorKind.OVERCALL if worse else ErrorKind.UNDERCALL


def behaviour_agreement(one: Behaviour, other: Behaviour) -> float:
    """Agreement of two behaviours, from 0 (benign and malignant) to 1."""
    if one == other:
        return 1.0
    return _BEHAVIOURS.get(frozenset({one, other}), _BEHAVIOUR_UNLIKE)

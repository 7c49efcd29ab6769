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
    """What is wrong where two diagnoses are not the same; `right` if another one is."""
    kind, severity = _verdict(ref, cand, value, right)
    return ReportError(kind, "diagnosis", severity, ref.entity, cand.entity)


def _verdict(
    ref: Diagnosis, cand: Diagnosis, value: float, right: bool
) -> tuple[ErrorKind, Severity]:
    """The kind of a mistake, and how bad it is.

    Words that no catalogue knows are no proof of an error: they count as moderate at most.
    """
    one, other = ref.concept, cand.concept
    if one is None or other is None:
        kind = ErrorKind.OMISSION if value >= MATCHED else ErrorKind.WRONG_DIAGNOSIS
        return kind, Severity.MODERATE
    if ref.hedged != cand.hedged and value >= SAME * HEDGE:
        return _doubt(ref)
    open_both = _is_doubtful(ref) and _is_doubtful(cand)
    if not open_both and (call := _call(ref, cand)) is not None:
        malignant = Behaviour.MALIGNANT in (ref.behaviour, cand.behaviour)
        return call, Severity.CRITICAL if malignant else Severity.MAJOR
    if not open_both and (atypia := _atypia(one, other)) is not None:
        return atypia, Severity.MAJOR
    if open_both or _akin(ref, cand):
        return ErrorKind.OMISSION, Severity.MODERATE
    return ErrorKind.WRONG_DIAGNOSIS, _of_another(ref, cand, value, right)


def _akin(ref: Diagnosis, cand: Diagnosis) -> bool:
    """Whether one is a kind of the other, by their words alone or by what the report adds."""
    tree = diagnosis_tree()
    ones, others = ([c for c in (d.concept, d.wide, d.primary) if c] for d in (ref, cand))
    return any(tree.are_kin(a.id, b.id) for a in ones for b in others)


def _is_doubtful(diagnosis: Diagnosis) -> bool:
    """Whether it leaves open what there is: a suspicion, atypia, a lesion of unclear behaviour."""
    concept = diagnosis.concept
    unclear = concept is not None and (
        diagnosis_tree().is_a(concept.id, _ATYPIA) or diagnosis_tree().is_a(concept.id, _ATYPICAL)
    )
    return diagnosis.hedged or unclear


def _doubt(ref: Diagnosis) -> tuple[ErrorKind, Severity]:
    """The same diagnosis, of which only one report is sure."""
    kind = ErrorKind.OVERCALL if ref.hedged else ErrorKind.UNDERCALL
    harmless = ref.behaviour in (Behaviour.BENIGN, Behaviour.NORMAL, Behaviour.BORDERLINE)
    return kind, Severity.MODERATE if harmless else Severity.MAJOR


def _atypia(one: Concept, other: Concept) -> ErrorKind | None:
    """Atypia that is taken for a malignancy, or for nothing."""
    tree = diagnosis_tree()
    unclear = [
        each.behaviour == Behaviour.UNSPECIFIED and tree.is_a(each.id, _ATYPIA)
        for each in (one, other)
    ]
    if unclear not in ([True, False], [False, True]):
        return None
    clear = other if unclear[0] else one
    if clear.behaviour == Behaviour.MALIGNANT:
        return ErrorKind.OVERCALL if unclear[0] else ErrorKind.UNDERCALL
    if clear.behaviour in HARMLESS:
        return ErrorKind.UNDERCALL if unclear[0] else ErrorKind.OVERCALL
    return None


def _of_another(ref: Diagnosis, cand: Diagnosis, value: float, right: bool) -> Severity:
    """How bad it is to name another disease: less for umbrella words, or beside a right one."""
    generic = any(each.concept and each.concept.generic for each in (ref, cand))
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
    """How bad it is to omit or to hallucinate a diagnosis."""
    match diagnosis.behaviour:
        case Behaviour.MALIGNANT:
            return Severity.CRITICAL
        case Behaviour.IN_SITU | Behaviour.BORDERLINE:
            return Severity.MAJOR
        case Behaviour.NORMAL:
            return Severity.MINOR
        case _:
            return Severity.MODERATE


def _call(ref: Diagnosis, cand: Diagnosis) -> ErrorKind | None:
    """Whether the candidate makes more or less of the disease than there is."""
    if Behaviour.UNSPECIFIED in (ref.behaviour, cand.behaviour):
        return None
    if behaviour_agreement(ref.behaviour, cand.behaviour) >= MATCHED + 0.1:
        return None
    order = list(Behaviour)
    worse = order.index(cand.behaviour) < order.index(ref.behaviour)
    return ErrorKind.OVERCALL if worse else ErrorKind.UNDERCALL


def behaviour_agreement(one: Behaviour, other: Behaviour) -> float:
    """How well two behaviours agree, from 0 (benign and malignant) to 1."""
    if one == other:
        return 1.0
    return _BEHAVIOURS.get(frozenset({one, other}), _BEHAVIOUR_UNLIKE)

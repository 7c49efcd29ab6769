"""Findings: what is affirmed and denied besides the diagnosis, and what was hallucinated."""

from collections.abc import Sequence
from functools import cache

from histoeval.concordance.diagnosis import Alike
from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.facts.facts import BARE, Facts, FindingFact
from histoeval.facts.lexical import LexicalFacts
from histoeval.facts.spread import states_spread
from histoeval.terms.catalogue import Behaviour
from histoeval.terms.findings import finding_closeness, findings, is_kind_of
from histoeval.terms.plain import words_of

_SAME = 0.6
# What is left of the closeness of a finding that is not the one looked for, nor a kind of it
_BESIDE = 0.65
# The same for the kind of finding that the one looked for is: invasion for venous invasion
_WIDER = 0.75
_ELSEWHERE = 0.5  # how close two words for growth are that concern different places
_VERY = 0.95  # from here on two findings are one, and cannot both be affirmed and denied
_OMITTED = {1: 0.1, 2: 0.25, 3: 0.4}
_INVENTED = {1: 0.15, 2: 0.25, 3: 0.4}
# What it costs to omit, to invent and to contradict a finding, by its importance
_REVERSED = {1: 0.5, 2: 0.7, 3: 1.0}
_DENIAL = 0.5  # what of that remains when only a denial is omitted
_MAX_COST = 0.5  # the highest cost of omissions, or of hallucinations
_UNKNOWN_IMPORTANCE = 1
_SUPPORTING = 2  # the importance up to which the names of a finding are of several things
_OF_CANCER = "malignant_cells"
_MARGIN, _SPREAD = "margin_involvement", "metastasis"
# Findings that a stage tells by itself
_DEPTHS = (
    "submucosal_invasion muscularis_propria_invasion serosal_invasion fat_invasion "
    "stromal_invasion myometrial_invasion deep_invasion visceral_pleural_invasion "
    "soft_tissue_invasion extension"
).split()


# Findings of which there is more or less: `few` denies them for one writer, not for another
_OF_DEGREE = frozenset(
    "mitotic_activity hypercellularity hypocellularity tumor_infiltrating_lymphocytes "
    "glandular_architecture cystic_change trilineage_hematopoiesis cytologic_atypia nuclear_atypia "
    "pleomorphism inflammation".split()
)


def compare_findings(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors
) -> tuple[ComparedPart, ComparedPart]:
    """Share of the reference's findings that the candidate has, and of its own that are right.

    Costs add up, so that a finding counts as much in a long report as in a short one: most if one
    report affirms what the other denies, less if it is omitted or hallucinated.
    """
    both = reference, candidate, alike, ignored
    return _complete(*both), _sound(*both)


def _once(observed: Sequence[FindingFact]) -> list[FindingFact]:
    """Each finding once; where a report says both, that it is there."""
    distinct: dict[object, FindingFact] = {}
    for finding in observed:
        key: object = finding.id or finding.entity.text.casefold()
        if finding.id in BARE:
            key = "bare", finding.place
        if key not in distinct or (distinct[key].denied and not finding.denied):
            distinct[key] = finding
    return list(distinct.values())


def _closeness(first: FindingFact, second: FindingFact, alike: Alike) -> float:
    if first.id in BARE and second.id in BARE:
        same = first.place == second.place
        unsaid = None in (first.place, second.place) and first.denied == second.denied
        return 1.0 if same or unsaid else _ELSEWHERE
    if first.id and second.id:
        near = finding_closeness(first.id, second.id)
        both_denied = first.denied and second.denied
        wide, narrow = (second.id, first.id) if both_denied else (first.id, second.id)
        if is_kind_of(narrow, wide):
            return near
        return near * (_WIDER if is_kind_of(wide, narrow) and narrow not in BARE else _BESIDE)
    return alike(first.entity.text, second.entity.text)


def _nearest(
    one: FindingFact, others: Sequence[FindingFact], alike: Alike
) -> tuple[float, FindingFact | None]:
    """The nearest other; of the same assertion, unless another is the very same finding."""

    def rank(other: FindingFact) -> tuple[float, bool]:
        """Nearness first; of equals, the one that says the same of it."""
        near = _closeness(one, other, alike)
        same = one.denied == other.denied
        return (near if same or (near >= _VERY and _may_contradict(one, other)) else 0.0, same)

    best = max(others, key=rank, default=None)
    if best is None or (one.denied != best.denied and not rank(best)[0]):
        return 0.0, None
    return _closeness(one, best, alike), best


def _may_contradict(first: FindingFact, second: FindingFact) -> bool:
    """True if one may deny what the other affirms: the same thing, and not one that is like it.

    Rimmed vacuoles and perifascicular atrophy are both changes of muscle, and no contradiction.
    """
    placed = first.id in BARE and first.place is not None
    if first.id == second.id and first.id and (importance(first) > _SUPPORTING or placed):
        return True
    kin = (
        first.id
        and second.id
        and (is_kind_of(first.id, second.id) or is_kind_of(second.id, first.id))
    )
    if kin and not {first.id, second.id} & BARE and importance(first) > _SUPPORTING:
        return True
    words, others = (
        {word.plain for word in words_of(finding.called or finding.entity.text)}
        for finding in (first, second)
    )
    return bool(words & others)


def _stands(observed: FindingFact, other: LexicalFacts) -> bool:
    """True if the other text has it in words that the reader missed."""
    if observed.id is None:
        return other.has_words(observed.entity.text)
    if is_kind_of(observed.id, _MARGIN) and (_MARGIN, observed.denied) in other.findings:
        return True
    if is_kind_of(observed.id, _SPREAD) and not observed.denied and states_spread(other.text):
        return True
    return any(
        denied == observed.denied
        and (is_kind_of(observed.id, id_) if denied else is_kind_of(id_, observed.id))
        for id_, denied in other.findings
    )


def importance(observed: FindingFact) -> int:
    """Importance of a finding, from 1 to 3; less for a word that is short for many."""
    if observed.id is None or observed.id in BARE:
        return _UNKNOWN_IMPORTANCE
    # One word that others are kinds of, such as invasion
    is_umbrella = observed.id in _parents() and " " not in findings()[observed.id].name
    return min(2 if is_umbrella else 3, findings()[observed.id].importance)


@cache
def _parents() -> frozenset[str | None]:
    return frozenset(finding.parent for finding in findings().values())


def _severity(observed: FindingFact, own: Facts, other: Facts) -> Severity:
    """Severity of leaving out or making up a finding.

    Less where the stage has it in it, and for what only supports a diagnosis that both make.
    """
    depth = observed.id is not None and any(is_kind_of(observed.id, id_) for id_ in _DEPTHS)
    here, there = ({s.value.t for s in facts.stages if s.value.t} for facts in (own, other))
    if depth and not observed.denied and there and (not here or here & there):
        return Severity.MINOR
    severity = Severity(importance(observed))
    supports = severity == Severity.MODERATE and not _is_treated(observed)
    leads, others = (
        {d.concept.id for d in facts.first if d.concept and not d.concept.generic}
        for facts in (own, other)
    )
    return Severity.MINOR if supports and leads & others else severity


def _is_treated(observed: FindingFact) -> bool:
    return observed.id is not None and findings()[observed.id].treated


def _turned(observed: FindingFact, reference: Facts) -> Severity:
    """Severity of denying what is there, or affirming what is not; worst is invasion in situ."""
    if observed.id == "invasion" and observed.place is None:
        in_situ = any(d.behaviour == Behaviour.IN_SITU for d in reference.first)
        return Severity.CRITICAL if in_situ else Severity.MAJOR
    if observed.id in _OF_DEGREE:
        return Severity.MODERATE
    return Severity(min(4, importance(observed) + 1))


def _complete(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors
) -> ComparedPart:
    """Completeness after omissions and reversals; only a finding can reverse a finding."""
    ref = _once(reference.findings)
    if not ref:
        return NOT_MENTIONED
    cand, mentioned = _once(candidate.findings), _once(candidate.mentioned)
    omitted = reversed_ = 0.0
    matched, mistakes = [], []
    for finding in ref:
        near, best = _nearest(finding, cand, alike)
        if best is None or near < _SAME:
            near, best = _nearest(
                finding, [m for m in mentioned if m.denied == finding.denied], alike
            )
        if (best is None or near < _SAME) and _stands(finding, candidate.stated):
            continue
        if best is None or near < _SAME:
            severity = (
                Severity.MINOR if finding.denied else _severity(finding, reference, candidate)
            )
            mistakes.append(_mistake(ErrorKind.OMISSION, severity, finding, None))
            if not ignored(mistakes[-1]):
                omitted += _OMITTED[importance(finding)] * (_DENIAL if finding.denied else 1)
        elif best.denied != finding.denied:
            severity = _turned(finding, reference)
            mistakes.append(_mistake(ErrorKind.CONTRADICTION, severity, finding, best))
            if not ignored(mistakes[-1]):
                reversed_ += _REVERSED[importance(finding)]
        else:
            omitted += _OMITTED[importance(finding)] * (1 - near)
            matched.append(EntityMatch("findings", finding.entity, best.entity, near))
    cost = min(_MAX_COST, omitted) + reversed_
    return ComparedPart(max(0.0, 1 - cost), tuple(matched), tuple(mistakes))


def _mistake(
    kind: ErrorKind, severity: Severity, ref: FindingFact | None, cand: FindingFact | None
) -> ReportError:
    entities = ref.entity if ref else None, cand.entity if cand else None
    called = ref.called if ref else "", cand.called if cand else ""
    return ReportError(kind, "findings", severity, *entities, *called)


def _sound(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors
) -> ComparedPart:
    """Soundness after inventions; most of the cost if the reference denies them."""
    affirmed = [finding for finding in _once(candidate.findings) if not finding.denied]
    if not affirmed:
        return NOT_MENTIONED
    ref = _once(reference.mentioned)
    if any(diagnosis.behaviour == Behaviour.MALIGNANT for diagnosis in reference.made):
        affirmed = [finding for finding in affirmed if finding.id != _OF_CANCER]
    cost = 0.0
    mistakes = []
    for finding in affirmed:
        near, best = _nearest(finding, ref, alike)
        invented = _mistake(
            ErrorKind.INVENTION, _severity(finding, candidate, reference), None, finding
        )
        if best is not None and near >= _VERY and best.denied:
            cost += 0.0 if ignored(invented) else _INVENTED[importance(finding)]
        elif (best is None or near < _SAME) and not _stands(finding, reference.stated):
            cost += 0.0 if ignored(invented) else _INVENTED[importance(finding)]
            mistakes.append(invented)
    return ComparedPart(1 - min(_MAX_COST, cost), (), tuple(mistakes))

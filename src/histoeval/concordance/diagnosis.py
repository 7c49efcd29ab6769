"""The leading diagnosis: is it the same, how close is it, and does it behave alike?"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from histoeval.concordance.diagnosis_errors import (
    HEDGE,
    MATCHED,
    SAME,
    behaviour_agreement,
    mistake_of,
    severity_of,
)
from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.concordance.spread import Near, best_of, compare_spread
from histoeval.facts.diagnoses import (
    Diagnosis,
    goes_without_saying,
    is_dysplasia,
    names_only_spread,
)
from histoeval.facts.facts import Facts
from histoeval.facts.spread import speaks_of_tumour, states_spread
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, closeness, diagnosis_tree
from histoeval.terms.naming import arises_in, refine, without_site
from histoeval.terms.plain import plain
from histoeval.terms.spelling import respelt

# How alike two phrases are, from 0 to 1, for words that the catalogue does not know
Alike = Callable[[str, str], float]

_NOTHING = {
    Behaviour.MALIGNANT: 0.0,
    Behaviour.IN_SITU: 0.1,
    Behaviour.BORDERLINE: 0.2,
    Behaviour.UNSPECIFIED: 0.3,
}
# How well a behaviour agrees with a report that found nothing, or mentions nothing
_NOTHING_HARMLESS = 0.6
_MORE_EXACT = 0.9  # what a diagnosis counts for that is of the kind that is true, and says more
# What of a specific diagnosis an umbrella word that is nearly as exact still says
_DEPTH_OF_DETAIL = 0.6


@dataclass(frozen=True, slots=True)
class Diagnoses:
    """The parts that are compared of the diagnoses."""

    identity: ComparedPart
    behaviour: ComparedPart
    spread: ComparedPart
    completeness: ComparedPart  # how much of the reference's diagnoses the candidate has
    soundness: ComparedPart  # how much of the candidate's diagnoses the reference has


def compare_diagnoses(
    reference: Facts, candidate: Facts, alike: Alike, ignored: IgnoredErrors
) -> Diagnoses:
    """All parts that concern the diagnoses."""

    def near(ref: Diagnosis, cand: Diagnosis) -> float:
        """Closeness that may differ by which of the two is the reference."""
        if ignored.between("diagnosis", ref.entity, cand.entity):
            return 1.0
        return diagnosis_closeness(ref, cand, alike)

    return Diagnoses(
        _identity(reference, candidate, near, ignored),
        _behaviour(reference, candidate, near, ignored),
        compare_spread(reference, candidate, near, ignored),
        _covered(reference, candidate, near, ErrorKind.OMISSION, ignored),
        # Seen from the candidate, the reference is still the first of the two
        _covered(candidate, reference, lambda c, r: near(r, c), ErrorKind.INVENTION, ignored),
    )


def without_implied(reference: Facts, candidate: Facts) -> tuple[Facts, Facts]:
    """Both reports without dysplasia that a diagnosis implies, where only one speaks of it."""
    if all(any(map(is_dysplasia, facts.made)) for facts in (reference, candidate)):
        return reference, candidate
    return _without_implied(reference), _without_implied(candidate)


def _without_implied(facts: Facts) -> Facts:
    implied = [d for d in facts.made if goes_without_saying(d, facts.made)]
    if not implied:
        return facts
    ids = set(map(id, implied))
    spans = [(d.entity.start, d.entity.end) for d in implied]
    return replace(
        facts,
        diagnoses=tuple(d for d in facts.diagnoses if id(d) not in ids),
        others=tuple(d for d in facts.others if id(d) not in ids),
        made=tuple(d for d in facts.made if id(d) not in ids),
        grades=tuple(
            grade
            for grade in facts.grades
            if not any(start <= grade.entity.start < end for start, end in spans)
        ),
    )


def diagnosis_closeness(reference: Diagnosis, candidate: Diagnosis, alike: Alike) -> float:
    """Share of a diagnosis that the candidate's says; a hedge on one side only takes a quarter."""
    near = _closeness(reference, candidate, alike)
    return near * HEDGE if reference.hedged != candidate.hedged else near


def _closeness(reference: Diagnosis, candidate: Diagnosis, alike: Alike) -> float:
    if plain(respelt(reference.entity.text)) == plain(respelt(candidate.entity.text)):
        return 1.0
    ref_concept, cand_concept = reference.concept, candidate.concept
    if ref_concept is None or cand_concept is None:
        return alike(reference.entity.text, candidate.entity.text)
    primaries = reference.primary or ref_concept, candidate.primary or cand_concept
    bare = (
        reference.concept_without_context or ref_concept,
        candidate.concept_without_context or cand_concept,
    )
    tree = diagnosis_tree()
    same_sites = bool(ref_concept.organs & cand_concept.organs) or not (
        ref_concept.organs and cand_concept.organs
    )
    if bare[0] == bare[1] and same_sites and not tree.are_kin(ref_concept.id, cand_concept.id):
        # A mole that is complete and one that is partial are both moles by name alone
        bare = ref_concept, cand_concept
    return max(
        _concept_closeness(ref_concept, cand_concept),
        _concept_closeness(*bare),
        _concept_closeness(*primaries) if reference.spread and candidate.spread else 0.0,
    )


def _concept_closeness(ref: Concept, cand: Concept) -> float:
    """Closeness of concepts; an umbrella word says the less, the wider it is.

    A diagnosis, and what it is called at a site, are the same: the site is compared by itself.
    """
    if not (ref.generic or cand.generic) and cand in (refine(ref, cand.organs), ref):
        return 1.0
    plain_ref, plain_cand = without_site(ref), without_site(cand)
    if (plain_ref, plain_cand) != (ref, cand) and arises_in(ref, cand.organs):
        pairs = (ref, cand), (plain_ref, cand), (ref, plain_cand)
        return max(
            _kin_closeness(first, second)
            for first, second in pairs
            if first.generic == ref.generic and second.generic == cand.generic
        )
    return _kin_closeness(ref, cand)


def _kin_closeness(ref: Concept, cand: Concept) -> float:
    """Closeness by what is a kind of what."""
    tree = diagnosis_tree()
    if ref.id != cand.id and tree.is_a(ref.id, cand.id):
        detail = tree.depth(cand.id) / tree.depth(ref.id)
        return min(closeness(ref, cand), 0.25 + _DEPTH_OF_DETAIL * detail)
    if ref.id != cand.id and tree.is_a(cand.id, ref.id) and ref.behaviour == cand.behaviour:
        return max(closeness(ref, cand), _MORE_EXACT)
    return closeness(ref, cand)


def _identity(
    reference: Facts, candidate: Facts, near: Near, ignored: IgnoredErrors
) -> ComparedPart:
    """Nearness of the leading diagnoses: of the first ones, and of those next to them."""
    if not reference.diagnoses and not candidate.diagnoses:
        return ComparedPart(_both_silent(reference, candidate))
    is_ignored = _is_one_ignored(reference, candidate, ignored)
    alone = float(is_ignored or _is_all_spread_stated(reference, candidate))
    first = max((near(r, c) for r in reference.first for c in candidate.first), default=alone)
    leading = max((near(r, c) for r in reference.leading for c in candidate.leading), default=alone)
    if _is_entailed(reference, ignored):
        first = 1.0
    matched, mistakes = [], []
    pairs = _paired(reference, candidate, near)
    for ref, cand, value in pairs:
        if cand is not None and value >= MATCHED:
            matched.append(EntityMatch("diagnosis", ref.entity, cand.entity, value))
        if value < SAME and not (value < MATCHED and _is_said(ref, cand, reference, candidate)):
            if cand is None:
                omitted = ReportError.one_sided(
                    ErrorKind.OMISSION, "diagnosis", _severity(ref, candidate), ref.entity
                )
                mistakes.append(omitted)
                continue
            right = any(other is not ref and worth >= SAME for other, _, worth in pairs)
            right = right and not all(
                diagnosis is min(facts.leading, key=lambda leader: leader.entity.start)
                for diagnosis, facts in ((ref, reference), (cand, candidate))
            )
            mistakes.append(mistake_of(ref, cand, value, right))
    return ComparedPart((first + leading) / 2, tuple(matched), tuple(mistakes))


def _paired(
    reference: Facts, candidate: Facts, near: Near
) -> list[tuple[Diagnosis, Diagnosis | None, float]]:
    """Each leading diagnosis of the reference with the candidate's that is meant for it.

    What is near goes together, the nearest first; then what else the candidate says; then those
    that are left over, one by one: they were put in each other's place.
    """
    refs, free = list(reference.leading), list(candidate.leading)
    found: dict[int, tuple[Diagnosis | None, float]] = {}
    values = sorted(
        ((near(r, c), -i, -j) for i, r in enumerate(refs) for j, c in enumerate(free)), reverse=True
    )
    taken: set[int] = set()
    for value, i, j in values:
        if value >= MATCHED and -i not in found and -j not in taken:
            found[-i] = free[-j], value
            taken.add(-j)
    beside = (*candidate.leading, *candidate.diagnoses, *candidate.others)
    for i, ref in enumerate(refs):
        value, cand = best_of(ref, beside, near)
        if i not in found and value >= MATCHED:
            found[i] = cand, value
    left = [c for j, c in enumerate(free) if j not in taken]
    for i, ref in sorted(enumerate(refs), key=lambda item: _vagueness(item[1])):
        if i not in found:
            least = min(map(_vagueness, left), default=0)
            value, cand = best_of(ref, [c for c in left if _vagueness(c) == least], near)
            found[i] = cand, value
            left = [c for c in left if c is not cand]
    return [(ref, *found[i]) for i, ref in enumerate(refs)]


def _vagueness(diagnosis: Diagnosis) -> int:
    """0 for a diagnosis that says what there is, more for an umbrella word or an unknown phrase."""
    return 2 if diagnosis.concept is None else int(diagnosis.concept.generic)


def _is_said(ref: Diagnosis, cand: Diagnosis | None, reference: Facts, candidate: Facts) -> bool:
    if _is_spread_stated(ref, candidate):
        return True
    is_in_candidate = candidate.stated.has_words(ref.entity.text) and ref.behaviour in HARMLESS
    is_in_reference = cand is None or reference.stated.has_words(cand.entity.text)
    return is_in_candidate and is_in_reference


def _is_all_spread_stated(reference: Facts, candidate: Facts) -> bool:
    """True if one report names nothing but spread, and the other tells of it in other words."""
    for first, second in ((reference, candidate), (candidate, reference)):
        if (
            first.first
            and not second.diagnoses
            and all(_is_spread_stated(diagnosis, second) for diagnosis in first.first)
        ):
            return True
    return False


def _is_entailed(reference: Facts, ignored: IgnoredErrors) -> bool:
    """True if the candidate says the first diagnosis in words that name another, or none."""
    return any(
        ignored.between("diagnosis", diagnosis.entity, None) for diagnosis in reference.first
    )


def _is_one_ignored(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> bool:
    """True if only one report makes a diagnosis, and that is not to count."""
    return _is_entailed(reference, ignored) or any(
        ignored.between("diagnosis", None, diagnosis.entity) for diagnosis in candidate.first
    )


def _both_silent(reference: Facts, candidate: Facts) -> float | None:
    """Neither names a diagnosis: the same if both found nothing."""
    if reference.nothing_found and candidate.nothing_found:
        return 1.0
    return None if not reference.nothing_found and not candidate.nothing_found else 0.5


def _behaviour(
    reference: Facts, candidate: Facts, near: Near, ignored: IgnoredErrors
) -> ComparedPart:
    """Benign or malignant, invasive or in situ, of the leading diagnoses."""
    if reference.diagnoses and candidate.diagnoses:
        if _is_entailed(reference, ignored):
            return ComparedPart(1.0)
        return ComparedPart(
            max(
                1.0
                if ignored.between("diagnosis", r.entity, c.entity)
                else _behave_alike(r, c, near)
                for r in reference.first
                for c in candidate.first
            )
        )
    named = reference.first or candidate.first
    if not named:
        return ComparedPart(_both_silent(reference, candidate))
    if _is_one_ignored(reference, candidate, ignored):
        return ComparedPart(1.0)
    return ComparedPart(_NOTHING.get(named[0].behaviour, _NOTHING_HARMLESS))


def _behave_alike(ref: Diagnosis, cand: Diagnosis, near: Near) -> float:
    """Agreement of behaviours; an unknown phrase behaves as one that reads the same."""
    hedge = HEDGE if ref.hedged != cand.hedged else 1.0
    if (ref.concept is None or cand.concept is None) and near(ref, cand) >= SAME * hedge:
        return hedge
    return behaviour_agreement(ref.behaviour, cand.behaviour) * hedge


def _covered(
    one: Facts, other: Facts, near: Near, kind: ErrorKind, ignored: IgnoredErrors
) -> ComparedPart:
    """Share of the diagnoses of one report that the other has too, each weighted by its rank."""
    if not one.diagnoses:
        return NOT_MENTIONED
    there = (*other.diagnoses, *other.others)
    values: list[float] = []
    missed: list[ReportError] = []
    contradicted: list[ReportError] = []
    for diagnosis in one.diagnoses:
        missing = ReportError.one_sided(
            kind, "diagnosis", _severity(diagnosis, other), diagnosis.entity
        )
        value, nearest = best_of(diagnosis, there, near)
        if ignored(missing) or _is_spread_stated(diagnosis, other):
            value = 1.0
        values.append(value)
        # A malignancy that has nothing in the other report but what precedes it is missing, too
        is_worse = (
            diagnosis.behaviour == Behaviour.MALIGNANT
            and not diagnosis.hedged
            and nearest is not None
            and nearest.behaviour in (Behaviour.IN_SITU, Behaviour.BORDERLINE, *HARMLESS)
        )
        if value < MATCHED or (value < SAME and is_worse):
            missed.append(missing)
        for denied in other.denied:
            if not diagnosis.hedged and value < SAME and near(diagnosis, denied) >= SAME:
                pair = diagnosis.entity, denied.entity
                entities = pair if kind == ErrorKind.OMISSION else pair[::-1]
                severity = severity_of(diagnosis)
                contradicted.append(
                    ReportError(ErrorKind.CONTRADICTION, "diagnosis", severity, *entities)
                )
    weights = [1.0 + diagnosis.rank for diagnosis in one.diagnoses]
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    return ComparedPart(mean, (), (*missed, *contradicted))


def _is_spread_stated(deposit: Diagnosis, facts: Facts) -> bool:
    """True if the other report tells of spread in other words: two of nine nodes are positive."""
    return names_only_spread(deposit) and states_spread(facts.stated.text)


def _severity(diagnosis: Diagnosis, other: Facts) -> Severity:
    """Severity of omitting this diagnosis; lower if the report still mentions a tumour."""
    severity = severity_of(diagnosis)
    if other.nothing_found and severity == Severity.MODERATE and diagnosis.known:
        return Severity.MODERATE if diagnosis.behaviour == Behaviour.BENIGN else Severity.MAJOR
    vague = all(diagnosis_made.behaviour == Behaviour.UNSPECIFIED for diagnosis_made in other.made)
    unsaid = diagnosis.heads or speaks_of_tumour(other.stated.text)
    if not vague or other.nothing_found or not unsaid:
        return severity
    return min(severity, Severity.MODERATE)

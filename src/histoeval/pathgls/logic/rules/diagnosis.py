"""Rule: one lesion by two names that exclude each other."""

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import combinations, product
from typing import NamedTuple

from histoeval.pathgls.logic.contradiction import clash
from histoeval.pathgls.logic.diagnosis_mentions import DiagnosisMention
from histoeval.pathgls.logic.lexicon import DIAGNOSIS, listed
from histoeval.pathgls.logic.rules.organ import are_far, is_organ
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import Contradiction
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, diagnosis_tree
from histoeval.terms.naming import find_diagnoses
from histoeval.terms.sites import find_sites, organ_of

_METASTATIC = "metastatic_neoplasm"
_TUMOUR = frozenset({Behaviour.MALIGNANT, Behaviour.BENIGN, Behaviour.BORDERLINE})


def diagnosis(specimen: Specimen) -> Iterator[Contradiction]:
    """A lesion that has one name at the head, and another one where the report returns to it.

    Names that stood there before, in whatever role, are no new ones: a carcinoma that arose in an
    adenoma may come with "the adenoma".
    """
    if not specimen.is_of_one_kind:
        return
    named = [each for each in specimen.names if not _is_of_another_organ(each, specimen)]
    for one, other in combinations(named, 2):
        later = other.settled and one.passage != other.passage
        exclusive = later and are_exclusive(one.concept, other.concept)
        if exclusive and not _was_named(other, one, specimen):
            why = f"{one.span.text} and {other.span.text} exclude each other"
            yield clash("diagnosis", one, other, why)


def _was_named(later: DiagnosisMention, first: DiagnosisMention, specimen: Specimen) -> bool:
    """Whether a sentence before it has such a name, in whatever role, or one nearly as specific."""
    before = {
        match.id
        for passage in specimen.passages
        if passage.start < later.passage.start
        for match in find_diagnoses(passage.text)
    }
    tree, id_ = diagnosis_tree(), later.concept.id
    kinds = any(tree.is_a(known, id_) for known in before)
    specific = before - listed("umbrellas") - tree.ancestors(first.concept.id).keys()
    return kinds or any(tree.is_a(id_, known) for known in specific)


def _is_of_another_organ(named: DiagnosisMention, specimen: Specimen) -> bool:
    """Whether its sentence names organs, and none of those that were sent."""
    sent = {organ_of(site) for site in specimen.sites_sent if is_organ(site)}
    here = {organ_of(match.id) for match in find_sites(named.passage.text) if is_organ(match.id)}
    return bool(sent) and bool(here) and all(are_far(a, b) for a, b in product(here, sent))


class _Family(NamedTuple):
    name: str
    diagnoses: tuple[str, ...]
    alike: frozenset[str]


@cache
def _families() -> tuple[_Family, ...]:
    return tuple(
        _Family(row["name"], tuple(row["diagnoses"]), frozenset(row["alike"]))
        for row in DIAGNOSIS.entry("family")
    )


@cache
def _family_of(id_: str) -> _Family | None:
    ancestors = diagnosis_tree().ancestors(id_)
    return next(
        (each for each in _families() if not ancestors.keys().isdisjoint(each.diagnoses)), None
    )


@lru_cache(maxsize=1 << 12)
def are_exclusive(one: Concept, other: Concept) -> bool:
    """Whether one lesion cannot be both."""
    graver = (one.behaviour in HARMLESS) != (other.behaviour in HARMLESS)
    loose = not graver and bool({one.id, other.id} & DIAGNOSIS.ids("siblings", "loose"))
    if diagnosis_tree().are_kin(one.id, other.id) or loose or _is_stage(one, other):
        return False
    return _are_listed(one, other) or _are_of_two_families(one, other) or _are_siblings(one, other)


def _is_stage(one: Concept, other: Concept) -> bool:
    """Whether one is the earlier stage of the other, and no more benign than that."""
    return any(
        early.behaviour == Behaviour.IN_SITU
        and early.precursor_of is not None
        and diagnosis_tree().are_kin(early.precursor_of, late.id)
        for early, late in ((one, other), (other, one))
    )


def _are_listed(one: Concept, other: Concept) -> bool:
    tree = diagnosis_tree()
    for row in DIAGNOSIS.entry("one_of"):
        first = {id_ for id_ in row["diagnoses"] if tree.is_a(one.id, id_)}
        second = {id_ for id_ in row["diagnoses"] if tree.is_a(other.id, id_)}
        if first and second and not first & second:
            return True
    return False


def _are_of_two_families(one: Concept, other: Concept) -> bool:
    if one.behaviour not in _TUMOUR or other.behaviour not in _TUMOUR:
        return False
    first, second = _family_of(one.id), _family_of(other.id)
    if first is None or second is None or first == second:
        return False
    return second.name not in first.alike or (one.behaviour in HARMLESS) != (
        other.behaviour in HARMLESS
    )


def _are_siblings(one: Concept, other: Concept) -> bool:
    """Whether two lie under one kind by different children of it, and are no umbrella words."""
    tree = diagnosis_tree()
    unclear = (
        each.generic or each.behaviour == Behaviour.IN_SITU or tree.is_a(each.id, _METASTATIC)
        for each in (one, other)
    )
    if any(unclear):
        return False
    for root in DIAGNOSIS.entry("siblings", "under"):
        first, second = (
            {child for child in tree.children(root) if tree.is_a(each.id, child)}
            for each in (one, other)
        )
        if first and second and not first & second:
            return True
    return False

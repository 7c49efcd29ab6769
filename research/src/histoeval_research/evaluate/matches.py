"""What two readings of the same passage share, counted.

Exact matches follow seqeval: an entity is a type and a span, a passage has a set of them, and
what is in both sets is shared. Counts of passages add up to counts of corpora, and every F1 is
worked out from such sums. Both verbs that compare readings, of two annotators and of a reader
with the truth, stand on this.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from operator import add

import numpy as np

from histoeval.evaluate.estimates import Counts
from histoeval.report import (
    HARE_TYPES,
    RELATION_TYPES,
    Assertion,
    Entity,
    EntityType,
    Relation,
    Report,
)

Key = tuple[EntityType, int, int]
Link = tuple[Key, Key]

ASSERTED = (EntityType.DIAGNOSIS, EntityType.FINDING)
"""The types of which a report says whether they are there."""

HARE_FOLD: Mapping[EntityType, EntityType] = {kind: kind for kind in HARE_TYPES} | {
    EntityType.GRADE: EntityType.DESCRIPTOR
}
"""What our types are in the paper's five: its descriptor is ours and grade together."""

PAIRS = tuple("-".join(kinds) for kinds in sorted(RELATION_TYPES))
"""The names of the relations, by the types they link."""


@dataclass(frozen=True, slots=True)
class Matches:
    """How many things each side has, and how many of each the other side has too.

    Where one side is the truth, it is `one`. Of spans that only overlap, several on one side may
    meet a single one on the other, so what is shared is counted on both sides.
    """

    one: int = 0
    other: int = 0
    shared_one: int = 0
    shared_other: int = 0

    def __add__(self, more: Matches) -> Matches:
        return Matches(*map(add, self.counts, more.counts))

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The four numbers, for arrays."""
        return self.one, self.other, self.shared_one, self.shared_other

    @property
    def f1(self) -> float:
        """The harmonic mean of both shares; 0 where nothing is shared."""
        return float(rates(np.array(self.counts, dtype=float))[2])


NONE = Matches()
"""Neither side has anything."""

Tally = dict[str, Matches]
"""Matches by the kind of thing: a type, a relation, an assertion."""


def rates(counts: Counts) -> Counts:
    """Precision, recall and F1 on the last axis, from the four counts of `Matches` there.

    A share of nothing is 0, as in seqeval.
    """
    one, other, shared_one, shared_other = np.moveaxis(counts, -1, 0)
    precision = shared_other / np.maximum(other, 1)
    recall = shared_one / np.maximum(one, 1)
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1)
    return np.stack([precision, recall, f1], axis=-1)


def total(tally: Tally) -> Matches:
    """All kinds of a tally together."""
    return sum(tally.values(), NONE)


def merge(one: Tally, other: Tally) -> Tally:
    """Two tallies of the same kinds, added up."""
    return {kind: one.get(kind, NONE) + other[kind] for kind in other}


def exact_matches(one: Report, other: Report) -> Tally:
    """Entities of each type with the same span."""
    return _by_type(entity_keys(one), entity_keys(other), EntityType)


def hare_matches(one: Report, other: Report) -> Tally:
    """The same for the paper's five types; each has the name of ours that stands for it."""
    kinds = sorted(set(HARE_FOLD.values()))
    return _by_type(_folded(entity_keys(one)), _folded(entity_keys(other)), kinds)


def overlap_matches(one: Report, other: Report) -> Tally:
    """Entities of each type that share a character with one of the same type."""
    mine, theirs = entity_keys(one), entity_keys(other)
    return {str(kind): _touching(_of(mine, kind), _of(theirs, kind)) for kind in EntityType}


def relation_matches(one: Report, other: Report) -> Tally:
    """Relations of each kind, both of whose entities have the same types and spans."""
    return _by_pair(relation_keys(one), relation_keys(other))


def relation_matches_between_shared(one: Report, other: Report) -> Tally:
    """The same, of relations between entities that both sides have."""
    shared = entity_keys(one) & entity_keys(other)
    mine, theirs = (
        {link for link in relation_keys(report) if shared.issuperset(link)}
        for report in (one, other)
    )
    return _by_pair(mine, theirs)


def assertion_matches(one: Report, other: Report) -> Tally:
    """Diagnoses and findings that both sides have, by what each says of their assertion.

    Both sides have the same things here, so that precision, recall and F1 of all assertions
    together are one number: the share that is asserted alike.
    """
    mine, theirs = _assertions(one), _assertions(other)
    shared = [key for key in mine.keys() & theirs.keys() if key[0] in ASSERTED]
    return {
        str(assertion): _shared(
            {key for key in shared if mine[key] == assertion},
            {key for key in shared if theirs[key] == assertion},
        )
        for assertion in Assertion
    }


def key_of(entity: Entity) -> Key:
    """What makes an entity the same as another: its type and its place."""
    return entity.type, entity.start, entity.end


def link_of(report: Report, relation: Relation) -> Link:
    """What makes a relation the same as another: its two entities."""
    return key_of(report.entities[relation.head]), key_of(report.entities[relation.tail])


def entity_keys(report: Report) -> set[Key]:
    """The entities of a report, each once."""
    return {key_of(entity) for entity in report.entities}


def relation_keys(report: Report) -> set[Link]:
    """The relations of a report, each once."""
    return {link_of(report, relation) for relation in report.relations}


def _shared(one: Set[Hashable], other: Set[Hashable]) -> Matches:
    shared = len(one & other)
    return Matches(len(one), len(other), shared, shared)


def _by_type(one: Set[Key], other: Set[Key], kinds: Iterable[EntityType]) -> Tally:
    return {str(kind): _shared(_of(one, kind), _of(other, kind)) for kind in kinds}


def _by_pair(one: Set[Link], other: Set[Link]) -> Tally:
    def of(links: Set[Link], pair: str) -> set[Link]:
        """Those that join two types of entities."""
        return {link for link in links if f"{link[0][0]}-{link[1][0]}" == pair}

    return {pair: _shared(of(one, pair), of(other, pair)) for pair in PAIRS}


def _of(keys: Iterable[Key], kind: EntityType) -> set[Key]:
    return {key for key in keys if key[0] == kind}


def _folded(keys: Iterable[Key]) -> set[Key]:
    return {(HARE_FOLD[kind], start, end) for kind, start, end in keys if kind in HARE_FOLD}


def _assertions(report: Report) -> dict[Key, Assertion]:
    return {key_of(entity): entity.assertion for entity in report.entities}


def _touching(one: Set[Key], other: Set[Key]) -> Matches:
    """How many of each side have a character in common with one of the other."""

    def touched(keys: Set[Key], others: Set[Key]) -> int:
        """How many share a character with one of the others."""
        return sum(any(start < e and s < end for _, s, e in others) for _, start, end in keys)

    return Matches(len(one), len(other), touched(one, other), touched(other, one))

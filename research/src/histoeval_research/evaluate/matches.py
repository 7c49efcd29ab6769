"""What two readings of the same passage share, counted.

Exact matches follow seqeval: an entity is a type and a span, a passage has a set of them, and
what is in both sets is shared. Counts of passages add up to counts of corpora, and every F1 is
worked out from such sums. Both verbs that compare readings, of two annotators and of a reader
with the truth, stand on this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from operator import add
from typing import Any

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

# The types of which a report says whether they are there.
ASSERTED = (EntityType.DIAGNOSIS, EntityType.FINDING)

# What our types are in the paper's five: its descriptor is ours and grade together.
HARE_FOLD: Mapping[EntityType, EntityType] = {kind: kind for kind in HARE_TYPES} | {
    EntityType.GRADE: EntityType.DESCRIPTOR
}

# The names of the relations, by the types they link.
PAIRS = tuple("-".join(kinds) for kinds in sorted(RELATION_TYPES))


@dataclass(frozen=True, slots=True)
class Matches:
    """How many things each side has, and how many of each the other side has too."""

    # Where one side is the truth, it is `one`. Of spans that only overlap, several on one side may
    # meet a single one on the other, so what is shared is counted on both sides.

    one: int = 0
    other: int = 0
    shared_one: int = 0
    shared_other: int = 0

    def __add__(self, more: Matches) -> Matches:
        return Matches(*map(add, self.counts, more.counts))

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.one, self.other, self.shared_one, self.shared_other

    @property
    def f1(self) -> float:
        """The harmonic mean of both shares; 0 where nothing is shared."""
        return float(rates(np.array(self.counts, dtype=float))[2])


NONE = Matches()  # neither side has anything

Tally = dict[str, Matches]  # matches by the kind of thing: a type, a relation, an assertion


def rates(counts: Counts) -> Counts:
    """Precision, recall and F1 on the last axis, from the four counts of `Matches` there."""
    # A share of nothing is 0, as in seqeval.
    one, other, shared_one, shared_other = np.moveaxis(counts, -1, 0)
    precision = shared_other / np.maximum(other, 1)
    recall = shared_one / np.maximum(one, 1)
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1)
    return np.stack([precision, recall, f1], axis=-1)


def total(tally: Tally) -> Matches:
    return sum(tally.values(), NONE)


def merge(one: Tally, other: Tally) -> Tally:
    return {kind: one.get(kind, NONE) + other[kind] for kind in other}


def key_of(entity: Entity) -> Key:
    return entity.type, entity.start, entity.end


def link_of(report: Report, relation: Relation) -> Link:
    return key_of(report.entities[relation.head]), key_of(report.entities[relation.tail])


def entity_keys(report: Report) -> set[Key]:
    return {key_of(entity) for entity in report.entities}


def relation_keys(report: Report) -> set[Link]:
    return {link_of(report, relation) for relation in report.relations}


def _tally(
    one: Set[Any], other: Set[Any], kinds: Iterable[str], kind_of: Callable[[Any], str]
) -> Tally:
    tally = {}
    for kind in kinds:
        mine, theirs = ({key for key in keys if kind_of(key) == kind} for keys in (one, other))
        shared = len(mine & theirs)
        tally[str(kind)] = Matches(len(mine), len(theirs), shared, shared)
    return tally


def exact_matches(one: Report, other: Report) -> Tally:
    return _tally(entity_keys(one), entity_keys(other), EntityType, lambda key: str(key[0]))


def hare_matches(one: Report, other: Report) -> Tally:
    """The same for the paper's five types; each has the name of ours that stands for it."""
    mine, theirs = (
        {(HARE_FOLD[kind], *span) for kind, *span in entity_keys(report) if kind in HARE_FOLD}
        for report in (one, other)
    )
    return _tally(mine, theirs, sorted(set(HARE_FOLD.values())), lambda key: str(key[0]))


def overlap_matches(one: Report, other: Report) -> Tally:
    def touched(keys: Set[Key], others: Set[Key]) -> int:
        return sum(any(start < e and s < end for _, s, e in others) for _, start, end in keys)

    tally = {}
    for kind in EntityType:
        mine, theirs = (
            {key for key in entity_keys(report) if key[0] == kind} for report in (one, other)
        )
        shared = touched(mine, theirs), touched(theirs, mine)
        tally[str(kind)] = Matches(len(mine), len(theirs), *shared)
    return tally


def relation_matches(one: Report, other: Report, within: set[Key] | None = None) -> Tally:
    """Relations of each kind, both of whose entities have the same types and spans."""
    # Given `within`, only those between these entities are counted.
    mine, theirs = (
        {link for link in relation_keys(report) if within is None or within.issuperset(link)}
        for report in (one, other)
    )
    return _tally(mine, theirs, PAIRS, lambda link: f"{link[0][0]}-{link[1][0]}")


def relation_matches_between_shared(one: Report, other: Report) -> Tally:
    return relation_matches(one, other, entity_keys(one) & entity_keys(other))


def assertion_matches(one: Report, other: Report) -> Tally:
    """Diagnoses and findings that both sides have, by what each says of their assertion."""
    # Both sides have the same things here, so that precision, recall and F1 of all assertions
    # together are one number: the share that is asserted alike.
    mine, theirs = (
        {key_of(entity): entity.assertion for entity in report.entities} for report in (one, other)
    )
    shared = [key for key in mine.keys() & theirs.keys() if key[0] in ASSERTED]
    mine_asserted = {(mine[key], key) for key in shared}
    theirs_asserted = {(theirs[key], key) for key in shared}
    return _tally(mine_asserted, theirs_asserted, Assertion, lambda item: str(item[0]))

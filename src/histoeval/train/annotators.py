"""How far two annotations of the same passages agree.

Exact agreement follows seqeval: an entity is a type and a span, each passage has a set of them,
and F1 is 2 * shared / (one + other), or 0 where there are none. Neither side is the truth, so
precision and recall are left out: they would change places with the annotators.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Set
from dataclasses import dataclass, field

from histoeval.io.corpus import Passage
from histoeval.report import HARE_TYPES, Assertion, Entity, EntityType, Report

Key = tuple[EntityType, int, int]
ASSERTED = (EntityType.DIAGNOSIS, EntityType.FINDING)
"""The types of which a report says whether they are there."""


@dataclass
class Overlap:
    """How many things each side has, and how many of each the other side has too."""

    one: int = 0
    other: int = 0
    shared_one: int = 0
    shared_other: int = 0

    def add(self, one: Set[Hashable], other: Set[Hashable]) -> None:
        """Count two sets and what is in both."""
        shared = len(one & other)
        self.add_counts(len(one), len(other), shared, shared)

    def add_counts(self, one: int, other: int, shared_one: int, shared_other: int) -> None:
        """Count things, and those of each side that the other has too."""
        self.one += one
        self.other += other
        self.shared_one += shared_one
        self.shared_other += shared_other

    @property
    def f1(self) -> float:
        """The harmonic mean of both shares; 0 where nothing is shared."""
        shares = (self.shared_one / (self.one or 1), self.shared_other / (self.other or 1))
        return 2 * shares[0] * shares[1] / sum(shares) if sum(shares) else 0.0


@dataclass
class AnnotatorAgreement:
    """What two annotators agree on.

    `assertion` counts diagnoses and findings that both marked alike: how many, and for how many
    the assertion is the same too. `relations_between_agreed` looks only at relations both of
    whose entities the other side has too, `relations` at all of them.
    """

    passages: int = 0
    only_one: list[str] = field(default_factory=list)
    only_other: list[str] = field(default_factory=list)
    other_text: list[str] = field(default_factory=list)
    exact: dict[EntityType, Overlap] = field(
        default_factory=lambda: {kind: Overlap() for kind in EntityType}
    )
    all_exact: Overlap = field(default_factory=Overlap)
    hare_exact: Overlap = field(default_factory=Overlap)
    overlap: Overlap = field(default_factory=Overlap)
    relations: Overlap = field(default_factory=Overlap)
    relations_between_agreed: Overlap = field(default_factory=Overlap)
    asserted: int = 0
    asserted_alike: int = 0

    @property
    def assertion(self) -> float | None:
        """The share of agreed diagnoses and findings with the same assertion."""
        return self.asserted_alike / self.asserted if self.asserted else None


def annotator_agreement(one: Iterable[Passage], other: Iterable[Passage]) -> AnnotatorAgreement:
    """Compare passages of the same id and text; the others are named and not compared."""
    agreement = AnnotatorAgreement()
    others = {passage.id: passage for passage in other}
    for passage in one:
        match = others.pop(passage.id, None)
        if match is None:
            agreement.only_one.append(passage.id)
        elif match.text != passage.text:
            agreement.other_text.append(passage.id)
        else:
            _compare(agreement, passage.content, match.content)
    agreement.only_other.extend(others)
    return agreement


def _compare(agreement: AnnotatorAgreement, one: Report, other: Report) -> None:
    agreement.passages += 1
    mine, theirs = _assertions(one), _assertions(other)
    shared = mine.keys() & theirs.keys()
    for kind in EntityType:
        agreement.exact[kind].add(_of(mine, {kind}), _of(theirs, {kind}))
    agreement.all_exact.add(mine.keys(), theirs.keys())
    agreement.hare_exact.add(_of(mine, HARE_TYPES), _of(theirs, HARE_TYPES))
    agreement.overlap.add_counts(
        len(mine), len(theirs), _touching(mine, theirs), _touching(theirs, mine)
    )
    asserted = [key for key in shared if key[0] in ASSERTED]
    agreement.asserted += len(asserted)
    agreement.asserted_alike += sum(mine[key] == theirs[key] for key in asserted)
    links, their_links = _links(one), _links(other)
    agreement.relations.add(links, their_links)
    agreement.relations_between_agreed.add(
        {link for link in links if shared.issuperset(link)},
        {link for link in their_links if shared.issuperset(link)},
    )


def _key(entity: Entity) -> Key:
    return entity.type, entity.start, entity.end


def _assertions(report: Report) -> dict[Key, Assertion]:
    return {_key(entity): entity.assertion for entity in report.entities}


def _of(keys: Iterable[Key], kinds: Set[EntityType]) -> set[Key]:
    return {key for key in keys if key[0] in kinds}


def _links(report: Report) -> set[tuple[Key, Key]]:
    entities = report.entities
    return {(_key(entities[r.head]), _key(entities[r.tail])) for r in report.relations}


def _touching(keys: Iterable[Key], others: Iterable[Key]) -> int:
    """How many have a character in common with one of the same type on the other side."""
    there = list(others)
    return sum(
        any(kind == k and start < e and s < end for k, s, e in there) for kind, start, end in keys
    )

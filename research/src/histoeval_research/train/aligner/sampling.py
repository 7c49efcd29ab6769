"""Concepts as arrays: tokens of all names, and pairs drawn from them without a loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from histoeval_research.train.aligner.names import ConceptPool

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Encode = Callable[[Sequence[str]], list[list[int]]]
Beside = Callable[[str], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of numbers, one after the other: the n-th is `values[starts[n]:starts[n + 1]]`."""

    starts: Integers
    values: Integers

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Lists:
        """The lists, put behind one another."""
        kept = [np.asarray(each, dtype=np.int64) for each in lists]
        starts = np.cumsum([0, *map(len, kept)])
        return cls(starts, np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64))

    @property
    def lengths(self) -> Integers:
        """How long each list is."""
        return np.diff(self.starts)

    def pick(self, rows: Integers, chance: Floats) -> Integers:
        """One number of each of these lists, none of which may be empty."""
        lengths = self.lengths[rows]
        return self.values[self.starts[rows] + (chance * lengths).astype(np.int64)]

    def padded(self, width: int, padding: int) -> NDArray[np.int32]:
        """The lists as rows of a table; longer ones are cut."""
        table = np.full((len(self.starts) - 1, width), padding, dtype=np.int32)
        lengths = self.lengths
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.arange(len(self.values)) - np.repeat(self.starts[:-1], lengths)
        kept = columns < width
        table[rows[kept], columns[kept]] = self.values[kept]
        return table


@dataclass(frozen=True, slots=True)
class NameSampler:
    """What an aligner learns from. Names of a concept stand together, its own before variants."""

    tokens: Lists
    """Of each name."""
    first: Integers
    """The first name of each concept, and the end of all."""
    own: Integers
    """How many of a concept's names are no variants."""
    weight: Floats
    opposites: Lists
    groups: Lists
    """The groups of each concept, and below the concepts of each group."""
    members: Lists
    allies: Lists
    """Concepts that share a name with each concept."""
    beside: NDArray[np.int8]
    """What the channel says of each name, in hundredths; no columns if there is no channel."""


def phrases_of(
    pool: ConceptPool, encode: Encode, longest: int | None = None, beside: Beside | None = None
) -> NameSampler:
    """The arrays of a pool; `encode` gives the tokens of each of some names, `beside` the channel.

    Names of more tokens than `longest` are skipped where a concept has others.
    """
    names = iter(encode([name for concept in pool.concepts for name in concept.names]))
    variants = iter(encode([name for concept in pool.concepts for name in concept.variants]))
    tokens, texts, first, own = list[list[int]](), list[str](), [0], list[int]()
    for concept in pool.concepts:
        ours = _not_too_long(concept.names, [*islice(names, len(concept.names))], longest)
        tokens += [*(found for _, found in ours), *islice(variants, len(concept.variants))]
        texts += [*(name for name, _ in ours), *concept.variants]
        first.append(len(tokens))
        own.append(len(ours))
    allies: list[list[int]] = [[] for _ in pool.concepts]
    for one, other in sorted(pool.allied):
        allies[one].append(other)
        allies[other].append(one)
    groups = {name: number for number, name in enumerate(sorted(_groups(pool)))}
    members: list[list[int]] = [[] for _ in groups]
    kinds = [[groups[name] for name in sorted(c.groups)] for c in pool.concepts]
    for place, numbers in enumerate(kinds):
        for number in numbers:
            members[number].append(place)
    return NameSampler(
        tokens=Lists.of(tokens),
        first=np.array(first),
        own=np.array(own),
        weight=np.array([concept.weight for concept in pool.concepts]),
        opposites=Lists.of(sorted(concept.opposites) for concept in pool.concepts),
        groups=Lists.of(kinds),
        members=Lists.of(members),
        allies=Lists.of(allies),
        beside=_in_hundredths(texts, beside),
    )


def _not_too_long(
    names: Sequence[str], tokens: Sequence[list[int]], longest: int | None
) -> list[tuple[str, list[int]]]:
    both = list(zip(names, tokens, strict=True))
    return [one for one in both if longest is None or len(one[1]) <= longest] or both[:1]


def _in_hundredths(texts: Sequence[str], beside: Beside | None) -> NDArray[np.int8]:
    if beside is None:
        return np.zeros((len(texts), 0), dtype=np.int8)
    return np.stack([np.round(beside(text) * 100).astype(np.int8) for text in texts])


def _groups(pool: ConceptPool) -> set[str]:
    return {name for concept in pool.concepts for name in concept.groups}


@dataclass(frozen=True, slots=True)
class Draws:
    """Names to learn from at once: two of each of two concepts that are easily mistaken."""

    names: Integers
    """Of shape (draws, 4): two names of one concept and two of the other."""
    labels: Integers
    """Of shape (draws, 2)."""


def draw(
    phrases: NameSampler,
    size: int,
    seed: Sequence[int],
    *,
    opposite: float,
    sibling: float,
    own: float,
) -> Draws:
    """Pairs of names by chance.

    A concept is drawn by its weight. The second one is an opposite or a sibling of it in these
    shares, where it has any, and any other concept else. `own` is the share of pairs of two names
    that are no variants.
    """
    chance = np.random.default_rng(seed)
    one = _concepts(phrases, size, chance)
    two = _concepts(phrases, size, chance)
    lot = chance.random(size)
    has_sibling = phrases.groups.lengths[one] > 0
    beside = has_sibling & (lot >= opposite) & (lot < opposite + sibling)
    group = phrases.groups.pick(one[beside], chance.random(beside.sum()))
    two[beside] = phrases.members.pick(group, chance.random(beside.sum()))
    against = (phrases.opposites.lengths[one] > 0) & (lot < opposite)
    two[against] = phrases.opposites.pick(one[against], chance.random(against.sum()))
    names = [_two_names(phrases, concepts, chance, own) for concepts in (one, two)]
    return Draws(np.concatenate(names, axis=1), np.stack([one, two], axis=1))


def _concepts(phrases: NameSampler, size: int, chance: np.random.Generator) -> Integers:
    ends = np.cumsum(phrases.weight)
    found: Integers = np.searchsorted(ends, chance.random(size) * ends[-1], side="right")
    return found


def _two_names(
    phrases: NameSampler, concepts: Integers, chance: np.random.Generator, share: float
) -> Integers:
    """A name of each concept's own and another one; the same again where there is no other."""
    size = len(concepts)
    own = phrases.own[concepts]
    every = phrases.first[concepts + 1] - phrases.first[concepts]
    first = (chance.random(size) * own).astype(np.int64)
    among = np.where((chance.random(size) < share) & (own > 1), own, every)
    second = (chance.random(size) * np.maximum(among - 1, 1)).astype(np.int64)
    second = np.where(among > 1, second + (second >= first), 0)
    return np.stack([first, second], axis=1) + phrases.first[concepts][:, None]


def allied_pairs(phrases: NameSampler, labels: Integers) -> Integers:
    """Pairs of places in `labels` whose concepts share a name: these are not taught apart."""
    places: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        places.setdefault(label, []).append(place)
    starts, values = phrases.allies.starts, phrases.allies.values
    found = [
        (one, other)
        for label, ones in places.items()
        for ally in values[starts[label] : starts[label + 1]].tolist()
        if ally in places
        for one in ones
        for other in places[ally]
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)

"""Concepts as arrays: tokens of all names, and pairs drawn from them without a loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

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
        arrays = [np.asarray(numbers, dtype=np.int64) for numbers in lists]
        starts = np.cumsum([0, *map(len, arrays)])
        return cls(starts, np.concatenate([np.zeros(0, dtype=np.int64), *arrays]))

    @property
    def lengths(self) -> Integers:
        return np.diff(self.starts)

    def pick(self, rows: Integers, chance: Floats) -> Integers:
        """One number of each of these lists, none of which may be empty."""
        return self.values[self.starts[rows] + (chance * self.lengths[rows]).astype(np.int64)]

    def padded(self, width: int, padding: int) -> NDArray[np.int32]:
        table = np.full((len(self.starts) - 1, width), padding, dtype=np.int32)
        lengths = self.lengths
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.arange(len(self.values)) - np.repeat(self.starts[:-1], lengths)
        is_shown = columns < width
        table[rows[is_shown], columns[is_shown]] = self.values[is_shown]
        return table


@dataclass(frozen=True, slots=True)
class NameSampler:
    """What an aligner learns from. Names of a concept stand together, its own before variants."""

    tokens: Lists  # of each name
    first: Integers  # the first name of each concept, and the end of all
    own: Integers  # how many of a concept's names are no variants
    weight: Floats
    opposites: Lists
    groups: Lists  # the groups of each concept, and below the concepts of each group
    members: Lists
    allies: Lists  # concepts that share a name with each concept
    # What the channel says of each name, in hundredths; no columns if there is no channel.
    beside: NDArray[np.int8]


def phrases_of(
    pool: ConceptPool, encode: Encode, longest: int | None = None, beside: Beside | None = None
) -> NameSampler:
    """The arrays of a pool; `encode` gives the tokens of names, `beside` the channel of one."""
    # Names of more tokens than `longest` are skipped where a concept has others.
    concepts = pool.concepts
    names = iter(encode([name for concept in concepts for name in concept.names]))
    variants = iter(encode([name for concept in concepts for name in concept.variants]))
    tokens, texts, first, own = list[list[int]](), list[str](), [0], list[int]()
    for concept in concepts:
        both = list(zip(concept.names, islice(names, len(concept.names)), strict=True))
        short = [pair for pair in both if longest is None or len(pair[1]) <= longest] or both[:1]
        texts += [*(name for name, _ in short), *concept.variants]
        tokens += [*(numbers for _, numbers in short), *islice(variants, len(concept.variants))]
        first.append(len(tokens))
        own.append(len(short))
    allies: list[list[int]] = [[] for _ in concepts]
    for one, other in sorted(pool.allied):
        allies[one].append(other)
        allies[other].append(one)
    group_names = sorted({name for concept in concepts for name in concept.groups})
    numbers_of = {name: number for number, name in enumerate(group_names)}
    groups = [[numbers_of[name] for name in sorted(concept.groups)] for concept in concepts]
    members: list[list[int]] = [[] for _ in group_names]
    for place, numbers in enumerate(groups):
        for number in numbers:
            members[number].append(place)
    hundredths = np.zeros((len(texts), 0), dtype=np.int8)
    if beside is not None:
        hundredths = np.stack([np.round(beside(text) * 100).astype(np.int8) for text in texts])
    return NameSampler(
        tokens=Lists.of(tokens),
        first=np.array(first),
        own=np.array(own),
        weight=np.array([concept.weight for concept in concepts]),
        opposites=Lists.of(sorted(concept.opposites) for concept in concepts),
        groups=Lists.of(groups),
        members=Lists.of(members),
        allies=Lists.of(allies),
        beside=hundredths,
    )


class Draws(NamedTuple):
    """Names to learn from at once: two of each of two concepts that are easily mistaken."""

    names: Integers  # of shape (draws, 4): two names of one concept and two of the other
    labels: Integers  # of shape (draws, 2)


def draw(
    phrases: NameSampler,
    size: int,
    seed: Sequence[int],
    *,
    opposite: float,
    sibling: float,
    own: float,
) -> Draws:
    """Pairs of names by chance."""
    # A concept is drawn by its weight. The second one is an opposite or a sibling of it in these
    # shares, where it has any, and any other concept else. `own` is the share of pairs of two names
    # that are no variants.
    chance = np.random.default_rng(seed)
    ends = np.cumsum(phrases.weight)
    one, two = (
        np.searchsorted(ends, chance.random(size) * ends[-1], side="right") for _ in range(2)
    )
    lot = chance.random(size)
    has_sibling = phrases.groups.lengths[one] > 0
    beside = has_sibling & (lot >= opposite) & (lot < opposite + sibling)
    group = phrases.groups.pick(one[beside], chance.random(beside.sum()))
    two[beside] = phrases.members.pick(group, chance.random(beside.sum()))
    against = (phrases.opposites.lengths[one] > 0) & (lot < opposite)
    two[against] = phrases.opposites.pick(one[against], chance.random(against.sum()))
    names = [_two_names(phrases, concepts, chance, own) for concepts in (one, two)]
    return Draws(np.concatenate(names, axis=1), np.stack([one, two], axis=1))


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
    pairs = [
        (one, other)
        for label, ones in places.items()
        for ally in values[starts[label] : starts[label + 1]].tolist()
        for one in ones
        for other in places.get(ally, ())
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)

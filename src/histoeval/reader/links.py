"""Entities of a text that could be related, coded by how they stand to each other.

The joint reader judges a pair by what its tokens mean and by how it stands: how far apart, in
which order, with what in between, and with how many rivals. The latter is coded here, as small
numbers that the reader has learned a vector for.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.reader.tagging import TYPES
from histoeval.report import RELATION_TYPES, EntityType

Integers = NDArray[np.int64]
# the pairs of types that can be related, in the order the reader numbers them
KINDS = tuple(sorted(RELATION_TYPES))
LEVELS = 12  # how many values a code can take
CODES = 49  # how many codes a pair has

_BETWEEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[.!?](?=\s|$)",
        r";",
        r":",
        r",",
        r"\(",
        r"\)",
        r"\band\b|&",
        r"\bwith\b",
        r"\bof\b",
        r"\b(?:in|at|from|within)\b",
        r"\bfor\b",
        r"\b(?:no|not|negative|without)\b",
        r"\b(?:is|are|was|were|shows?|measur\w+)\b",
        r"/",
        r"(?<!\d)\d++\s*+[.)]",  # looks at each digit once, however many there are
    )
)
_WORD = re.compile(r"\S+")
# distances in words at which the code of a distance rises
_STEPS = np.array([1, 2, 3, 4, 6, 9, 14, 22, 36, 60, 100])


class Mention(NamedTuple):
    """The span of an entity in characters, and its type."""

    start: int
    end: int
    type: EntityType


class Candidates(NamedTuple):
    """Pairs that could be related: positions of head and tail, kind of pair, and codes."""

    pairs: Integers
    kinds: Integers
    codes: Integers


_KIND = {pair: number for number, pair in enumerate(KINDS)}
# both can have a site and a measurement, so that each is a rival of the other
_BEARERS = [TYPES.index(EntityType.DIAGNOSIS), TYPES.index(EntityType.FINDING)]


def candidates(text: str, mentions: Sequence[Mention]) -> Candidates:
    """All pairs of types that can be related; mentions come in the order of the text."""
    kind_of = np.array(
        [[_KIND.get((head, tail), -1) for tail in TYPES] for head in TYPES], dtype=np.int64
    )
    types = np.array([TYPES.index(mention.type) for mention in mentions], dtype=np.int64)
    kinds = kind_of[types[:, None], types[None, :]]
    pairs = np.argwhere(kinds >= 0)
    return Candidates(pairs, kinds[pairs[:, 0], pairs[:, 1]], _codes(text, mentions, types, pairs))


def _codes(text: str, mentions: Sequence[Mention], types: Integers, pairs: Integers) -> Integers:
    starts = np.array([mention.start for mention in mentions], dtype=np.int64)
    ends = np.array([mention.end for mention in mentions], dtype=np.int64)
    heads, tails = pairs[:, 0], pairs[:, 1]
    left, right = np.minimum(heads, tails), np.maximum(heads, tails)

    def places(pattern: re.Pattern[str]) -> Integers:
        return np.array([match.start() for match in pattern.finditer(text)], dtype=np.int64)

    def count(marks: Integers, opened: Integers, closed: Integers) -> Integers:
        enclosed: Integers = np.searchsorted(marks, closed) - np.searchsorted(marks, opened)
        return np.maximum(enclosed, 0)

    words = places(_WORD)

    # how many entities of each type stand between the two
    counts = np.zeros((len(types) + 1, len(TYPES)), dtype=np.int64)
    counts[1:] = (types[:, None] == np.arange(len(TYPES))).cumsum(axis=0)
    types_between = (counts[right] - counts[left + 1]).T

    # how many could take the place of the head or the tail, and how many are nearer
    first, last = np.searchsorted(words, starts), np.searchsorted(words, ends)
    after = np.maximum(first[None, :] - last[:, None], 0)
    distance = after + after.T
    like_head = types[:, None] == types[heads][None, :]
    like_tail = types[:, None] == types[tails][None, :]
    own = distance[heads, tails][None, :]
    bearer = np.isin(types, _BEARERS)[:, None]
    order = np.arange(len(types))[:, None]
    rivals = [
        (like_head & (distance[:, tails] < own)).sum(axis=0),
        (like_tail & (distance[:, heads] < own)).sum(axis=0),
        (bearer & (distance[:, tails] < own)).sum(axis=0),
        (like_head & (order < tails[None, :])).sum(axis=0),
        (like_head & (order > tails[None, :])).sum(axis=0),
        (like_tail & (order < heads[None, :])).sum(axis=0),
        (like_tail & (order > heads[None, :])).sum(axis=0),
        like_head.sum(axis=0) - 1,
        like_tail.sum(axis=0) - 1,
    ]

    # the types of neighbours, plus one; zero where there is none
    padded = np.concatenate([[0, 0], types + 1, [0, 0]])

    def gap(entities: Integers, step: int) -> Integers:
        """Code of the distance to the entity before or after; the highest where there is none."""
        exists = (entities + step >= 0) & (entities + step < len(starts))
        neighbours = np.clip(entities + step, 0, len(starts) - 1)
        before, behind = np.minimum(entities, neighbours), np.maximum(entities, neighbours)
        levels = np.searchsorted(_STEPS, count(words, ends[before], starts[behind]), side="right")
        return np.where(exists, np.minimum(levels, LEVELS - 2), LEVELS - 1)

    columns = [
        np.searchsorted(_STEPS, count(words, ends[left], starts[right]), side="right"),
        (tails > heads).astype(np.int64),
        (tails > heads) * 6 + np.minimum(right - left - 1, 5),
        *(count(places(mark), ends[left], starts[right]) for mark in _BETWEEN),
        *types_between,
        *rivals,
        *(padded[entities + 2 + step] for entities in (heads, tails) for step in (-2, -1, 1, 2)),
        *(gap(entities, step) for entities in (heads, tails) for step in (-1, 1)),
    ]
    codes: Integers = np.minimum(np.stack(columns, axis=1), LEVELS - 1).astype(np.int64)
    return codes

"""The tags of the joint reader and the best path through them.

A token begins (B), continues (I) or ends (E) an entity, is one by itself (S), or stands outside
(O). Paths that make no sense, such as an end without a beginning, are never taken.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.report import Assertion, EntityType

Floats = NDArray[np.float32]

TYPES = tuple(EntityType)
ASSERTIONS = tuple(Assertion)
ASSERTED = frozenset({EntityType.DIAGNOSIS, EntityType.FINDING})
"""The types of which a report says whether they are there."""

OUTSIDE = "O"
TAGS = (OUTSIDE, *(f"{place}-{kind}" for kind in TYPES for place in "BIES"))
_NUMBER = {tag: number for number, tag in enumerate(TAGS)}
_NEVER = np.float32(-1e9)


class TokenSpan(NamedTuple):
    """An entity as positions of its first and last token."""

    first: int
    last: int
    type: EntityType


def tags_of(spans: list[TokenSpan], length: int) -> list[int]:
    """The numbers of the tags of a text in which these entities stand."""
    tags = [_NUMBER[OUTSIDE]] * length
    for first, last, kind in spans:
        if first == last:
            tags[first] = _NUMBER[f"S-{kind}"]
        else:
            tags[first : last + 1] = [_NUMBER[f"I-{kind}"]] * (last - first + 1)
            tags[first], tags[last] = _NUMBER[f"B-{kind}"], _NUMBER[f"E-{kind}"]
    return tags


def spans_of(tags: list[int]) -> list[TokenSpan]:
    """The entities of a path that makes sense."""
    spans, first = [], 0
    for position, number in enumerate(tags):
        place, _, kind = TAGS[number].partition("-")
        if place in "BS":
            first = position
        if place in "ES":
            spans.append(TokenSpan(first, position, EntityType(kind)))
    return spans


def softmax(logits: Floats) -> Floats:
    """Probabilities over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Floats = (powers / powers.sum(axis=-1, keepdims=True)).astype(logits.dtype, copy=False)
    return shares


def best_path(log_probabilities: Floats) -> list[int]:
    """The most probable tags that make sense, by dynamic programming."""
    length = len(log_probabilities)
    back = np.zeros((length, len(TAGS)), dtype=np.int64)
    score = log_probabilities[0] + _OPENING
    for position in range(1, length):
        ways = score[:, None] + _FOLLOWS
        back[position] = ways.argmax(axis=0)
        score = ways[back[position], _EACH] + log_probabilities[position]
    path = [int((score + _CLOSING).argmax())]
    for position in range(length - 1, 0, -1):
        path.append(int(back[position][path[-1]]))
    return path[::-1]


def best_paths(log_probabilities: Sequence[Floats]) -> list[list[int]]:
    """The same for many texts at once, of any lengths.

    What may follow a tag falls into two cases: an entity goes on after its B or I, and anything
    begins after all other tags, so that a step looks at each tag once and not at each pair of tags.
    """
    if not log_probabilities:
        return []
    order = sorted(range(len(log_probabilities)), key=lambda n: -len(log_probabilities[n]))
    rows = [log_probabilities[n] for n in order]
    lengths = np.array([len(each) for each in rows])
    back = np.zeros((int(lengths.max()), len(rows), len(TAGS)), dtype=np.int8)
    score = np.stack([each[0] for each in rows]) + _OPENING
    for position in range(1, len(back)):
        some = int((lengths > position).sum())
        before = score[:some]
        free = _FREE[before[:, _FREE].argmax(axis=1)]
        goes_on = before[:, _INNER] > before[:, _BEGIN]
        back[position, :some] = free[:, None]
        inner = np.where(goes_on, _INNER, _BEGIN)
        back[position, :some, _INNER] = back[position, :some, _END] = inner.T
        ways = np.take_along_axis(before, back[position, :some].astype(np.int64), axis=1)
        score[:some] = ways + np.stack([each[position] for each in rows[:some]])
    return [path for _, path in sorted(zip(order, _traced(score, back, lengths), strict=True))]


def _traced(score: Floats, back: NDArray[np.int8], lengths: NDArray[np.int64]) -> list[list[int]]:
    """The path to the best last tag of each text."""
    last = (score + _CLOSING).argmax(axis=1)
    paths = np.zeros((len(back), len(last)), dtype=np.int64)
    each = np.arange(len(last))
    for position in range(len(back) - 1, -1, -1):
        ends = position == lengths - 1
        goes_on = position < lengths - 1
        paths[position, ends] = last[ends]
        if position + 1 < len(back):
            some = each[goes_on]
            paths[position, some] = back[position + 1, some, paths[position + 1, some]]
    return [paths[:length, n].tolist() for n, length in enumerate(lengths)]


def _may_follow(one: str, other: str) -> bool:
    place, _, kind = one.partition("-")
    next_place, _, next_kind = other.partition("-")
    if place in "OES":
        return next_place in "OBS"
    return next_place in "IE" and kind == next_kind


def _allow(rows: list[list[bool]]) -> Floats:
    return np.where(np.array(rows), np.float32(0), _NEVER)


_EACH = np.arange(len(TAGS))
_FOLLOWS = _allow([[_may_follow(one, other) for other in TAGS] for one in TAGS])
_OPENING = _allow([[tag[0] in "OBS" for tag in TAGS]])[0]
_CLOSING = _allow([[tag[0] in "OES" for tag in TAGS]])[0]
_FREE = np.array([n for n, tag in enumerate(TAGS) if tag[0] in "OES"])
_BEGIN, _INNER, _END = (
    np.array([n for n, tag in enumerate(TAGS) if tag[0] == place]) for place in "BIE"
)

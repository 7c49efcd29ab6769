"""Pairs as tokens, and premises with hypotheses of other pairs, which only a teacher labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.nli.builtin import EntailerManifest, pair_tokens
from histoeval.nli.entailer import LABELS, LabelledPair, NliPair

# In the place of a label: the pair is entailed or neutral, and nobody knows which.
NO_CONTRADICTION = -1
UNKNOWN = -2  # in the place of a label: only a teacher says what it is
# In the place of a label: the pair is neutral or a contradiction, and nobody knows which.
NO_ENTAILMENT = -3

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Pairs as tokens, one after the other: where each begins, and its hypothesis in it."""

    values: NDArray[np.uint16]
    starts: Integers  # one more than there are pairs: the last is the end of all
    seconds: Integers  # how many tokens of each pair stand before its hypothesis
    labels: Integers

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> Integers:
        return np.diff(self.starts)

    def translated(self, pieces: NDArray[np.uint16]) -> EncodedPairs:
        return replace(self, values=pieces[self.values])

    def with_more(self, other: EncodedPairs) -> EncodedPairs:
        return EncodedPairs(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.seconds, other.seconds]),
            np.concatenate([self.labels, other.labels]),
        )

    def padded(self, positions: Sequence[int], padding: int) -> tuple[Integers, Integers, Integers]:
        some = np.asarray(positions, np.int64)
        lengths = self.lengths[some]
        column = np.arange(lengths.max())
        mask = column < lengths[:, None]
        at = np.minimum(self.starts[some][:, None] + column, len(self.values) - 1)
        tokens = np.where(mask, self.values[at].astype(np.int64), padding)
        kinds = mask & (column >= self.seconds[some][:, None])
        return tokens, kinds.astype(np.int64), mask.astype(np.int64)


def encode_pairs(
    pairs: Iterable[LabelledPair | NliPair],
    tokenizer: Any,
    limits: EntailerManifest,
    unlabelled: int = NO_CONTRADICTION,
) -> EncodedPairs:
    """Pairs as the model will read them, and what is known of those without a label."""
    values: list[NDArray[np.uint16]] = []
    starts, seconds, labels = [0], [], []
    for pair in pairs:
        tokens, kinds = pair_tokens(tokenizer, NliPair(pair.premise, pair.hypothesis), limits)
        values.append(np.asarray(tokens, np.uint16))
        starts.append(starts[-1] + len(tokens))
        seconds.append(kinds.index(1))
        labels.append(LABELS.index(pair.label) if isinstance(pair, LabelledPair) else unlabelled)
    numbers = (np.asarray(listed, np.int64) for listed in (starts, seconds, labels))
    return EncodedPairs(np.concatenate(values), *numbers)


_POOL = 20_000  # hypotheses that a block of premises is compared with
_BLOCK = 2048
_NEAREST = 24  # of the hypotheses that share most, one in so many is taken
# Pieces of the vocabulary, its first ones, that are no words: special ones and signs.
_SPECIAL = 110
_LEAST = 1e-3


def mixed_pairs(pairs: EncodedPairs, count: int, most_tokens: int, seed: int) -> EncodedPairs:
    """So many premises with hypotheses of others that share rare pieces, less those too long."""
    chance = np.random.default_rng(seed)
    some = chance.integers(len(pairs), size=min(3 * _POOL, len(pairs)))
    pieces = np.concatenate(list(_pieces(pairs, some, hypothesis=True)))
    counts = np.bincount(pieces, minlength=int(pairs.values.max()) + 1)
    rarity = np.maximum(0, np.log(len(some) / (1 + counts)))
    rarity[:_SPECIAL] = 0
    is_word = (rarity > 0).astype(np.float64)
    drawn = [np.zeros((0, 2), np.int64)]
    while sum(map(len, drawn)) < count:
        pool = chance.integers(len(pairs), size=min(_POOL, len(pairs)))
        hypotheses = _bags(pairs, pool, rarity, hypothesis=True)
        lengths = np.sqrt(hypotheses.multiply(hypotheses).sum(axis=1))
        hypotheses = hypotheses.multiply(1 / np.maximum(lengths, _LEAST)[:, None]).tocsr()
        for _ in range(4):
            premises = chance.integers(len(pairs), size=_BLOCK)
            words = _bags(pairs, premises, is_word, hypothesis=False)
            shared = (words @ hypotheses.T).toarray()
            nearest = np.argpartition(-shared, min(_NEAREST, len(pool) - 1), axis=1)[:, :_NEAREST]
            picked = nearest[np.arange(_BLOCK), chance.integers(nearest.shape[1], size=_BLOCK)]
            drawn.append(np.stack([premises, pool[picked]], axis=1))
    premises, others = np.concatenate(drawn)[:count].T
    seconds = pairs.seconds
    lengths = seconds[premises] + pairs.lengths[others] - seconds[others]
    fits = (lengths <= most_tokens) & (premises != others)
    premises, others, lengths = premises[fits], others[fits], lengths[fits]
    values = [np.zeros(0, np.uint16)]
    for one, other in zip(premises.tolist(), others.tolist(), strict=True):
        start, end = pairs.starts[one], pairs.starts[other + 1]
        values.append(pairs.values[start : start + seconds[one]])
        values.append(pairs.values[pairs.starts[other] + seconds[other] : end])
    return EncodedPairs(
        np.concatenate(values),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        seconds[premises],
        np.full(len(premises), UNKNOWN, np.int64),
    )


def _bags(
    pairs: EncodedPairs, places: Integers, weights: NDArray[np.float64], *, hypothesis: bool
) -> Any:
    from scipy.sparse import csr_array

    rows = list(_pieces(pairs, places, hypothesis=hypothesis))
    columns = np.concatenate(rows).astype(np.int64)
    content = weights[columns].astype(np.float32), columns, np.cumsum([0, *map(len, rows)])
    return csr_array(content, (len(rows), len(weights)))


def _pieces(
    pairs: EncodedPairs, places: Integers, *, hypothesis: bool
) -> Iterator[NDArray[np.uint16]]:
    for place in places.tolist():
        begin, end = pairs.starts[place], pairs.starts[place + 1]
        middle = begin + pairs.seconds[place]
        yield np.unique(pairs.values[middle:end] if hypothesis else pairs.values[begin:middle])

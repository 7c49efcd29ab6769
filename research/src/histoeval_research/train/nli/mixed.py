"""Premises with the hypotheses of other pairs that share rare words with them.

Nobody knows their labels; a teacher gives its own. A small network that only sees the pairs that
its teacher learned from learns them by heart, and little of how the teacher judges others.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval_research.train.nli.data import UNKNOWN, EncodedPairs, Integers

_POOL = 20_000
"""Hypotheses that a block of premises is compared with."""
_BLOCK = 2048
_NEAREST = 24
"""Of the hypotheses that share most, one in so many is taken."""
_SPECIAL = 110
"""Pieces of the vocabulary, its first ones, that are no words: special ones and signs."""
_LEAST = 1e-3


def mixed_pairs(pairs: EncodedPairs, count: int, most_tokens: int, seed: int) -> EncodedPairs:
    """So many pairs, less those that are too long."""
    chance = np.random.default_rng(seed)
    rarity = _rarity(pairs, chance)
    is_word = (rarity > 0).astype(np.float64)
    found = [np.zeros((0, 2), np.int64)]
    while sum(map(len, found)) < count:
        pool = chance.integers(len(pairs), size=min(_POOL, len(pairs)))
        hypotheses = _bags(pairs, pool, rarity, hypothesis=True)
        for _ in range(4):
            premises = chance.integers(len(pairs), size=_BLOCK)
            words = _bags(pairs, premises, is_word, hypothesis=False)
            shared = (words @ hypotheses.T).toarray()
            nearest = np.argpartition(-shared, min(_NEAREST, len(pool) - 1), axis=1)[:, :_NEAREST]
            picked = nearest[np.arange(_BLOCK), chance.integers(nearest.shape[1], size=_BLOCK)]
            found.append(np.stack([premises, pool[picked]], axis=1))
    premises, others = np.concatenate(found)[:count].T
    lengths = pairs.seconds[premises] + pairs.lengths[others] - pairs.seconds[others]
    kept = (lengths <= most_tokens) & (premises != others)
    return _joined(pairs, premises[kept], others[kept])


def _joined(pairs: EncodedPairs, premises: Integers, others: Integers) -> EncodedPairs:
    """The premises of some pairs with the hypotheses of others."""
    starts, seconds = pairs.starts, pairs.seconds
    values = [
        part
        for one, other in zip(premises.tolist(), others.tolist(), strict=True)
        for part in (
            pairs.values[starts[one] : starts[one] + seconds[one]],
            pairs.values[starts[other] + seconds[other] : starts[other + 1]],
        )
    ]
    lengths = seconds[premises] + pairs.lengths[others] - seconds[others]
    return EncodedPairs(
        np.concatenate(values) if values else np.zeros(0, np.uint16),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        seconds[premises],
        np.full(len(premises), UNKNOWN, np.int64),
    )


def _rarity(pairs: EncodedPairs, chance: np.random.Generator) -> NDArray[np.float64]:
    """How rare each piece is in hypotheses; those that are no words count for nothing."""
    some = chance.integers(len(pairs), size=min(3 * _POOL, len(pairs)))
    size = int(pairs.values.max()) + 1
    pieces = np.concatenate(list(_pieces(pairs, some, hypothesis=True)))
    counts = np.bincount(pieces, minlength=size)
    rarity = np.maximum(0, np.log(len(some) / (1 + counts)))
    rarity[:_SPECIAL] = 0
    return np.asarray(rarity, np.float64)


def _bags(
    pairs: EncodedPairs, places: Integers, weights: NDArray[np.float64], *, hypothesis: bool
) -> Any:
    """The pieces of some premises or hypotheses, a sparse row each; hypotheses of unit length."""
    from scipy.sparse import csr_array

    rows = list(_pieces(pairs, places, hypothesis=hypothesis))
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate(rows).astype(np.int64)
    bags = csr_array(
        (weights[columns].astype(np.float32), columns, ends), (len(rows), len(weights))
    )
    if hypothesis:
        length = np.sqrt(bags.multiply(bags).sum(axis=1))
        bags = bags.multiply(1 / np.maximum(length, _LEAST)[:, None]).tocsr()
    return bags


def _pieces(
    pairs: EncodedPairs, places: Integers, *, hypothesis: bool
) -> Iterator[NDArray[np.uint16]]:
    for place in places.tolist():
        begin, end = pairs.starts[place], pairs.starts[place + 1]
        middle = begin + pairs.seconds[place]
        yield np.unique(pairs.values[middle:end] if hypothesis else pairs.values[begin:middle])

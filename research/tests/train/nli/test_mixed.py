"""Premises with hypotheses of other pairs, which only a teacher answers."""

from __future__ import annotations

import numpy as np
import pytest

from histoeval_research.train.nli.data import UNKNOWN, EncodedPairs, mixed_pairs

CLS, SEP, WORDS = 1, 2, 200
"""The first pieces of a vocabulary are no words."""
TOPICS, OF_A_TOPIC = 5, 40


def pairs_by_topic() -> EncodedPairs:
    """Pairs of five topics: each text has the word of its topic, and one that all texts have."""
    chance = np.random.default_rng(0)
    rows, seconds = [], []
    for number in range(TOPICS * OF_A_TOPIC):
        topic, common = WORDS + number % TOPICS, WORDS + TOPICS
        own = (WORDS + TOPICS + 1 + chance.integers(50, size=chance.integers(1, 8))).tolist()
        premise = [CLS, common, topic, *own, SEP]
        rows.append([*premise, topic, common, SEP])
        seconds.append(len(premise))
    lengths = [len(row) for row in rows]
    return EncodedPairs(
        np.concatenate(rows).astype(np.uint16),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.array(seconds),
        np.zeros(len(rows), np.int64),
    )


def parts(pairs: EncodedPairs) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    rows = [
        pairs.values[first:last].tolist()
        for first, last in zip(pairs.starts[:-1], pairs.starts[1:], strict=True)
    ]
    return [(tuple(row[:at]), tuple(row[at:])) for row, at in zip(rows, pairs.seconds, strict=True)]


@pytest.fixture(scope="module")
def pairs() -> EncodedPairs:
    return pairs_by_topic()


@pytest.fixture(scope="module")
def mixed(pairs: EncodedPairs) -> EncodedPairs:
    return mixed_pairs(pairs, 300, 64, seed=4)


def test_a_mixed_pair_is_the_premise_of_one_and_the_hypothesis_of_another(
    pairs: EncodedPairs, mixed: EncodedPairs
) -> None:
    premises, hypotheses = map(set, zip(*parts(pairs), strict=True))
    assert 250 < len(mixed) <= 300, "less those that met their own hypothesis"
    assert all(one in premises and other in hypotheses for one, other in parts(mixed))
    assert set(mixed.labels.tolist()) == {UNKNOWN}


def test_premise_and_hypothesis_share_a_rare_word(mixed: EncodedPairs) -> None:
    assert all(hypothesis[0] in premise for premise, hypothesis in parts(mixed))


def test_mixed_pairs_follow_from_the_seed(pairs: EncodedPairs, mixed: EncodedPairs) -> None:
    assert parts(mixed) == parts(mixed_pairs(pairs, 300, 64, seed=4))
    assert parts(mixed) != parts(mixed_pairs(pairs, 300, 64, seed=5))


def test_no_mixed_pair_is_longer_than_the_network_reads(pairs: EncodedPairs) -> None:
    most = int(np.median(pairs.lengths))
    found = mixed_pairs(pairs, 300, most, seed=4)
    assert 0 < len(found) < 250
    assert int(found.lengths.max()) <= most


@pytest.mark.parametrize(("count", "most"), [(0, 64), (50, 3)])
def test_there_may_be_none(pairs: EncodedPairs, count: int, most: int) -> None:
    found = mixed_pairs(pairs, count, most, seed=4)
    assert len(found) == 0
    joined = pairs.with_more(found)
    assert len(joined) == len(pairs)
    assert joined.values.dtype == np.uint16

"""Pairs as tokens, and premises with hypotheses of other pairs."""

import numpy as np
import pytest

from histoeval.nli.builtin import EntailerManifest
from histoeval.nli.entailer import LabelledPair, NliPair
from histoeval_research.train.nli.tokens import (
    NO_CONTRADICTION,
    UNKNOWN,
    EncodedPairs,
    encode_pairs,
    mixed_pairs,
)


class Letters:
    def token_to_id(self, token: str) -> int:
        return {"[CLS]": 1, "[SEP]": 2}[token]

    def encode(self, text: str, add_special_tokens: bool) -> object:
        assert not add_special_tokens
        return type("Found", (), {"ids": [ord(letter) for letter in text]})


PAIRS = [
    LabelledPair(premise="ab", hypothesis="c", label="contradiction", category=""),
    LabelledPair(premise="d", hypothesis="efgh", label="entailment", category=""),
]
MORE = [NliPair("x", "yz")]
LIMITS = EntailerManifest(name="letters", files={}, tokens=16, hypothesis_tokens=4)


def test_pairs_are_padded_joined_and_translated() -> None:
    encoded = encode_pairs([*PAIRS, *MORE], Letters(), LIMITS)
    tokens, kinds, mask = encoded.padded([0, 1], padding=0)
    assert tokens.tolist() == [[1, 97, 98, 2, 99, 2, 0, 0], [1, 100, 2, 101, 102, 103, 104, 2]]
    assert kinds.tolist() == [[0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]]
    assert np.array_equal(mask.sum(axis=1), [6, 8])
    assert encoded.labels.tolist() == [2, 0, NO_CONTRADICTION]
    joined = encode_pairs(PAIRS, Letters(), LIMITS).with_more(encode_pairs(MORE, Letters(), LIMITS))
    for name in ("values", "starts", "seconds", "labels"):
        assert np.array_equal(getattr(joined, name), getattr(encoded, name)), name
    upper = np.arange(128, dtype=np.uint16)
    upper[97:123] -= 32
    translated = encoded.translated(upper)
    tokens, kinds, _ = translated.padded([0], padding=0)
    assert tokens.tolist() == [[1, 65, 66, 2, 67, 2]]
    assert kinds.tolist() == [[0, 0, 0, 0, 1, 1]]
    assert translated.labels.tolist() == encoded.labels.tolist()
    assert encoded.padded([0], padding=0)[0].tolist() == [[1, 97, 98, 2, 99, 2]], "left as it was"


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
    assert all(hypothesis[0] in premise for premise, hypothesis in parts(mixed)), "a rare word"
    assert set(mixed.labels.tolist()) == {UNKNOWN}
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

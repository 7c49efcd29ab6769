"""Concepts as arrays, and the pairs that are drawn from them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from histoeval_research.train.aligner.names import ConceptPool, NamedConcept
from histoeval_research.train.aligner.sampling import (
    Lists,
    NameSampler,
    allied_pairs,
    draw,
    phrases_of,
)


def encode(names: Sequence[str]) -> list[list[int]]:
    return [[ord(letter) for letter in name] for name in names]


@pytest.fixture
def pool() -> ConceptPool:
    concepts = [
        NamedConcept(["aa", "ab", "ac"], 1.0, ["ax"], {2}, {"g"}),
        NamedConcept(["b"], 2.0, [], set(), {"g"}),
        NamedConcept(["ca", "cb"], 0.0, [], {0}),
        NamedConcept(["d", "da"], 1.0, ["dx", "dy"]),
    ]
    return ConceptPool(concepts, {(0, 3)})


@pytest.fixture
def phrases(pool: ConceptPool) -> NameSampler:
    return phrases_of(pool, encode)


def owner(phrases: NameSampler, name: int) -> int:
    return int(np.searchsorted(phrases.first, name, side="right")) - 1


@given(st.lists(st.lists(st.integers(0, 50), max_size=7), max_size=9), st.integers(1, 8))
def test_lists_in_one_array_are_the_lists(lists: list[list[int]], width: int) -> None:
    packed = Lists.of(lists)
    assert packed.lengths.tolist() == [len(each) for each in lists]
    padded = packed.padded(width, 99).tolist()
    assert padded == [(each + [99] * width)[:width] for each in lists]


def test_names_of_a_concept_stand_together_its_own_first(phrases: NameSampler) -> None:
    tokens = phrases.tokens
    names = [
        "".join(map(chr, tokens.values[a:b]))
        for a, b in zip(tokens.starts, tokens.starts[1:], strict=False)
    ]
    assert names == ["aa", "ab", "ac", "ax", "b", "ca", "cb", "d", "da", "dx", "dy"]
    assert phrases.first.tolist() == [0, 4, 5, 7, 11]
    assert phrases.own.tolist() == [3, 1, 2, 2]


def test_long_names_are_left_out_where_there_are_others(pool: ConceptPool) -> None:
    short = phrases_of(pool, encode, longest=1)
    assert short.own.tolist() == [1, 1, 1, 1]
    assert short.tokens.lengths.tolist() == [2, 2, 1, 2, 1, 2, 2], "variants are kept"


def test_names_of_a_draw_are_names_of_its_concepts_and_two_where_there_are_two(
    phrases: NameSampler,
) -> None:
    drawn = draw(phrases, 2000, (0,), opposite=0.4, sibling=0.3, own=0.5)
    for names, labels in zip(drawn.names, drawn.labels, strict=True):
        assert [owner(phrases, name) for name in names] == [labels[0]] * 2 + [labels[1]] * 2
        for pair, label in ((names[:2], labels[0]), (names[2:], labels[1])):
            assert (pair[0] != pair[1]) == (label != 1), "concept 1 has a single name"
            assert pair[0] - phrases.first[label] < phrases.own[label]
    assert {int(name) for name in drawn.names.ravel()} == set(range(11)), "every name is drawn"


def test_concepts_are_drawn_by_weight_and_one_without_only_as_an_opposite(
    phrases: NameSampler,
) -> None:
    drawn = draw(phrases, 40_000, (3,), opposite=1.0, sibling=0.0, own=0.7).labels
    first = Counter(drawn[:, 0].tolist())
    assert first[2] == 0
    assert first[1] / first[0] == pytest.approx(2.0, rel=0.1)
    beside = drawn[drawn[:, 0] == 0][:, 1]
    assert set(beside.tolist()) == {2}


def test_siblings_are_of_the_same_group_and_pairs_of_own_names_as_many_as_told(
    phrases: NameSampler,
) -> None:
    drawn = draw(phrases, 4000, (3,), opposite=0.0, sibling=1.0, own=1.0)
    labels, own = drawn.labels, phrases.own[drawn.labels[:, 0]]
    assert set(labels[labels[:, 0] == 1][:, 1].tolist()) == {0, 1}
    assert set(labels[labels[:, 0] == 3][:, 1].tolist()) == {0, 1, 3}, "it has no group"
    place = drawn.names[:, 1] - phrases.first[labels[:, 0]]
    assert (place < own)[own > 1].all()
    told = {"opposite": 0.3, "sibling": 0.3, "own": 0.7}
    one, same, other = (draw(phrases, 30, seed, **told) for seed in ((1, 2), (1, 2), (1, 3)))
    assert one.names.tolist() == same.names.tolist()
    assert one.names.tolist() != other.names.tolist(), "the seed decides"


def test_allied_pairs_are_all_places_whose_concepts_share_a_name(phrases: NameSampler) -> None:
    found = allied_pairs(phrases, np.array([0, 1, 3, 0]))
    assert {tuple(pair) for pair in found.tolist()} == {(0, 2), (2, 0), (3, 2), (2, 3)}
    assert allied_pairs(phrases, np.array([1, 2])).shape == (0, 2)


def test_what_a_channel_says_of_each_name_stands_in_the_row_of_that_name() -> None:
    pool = ConceptPool(
        [NamedConcept(["aa", "b"], 1.0, variants=["cccc"]), NamedConcept(["dd"], 1.0)], set()
    )

    def beside(name: str) -> NDArray[np.float32]:
        return np.array([len(name) / 10, -0.5], dtype=np.float32)

    made = phrases_of(pool, encode, longest=1, beside=beside)
    assert made.beside.tolist() == [[10, -50], [40, -50], [20, -50]]
    assert phrases_of(pool, encode).beside.shape == (4, 0)

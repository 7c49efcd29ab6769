from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.reader.tagging import (
    TAGS,
    TYPES,
    Floats,
    TokenSpan,
    best_path,
    best_paths,
    softmax,
    spans_of,
    tags_of,
)
from histoeval.report import EntityType

# paths are tried one by one over two types only; the others are made too unlikely to be taken
FEW = ["O", *(f"{place}-{kind}" for kind in ("diagnosis", "site") for place in "BIES")]


def makes_sense(path: tuple[str, ...]) -> bool:
    """Read from left to right: an entity that was begun goes on or ends, and no other does."""
    begun: str | None = None
    for tag in path:
        place, _, kind = tag.partition("-")
        if (place in "IE") != (begun is not None) or (begun is not None and kind != begun):
            return False
        begun = kind if place in "BI" else None
    return begun is None


@cache
def sensible_paths(length: int) -> list[tuple[str, ...]]:
    return [path for path in product(FEW, repeat=length) if makes_sense(path)]


def names(path: list[int]) -> tuple[str, ...]:
    return tuple(TAGS[number] for number in path)


@st.composite
def likelihoods(draw: st.DrawFn) -> Floats:
    """Logarithms of probabilities, whole numbers so that sums of them are exact."""
    length = draw(st.integers(1, 4))
    rows = np.full((length, len(TAGS)), -500, dtype=np.float32)
    for position in range(length):
        for tag in FEW:
            rows[position, TAGS.index(tag)] = -draw(st.integers(0, 20))
    return rows


@st.composite
def spans(draw: st.DrawFn) -> tuple[list[TokenSpan], int]:
    """Entities that do not overlap, and how many tokens the text has."""
    found, place = [], 0
    for _ in range(draw(st.integers(0, 6))):
        first = place + draw(st.integers(0, 3))
        last = first + draw(st.integers(0, 4))
        found.append(TokenSpan(first, last, draw(st.sampled_from(TYPES))))
        place = last + 1
    return found, place + draw(st.integers(0, 3))


@given(likelihoods())
def test_no_sensible_path_is_likelier_than_the_best(rows: Floats) -> None:
    def likelihood(path: tuple[str, ...]) -> float:
        return sum(float(rows[at, TAGS.index(tag)]) for at, tag in enumerate(path))

    best = names(best_path(rows))
    assert makes_sense(best)
    assert tags_of(spans_of(best_path(rows)), len(rows)) == best_path(rows)
    assert likelihood(best) == max(map(likelihood, sensible_paths(len(rows))))


@given(st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 3.0, 40.0]))
def test_the_best_path_makes_sense_whatever_the_model_says(
    length: int, seed: int, spread: float
) -> None:
    drawn = np.random.default_rng(seed).normal(0, spread, (length, len(TAGS)))
    rows = np.log(softmax(drawn.astype(np.float32)) + np.float32(1e-9))
    assert makes_sense(names(best_path(rows)))


@given(spans())
def test_entities_survive_being_written_as_tags(given_spans: tuple[list[TokenSpan], int]) -> None:
    found, length = given_spans
    tags = tags_of(found, length)
    assert len(tags) == length
    assert makes_sense(names(tags))
    assert spans_of(tags) == found


def test_tags_of_a_text_written_out() -> None:
    found = [TokenSpan(1, 3, EntityType.DIAGNOSIS), TokenSpan(4, 4, EntityType.GRADE)]
    assert names(tags_of(found, 6)) == (
        *("O", "B-diagnosis", "I-diagnosis", "E-diagnosis"),
        *("S-grade", "O"),
    )


@given(
    st.lists(st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3), min_size=1),
    st.floats(-50, 50, width=32),
)
def test_softmax_gives_shares_that_keep_the_order_and_do_not_mind_a_shift(
    rows: list[list[float]], shift: float
) -> None:
    logits = np.array(rows, dtype=np.float32)
    shares = softmax(logits)
    assert shares.sum(axis=-1) == pytest.approx(1, abs=1e-5)
    assert ((shares >= 0) & (shares <= 1)).all()
    assert softmax(logits + np.float32(shift)) == pytest.approx(shares, abs=1e-4)
    for share, logit in zip(shares, logits, strict=True):
        assert share[logit.argmax()] == share.max()


def test_softmax_of_logits_that_no_float_can_raise() -> None:
    shares = softmax(np.array([[1e4, 0, -1e4], [0, 0, 0]], dtype=np.float32))
    assert shares.tolist() == [[1, 0, 0], pytest.approx([1 / 3] * 3)]


@given(st.lists(st.integers(1, 12), max_size=6), st.integers(0, 1000), st.booleans())
def test_many_paths_at_once_are_those_found_one_by_one(
    lengths: list[int], seed: int, ties: bool
) -> None:
    random = np.random.default_rng(seed)
    rows = [random.normal(scale=3, size=(length, len(TAGS))) for length in lengths]
    drawn = [(np.round(each) if ties else each).astype(np.float32) for each in rows]
    assert best_paths(drawn) == [best_path(each) for each in drawn]

"""Telling opposites apart: what is counted, and the rows that are shipped with the tests."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from histoeval.align.aligner import LexicalAligner
from histoeval.errors import InputError
from histoeval_research.evaluate.aligner import (
    ALL,
    LISTED,
    UNLISTED,
    Opposite,
    evaluate_opposites,
    is_listed,
    read_opposites,
    tell_apart,
)
from histoeval_research.train.aligner.compositions import own_list
from histoeval_research.train.aligner.names import listed
from tests.support.paths import DATA

ROWS = DATA / "opposites.jsonl"


def row(phrase: str, synonym: str, opposite: str, other: str, axis: str = "a") -> Opposite:
    return Opposite(
        phrase=phrase, synonym=synonym, opposite=opposite, opposite_synonym=other, axis=axis
    )


def at(*degrees: float) -> list[list[float]]:
    return [[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees]


def test_the_opposite_must_be_farther_than_the_synonym_of_one_and_of_either() -> None:
    vectors = np.array([at(0, 10, 90, 95), at(0, 10, 30, 90), at(0, 50, 30, 31)], dtype=np.float32)
    assert tell_apart(vectors).tolist() == [[True, True], [True, False], [False, False]]


def test_shares_are_given_in_all_by_axis_and_apart_for_our_own_lists() -> None:
    marker = next(named for named in own_list("markers") if named.synonyms)
    rows = [
        row(marker.name, marker.synonyms[0], "qqq", "qqqq", "marker"),
        row("left foo", "foo on the left", "right foo", "foo on the right", "side"),
    ]

    def embed(phrases: Sequence[str]) -> np.ndarray:
        degrees = {"left foo": 0, "foo on the left": 40, "right foo": 10, "foo on the right": 50}
        return np.array(at(*(degrees.get(p, 90 * ("q" in p)) for p in phrases)), dtype=np.float32)

    found = evaluate_opposites(rows, embed, listed())
    assert list(found) == [ALL, "marker", "side", LISTED, UNLISTED]
    assert found[ALL].of_phrase == 0.5
    assert found["marker"].of_either == 1.0
    assert (found[LISTED].rows, found[UNLISTED].rows) == (1, 1)
    assert found[UNLISTED].of_phrase == 0.0


def test_there_are_rows_enough_of_every_axis_and_none_twice() -> None:
    rows = read_opposites(ROWS)
    assert len(rows) >= 400
    assert len({each.texts for each in rows}) == len(rows)
    assert min(Counter(each.axis for each in rows).values()) >= 30
    assert all(len(set(each.texts)) == 4 for each in rows)
    known = listed()
    assert 0 < sum(is_listed(each, known) for each in rows) < len(rows) / 2


def test_letters_alone_do_not_tell_opposites_apart() -> None:
    found = evaluate_opposites(read_opposites(ROWS), LexicalAligner().embed)
    assert found[ALL].of_either < 0.2


def test_a_row_that_lacks_something_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f'{row("a", "b", "c", "d").model_dump_json()}\n\n{{"phrase": "x"}}\n', "utf-8")
    with pytest.raises(InputError, match=r"rows\.jsonl, line 3: synonym"):
        read_opposites(file)
    file.write_text("\n", "utf-8")
    with pytest.raises(InputError, match="no rows"):
        read_opposites(file)
    with pytest.raises(InputError, match="cannot read"):
        read_opposites(tmp_path / "missing.jsonl")

"""`df.histoeval.score`: scores with the index of the frame."""

import pytest

import histoeval

pandas = pytest.importorskip("pandas")

import histoeval.adapters.pandas

FRAME = {"id": ["x", "y"], "truth": ["a b", "c d"], "model": ["a b", ""], "other": ["a c", "c d"]}


def test_scores_are_joined_to_the_frame_also_where_a_row_is_broken() -> None:
    frame = pandas.DataFrame(FRAME, index=["first", "second"])
    scores = frame.histoeval.score("rouge_l", reference="truth", candidate="model")
    joined = frame.join(scores)
    assert joined.loc["first", "rouge_l"] == 1
    assert pandas.isna(joined.loc["second", "rouge_l"])
    assert "empty" in joined.loc["second", "problems"]
    assert "system" not in scores


def test_several_candidates_have_a_row_each() -> None:
    frame = pandas.DataFrame(FRAME, index=[7, 7])
    scores = frame.histoeval.score("rouge_l", reference="truth", candidate=["model", "other"])
    assert list(scores.index) == [7, 7, 7, 7]
    assert list(scores["system"]) == ["model", "other"] * 2


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(histoeval.InputError, match="no column 'thruth'"):
        pandas.DataFrame(FRAME).histoeval.score("rouge_l", reference="thruth", candidate="model")

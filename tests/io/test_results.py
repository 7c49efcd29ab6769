"""Scores that were written, read back by metric and by pair."""

from __future__ import annotations

from pathlib import Path

import pytest

import histoeval
from histoeval.errors import InputError
from histoeval.io.results import read_scored, read_summary

RECORDS = [
    {"id": "a", "reference": "benign naevus", "candidate": "benign naevus"},
    {"id": "b", "reference": "benign naevus", "candidate": "melanoma"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    histoeval.score(RECORDS, metrics="rouge_1,chrf", output=tmp_path / "scored")
    return tmp_path / "scored"


def test_every_metric_comes_with_its_scores_and_what_they_mean(folder: Path) -> None:
    found = read_scored(folder)
    assert list(found) == ["rouge_1", "chrf"]
    assert found["rouge_1"].values == {("a", "candidate"): 1.0, ("b", "candidate"): 0.0}
    assert found["rouge_1"].range == (0.0, 1.0)
    assert found["rouge_1"].higher_is_better
    assert found["chrf"].signature.startswith("chrf|")


def test_a_file_and_its_folder_are_the_same(folder: Path) -> None:
    assert read_scored(folder) == read_scored(folder / "scores.jsonl")


def test_without_a_summary_there_are_scores_and_no_signature(folder: Path) -> None:
    (folder / "summary.json").unlink()
    assert read_summary(folder) == {}
    found = read_scored(folder)["rouge_1"]
    assert (found.signature, found.range, len(found.values)) == ("", None, 2)


def test_rows_of_another_tool_need_id_system_row_and_values(tmp_path: Path) -> None:
    file = tmp_path / "judge.jsonl"
    file.write_text('{"id":"a","system":"m","row":1,"scores":{"judge":{"value":4}}}\n', "utf-8")
    assert read_scored(file)["judge"].values == {("a", "m"): 4.0}


@pytest.mark.parametrize(("content", "told"), [("", "has no rows"), ("[]\n", "line 1 of")])
def test_what_holds_no_scores_is_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "odd.jsonl"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=told):
        read_scored(file)
    with pytest.raises(InputError, match="does not exist"):
        read_scored(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no scores; give a folder of `histoeval score`"):
        read_scored(tmp_path)

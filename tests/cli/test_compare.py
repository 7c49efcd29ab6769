"""`histoeval compare`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import histoeval
from histoeval.cli.main import app
from histoeval.errors import InputError, SettingError
from tests.support.rating_sheets import rows, write

QUICK = ("--resamples", "200", "--permutations", "100")


def run(*arguments: object) -> Result:
    told = ["compare", *map(str, arguments), *QUICK]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


def scored(folder: Path, change: dict[str, Any], metrics: str = "rouge_1") -> Path:
    """Results of one system, whose candidates are changed in one way."""
    table = [{**each, "system": "model", **change} for each in rows()]
    sheet = write(folder.with_suffix(".csv"), table)
    histoeval.score(sheet, metrics=metrics, output=folder)
    return folder / "scores.jsonl"


@pytest.fixture
def better(tmp_path: Path) -> Path:
    return scored(tmp_path / "better", {})


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    return scored(tmp_path / "worse", {"candidate": "no such thing"})


def test_the_better_system_wins(better: Path, worse: Path, tmp_path: Path) -> None:
    result = run(better, worse, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    assert [each["system"] for each in content["systems"]] == ["better:model", "worse:model"]
    assert [each["rank"] for each in content["systems"]] == [1, 2]
    duel = content["duels"][0]
    assert duel["wins"] + duel["ties"] == 24
    assert duel["p"] == pytest.approx(1 / 101)
    assert content["signature"].startswith("rouge_1|")


def test_systems_of_one_file_are_compared(tmp_path: Path) -> None:
    table = [{**each, "id": f"p{number // 2}"} for number, each in enumerate(rows())]
    histoeval.score(write(tmp_path / "two.csv", table), metrics="bleu", output=tmp_path / "two")
    result = run(tmp_path / "two")
    assert result.exit_code == 0, result.output
    assert "A - B" in result.output
    assert "12 pairs of 12 cases" in result.output


def test_pairs_that_differ_most_come_first_with_evidence(tmp_path: Path) -> None:
    stated = {"reference": "Left breast: invasive ductal carcinoma, grade 2."}
    right = scored(tmp_path / "right", {**stated, "candidate": stated["reference"]}, "concordance")
    wrong = scored(
        tmp_path / "wrong", {**stated, "candidate": "Right breast: fibroadenoma."}, "concordance"
    )
    result = run(right, wrong, "--show", 1)
    assert result.exit_code == 0, result.output
    assert "no errors" in result.output
    assert "fibroadenoma" in result.output


def test_cases_can_be_given_and_must_be_whole(better: Path, worse: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("id,case\n" + "".join(f"r{n},c{n // 4}\n" for n in range(24)), "utf-8")
    assert "24 pairs of 6 cases" in run(better, worse, "--cases", cases).output
    cases.write_text("id,case\nr0,c0\n", "utf-8")
    assert "no case for 'r1'" in str(run(better, worse, "--cases", cases).exception)
    cases.write_text("id\nr0\n", "utf-8")
    assert "no column 'case'" in str(run(better, worse, "--cases", cases).exception)


def test_what_cannot_be_compared_is_told(better: Path, tmp_path: Path) -> None:
    assert isinstance(run(better).exception, SettingError)
    both = scored(tmp_path / "both", {}, "rouge_1,bleu")
    assert "--metric NAME" in str(run(both, both).exception)
    assert "'hare'" in str(run(better, both, "--metric", "hare").exception)
    other = [{**each, "id": f"x{each['id']}"} for each in rows()]
    histoeval.score(write(tmp_path / "o.csv", other), metrics="rouge_1", output=tmp_path / "o")
    assert "no id has a rouge_1 of every system" in str(run(better, tmp_path / "o").exception)
    odd = tmp_path / "odd.jsonl"
    odd.write_text("{}\n", "utf-8")
    assert isinstance(run(better, odd).exception, InputError)


def test_scores_made_in_different_ways_are_refused(better: Path, tmp_path: Path) -> None:
    other = scored(tmp_path / "other", {})
    summary = other.with_name("summary.json")
    summary.write_text(summary.read_text("utf-8").replace("rouge_1|", "rouge_1|x:1|"), "utf-8")
    assert "different ways" in str(run(better, other).exception)


def test_rows_that_one_system_lacks_are_left_out_and_counted(better: Path, tmp_path: Path) -> None:
    table = [{**each, "system": "short"} for each in rows()[:20]]
    histoeval.score(write(tmp_path / "s.csv", table), metrics="rouge_1", output=tmp_path / "s")
    result = run(better, tmp_path / "s")
    assert "20 pairs" in result.output
    assert "model: 4 rows are skipped" in result.output


def test_from_python_the_same_is_found(better: Path, worse: Path) -> None:
    found = histoeval.compare([better, worse], resamples=200, permutations=100)
    assert found.contest.systems[0].system == "better:model"
    assert found.apart[0]["gap"] > 0

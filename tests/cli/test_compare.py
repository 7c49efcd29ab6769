"""`histoeval compare`, as people run it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import histoeval
from histoeval.agreement.systems import contest
from histoeval.cli.main import app
from histoeval.errors import InputError, SettingError
from histoeval.view.terminal.comparison import comparison_tables
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


def test_files_without_a_shared_metric_are_refused_with_what_each_has(tmp_path: Path) -> None:
    files = [scored(tmp_path / name, {}, name) for name in ("rouge_1", "rouge_2")]
    why = str(run(*files).exception)
    assert "no metric has scores in every file" in why
    assert "has rouge_1;" in why
    assert why.endswith("has rouge_2")


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
    assert "needs the columns id and case" in str(run(better, worse, "--cases", cases).exception)


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


BLEU = "bleu|order:4|sacrebleu:2.6.0|histoeval:1"
FACTS = "c|reader:r@1f/onnxruntime1.31.1|aligner:a@2/onnxruntime1.31.1/ch1|weights:a|histoeval:1"


@pytest.mark.parametrize(
    ("here", "old", "new", "note"),
    [
        (BLEU, "2.6.0", "2.5.1", "sacrebleu 2.6.0 and 2.5.1"),
        (FACTS, "1.31.1", "1.20.0", "onnxruntime 1.31.1 and 1.20.0"),
        (BLEU, "order:4", "order:2", None),
        (BLEU, "histoeval:1", "histoeval:2", None),
        (FACTS, "r@1f", "r@2f", None),
        (FACTS, "ch1", "ch2", None),
        (FACTS, "weights:a", "weights:b", None),
        ("radgraph_xl|radgraph:0.1|histoeval:1", "radgraph:0.1", "radgraph:0.2", None),
    ],
)
def test_only_the_version_of_a_library_may_differ(
    tmp_path: Path, here: str, old: str, new: str, note: str | None
) -> None:
    for name, signature in (("one", here), ("two", here.replace(old, new))):
        (tmp_path / name).mkdir()
        row = {"system": name, "row": 1, "scores": {"m": {"value": 0.5}}}
        lines = [json.dumps({"id": f"p{n}", **row}) + "\n" for n in range(4)]
        (tmp_path / name / "scores.jsonl").write_text("".join(lines), "utf-8")
        about = {"signature": signature, "range": [0, 1], "higher_is_better": True}
        (tmp_path / name / "summary.json").write_text(json.dumps({"metrics": {"m": about}}))
    result = run(tmp_path / "one", tmp_path / "two")
    if note is None:
        assert "different ways" in str(result.exception)
    else:
        assert result.exit_code == 0, result.output
        assert f"different versions of libraries ({note})" in result.output.splitlines()[0]


def test_rows_that_one_system_lacks_are_left_out_and_counted(better: Path, tmp_path: Path) -> None:
    table = [{**each, "system": "short"} for each in rows()[:20]]
    histoeval.score(write(tmp_path / "s.csv", table), metrics="rouge_1", output=tmp_path / "s")
    result = run(better, tmp_path / "s")
    assert "20 pairs" in result.output
    first = result.output.splitlines()[0]
    assert first.startswith(
        "Systems do not have the same ids: of 24 ids with a rouge_1, short lacks 4"
    )
    assert histoeval.compare(better, tmp_path / "s", resamples=50).left_out == {
        "model": 4,
        "short": 0,
    }


def lazy(folder: Path, count: int) -> Path:
    """A system that has only a few reports, all of them right."""
    table = [{**each, "system": "lazy", "candidate": each["reference"]} for each in rows()[:count]]
    histoeval.score(write(folder.with_suffix(".csv"), table), metrics="rouge_1", output=folder)
    return folder


def test_a_lazy_system_does_not_win(better: Path, worse: Path, tmp_path: Path) -> None:
    few = lazy(tmp_path / "lazy", 3)
    refused = run(better, worse, few)
    assert isinstance(refused.exception, InputError)
    told = str(refused.exception)
    assert "lazy lacks 21, and only 3 are shared by all" in told
    assert "--missing worst" in told
    assert "--missing skip" in told
    filled = run(better, worse, few, "--missing", "worst", "--output", tmp_path / "out")
    assert filled.exit_code == 0, filled.output
    assert "0 stands in, the worst value" in filled.output.splitlines()[0]
    content = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    assert content["pairs"] == 24
    assert content["systems"][0]["system"] == "better:model"
    means = {each["system"]: each["mean"]["value"] for each in content["systems"]}
    assert means["lazy"] == pytest.approx(3 / 24)
    assert "no score: the worst value stands in" in filled.output
    skipped = histoeval.compare(better, worse, few, missing="skip", resamples=50)
    assert skipped.contest.pairs == 3
    assert skipped["lazy"].rank == 1


def test_without_a_range_there_is_no_worst_value(better: Path, tmp_path: Path) -> None:
    few = lazy(tmp_path / "lazy", 20)
    for folder in (better.parent, few):
        (folder / "summary.json").unlink()
    with pytest.raises(SettingError, match="worst value of rouge_1 is not known"):
        histoeval.compare(better, few, missing="worst")
    with pytest.raises(SettingError, match="'worst' or 'skip'"):
        histoeval.compare(better, few, missing="zero")  # type: ignore[arg-type]


def test_without_a_name_concordance_is_taken_and_that_is_said(tmp_path: Path) -> None:
    line = {"row": 1, "scores": {"bleu": {"value": 1.0}, "concordance": {"value": 0.5}}}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lines = [json.dumps({"id": f"p{n}", "system": name, **line}) + "\n" for n in range(4)]
        (tmp_path / name / "scores.jsonl").write_text("".join(lines), "utf-8")
    result = run(tmp_path / "one", tmp_path / "two")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == (
        "Compared by concordance, as no metric was named; the files also have bleu."
    )


def test_tables_fit_80_columns_with_headers_and_intervals_whole() -> None:
    source = np.random.default_rng(0)
    names = ("results:model_alpha_v2", "results:model_beta_v3", "results:baseline")
    scores = {name: source.random(200) - n for n, name in enumerate(names)}
    found = contest(scores, range(200), resamples=50, permutations=10_000)
    stream = StringIO()
    for table in comparison_tables("meteor:matchers=exact+stem", found, []):
        Console(file=stream, width=80).print(table)
    words = stream.getvalue().split()
    assert words.count("win/tie/loss") == 1
    intervals = [word for word in words if "…" in word]
    assert len(intervals) == 6
    assert all(word.startswith("(") and word.endswith(")") for word in intervals)
    assert all(len(line) <= 80 for line in stream.getvalue().splitlines())


def test_from_python_the_same_is_found(better: Path, worse: Path) -> None:
    found = histoeval.compare([better, worse], resamples=200, permutations=100)
    assert found.contest.systems[0].system == "better:model"
    assert found.apart[0]["gap"] > 0

"""`histoeval compare`, as people run it."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import histoeval
from histoeval.agreement.systems import contest
from histoeval.errors import InputError, SettingError
from histoeval.view.terminal.comparison import comparison_tables
from tests.support.command import invoked
from tests.support.rating_sheets import rows, write
from tests.support.terminal_tables import shown

QUICK = ("--resamples", "200", "--permutations", "100")


run = partial(invoked, "compare", *QUICK)


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
    assert "A - B" in result.output
    assert "12 pairs of 12 cases" in result.output


def test_pairs_that_differ_most_come_first_with_evidence(tmp_path: Path) -> None:
    stated = "Left breast: invasive ductal carcinoma, grade 2."
    runs = [
        scored(tmp_path / name, {"reference": stated, "candidate": candidate}, "concordance")
        for name, candidate in (("right", stated), ("wrong", "Right breast: fibroadenoma."))
    ]
    result = run(*runs, "--show", 1)
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
    both = scored(tmp_path / "both", {}, "rouge_1,bleu")
    table = [{**each, "id": f"x{each['id']}"} for each in rows()]
    histoeval.score(write(tmp_path / "o.csv", table), metrics="rouge_1", output=tmp_path / "o")
    (tmp_path / "odd.jsonl").write_text("{}\n", "utf-8")
    for files, error, words in (
        ((better,), SettingError, ""),
        ((both, both), SettingError, "--metric NAME"),
        ((better, both, "--metric", "hare"), SettingError, "'hare'"),
        ((better, tmp_path / "o"), InputError, "no id has a rouge_1 of every system"),
        ((better, tmp_path / "odd.jsonl"), InputError, ""),
        ((better, scored(tmp_path / "2", {}, "rouge_2")), InputError, "has rouge_1;"),
    ):
        refused = run(*files).exception
        assert isinstance(refused, error), repr(refused)
        assert words in str(refused)


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
    assert "of 24 ids with a rouge_1, short lacks 4" in result.output.splitlines()[0]
    left_out = histoeval.compare(better, tmp_path / "s", resamples=50).left_out
    assert left_out == {"model": 4, "short": 0}


def lazy(folder: Path, count: int) -> Path:
    """A system that has only a few reports, all of them right."""
    table = [{**each, "system": "lazy", "candidate": each["reference"]} for each in rows()[:count]]
    histoeval.score(write(folder.with_suffix(".csv"), table), metrics="rouge_1", output=folder)
    return folder


def test_a_lazy_system_does_not_win(better: Path, worse: Path, tmp_path: Path) -> None:
    few = lazy(tmp_path / "lazy", 3)
    refused = run(better, worse, few).exception
    assert isinstance(refused, InputError)
    for words in (
        "lazy lacks 21, and only 3 are shared by all",
        "--missing worst",
        "--missing skip",
    ):
        assert words in str(refused)
    filled = run(better, worse, few, "--missing", "worst", "--output", tmp_path / "out")
    assert "0 stands in, the worst value" in filled.output.splitlines()[0]
    assert "no score: the worst value stands in" in filled.output
    content = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    assert (content["pairs"], content["systems"][0]["system"]) == (24, "better:model")
    means = {each["system"]: each["mean"]["value"] for each in content["systems"]}
    assert means["lazy"] == pytest.approx(3 / 24)
    skipped = histoeval.compare(better, worse, few, missing="skip", resamples=50)
    assert (skipped.contest.pairs, skipped["lazy"].rank) == (3, 1)


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
    first = run(tmp_path / "one", tmp_path / "two").output.splitlines()[0]
    assert first.startswith("Compared by concordance")
    assert "also have bleu" in first


def test_tables_fit_80_columns_with_headers_and_intervals_whole() -> None:
    source = np.random.default_rng(0)
    names = ("results:model_alpha_v2", "results:model_beta_v3", "results:baseline")
    scores = {name: source.random(200) - n for n, name in enumerate(names)}
    found = contest(scores, range(200), resamples=50, permutations=10_000)
    text = "".join(map(shown, comparison_tables("meteor:matchers=exact+stem", found, [])))
    words = text.split()
    assert words.count("win/tie/loss") == 1
    intervals = [word for word in words if "…" in word]
    assert len(intervals) == 6
    assert all(word.startswith("(") and word.endswith(")") for word in intervals)
    assert all(len(line) <= 80 for line in text.splitlines())

"""`histoeval agree`, as people run it."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import histoeval
from histoeval.errors import InputError, MissingDependency
from histoeval.metrics import wordnet
from tests.support.command import invoked
from tests.support.rating_sheets import COLUMNS, rows, write, write_wide
from tests.support.tables import from_table

QUICK = ("--resamples", "100", "--permutations", "20")


run = partial(invoked, "agree", *QUICK)


def found_in(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "agreement.json").read_text("utf-8"))
    return content


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return write(tmp_path / "sheet.csv", rows())


def test_figures_are_told_and_written(sheet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(sheet, "--metrics", "bleu,rouge_l", "--output", out, "--scale", "0,5")
    assert result.exit_code == 0, result.output
    assert "Correlation with experts; pairs: 24, groups: 6" in result.output
    content = found_in(out)
    assert [each["metric"] for each in content["metrics"]] == ["bleu", "rouge_l"]
    bleu = content["metrics"][0]
    assert {"value", "low", "high", "p"} <= bleu["pearson"].keys()
    assert {"value", "epsilon", "low", "high"} <= bleu["pairwise"].keys()
    assert (bleu["n"], bleu["coverage"], content["settings"]["resamples"]) == (24, 1.0, 100)
    assert bleu["signature"].startswith("bleu|")
    assert content["command"].startswith("histoeval")


def test_the_layout_of_hare_is_read_with_its_cases_and_its_scale(tmp_path: Path) -> None:
    sheet = write_wide(tmp_path / "hare.tsv", rows())
    cases = tmp_path / "cases.tsv"
    cases.write_text("row\tcase\n" + "".join(f"{n}\tc{n // 2}\n" for n in range(12)), "utf-8")
    told = ("--metrics", "bleu", "--cases", cases, "--group", "case", "--positive-only")
    result = run(sheet, *told, "--output", tmp_path / "out", "--by", "system")
    assert result.exit_code == 0, result.output
    content = found_in(tmp_path / "out")
    assert content["settings"]["expert_range"] == [0, 5]
    assert content["rows"] == sum(each["anna"] > 0 for each in rows())
    assert content["cases"] <= 6
    assert list(content["by"]["system"]) == ["0", "1"]


def test_scores_that_are_there_are_not_made_again(
    sheet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "find", lambda: None)
    histoeval.score(sheet, metrics="bleu,rouge_l,meteor", output=tmp_path / "scored")
    monkeypatch.setattr("histoeval.metrics.bleu.Bleu.score_pair", None)
    scored = ("--scores", tmp_path / "scored" / "scores.jsonl")
    for metrics in ("bleu,rouge_l", "bleu,chrf"):
        more = ("--metrics", metrics) if "chrf" in metrics else ()
        result = run(sheet, *scored, *more, "--output", tmp_path / metrics)
        assert result.exit_code == 0, result.output
        found = found_in(tmp_path / metrics)["metrics"]
        assert ",".join(each["metric"] for each in found) == metrics
        assert all(each["coverage"] == 1 for each in found)


def test_scores_of_another_sheet_are_refused(sheet: Path, tmp_path: Path) -> None:
    table = [{**each, "id": f"x{each['id']}"} for each in rows()]
    histoeval.score(write(tmp_path / "other.csv", table), metrics="bleu", output=tmp_path / "o")
    refused = run(sheet, "--scores", tmp_path / "o").exception
    assert isinstance(refused, InputError)
    assert "another sheet" in str(refused)


@from_table
def test_what_is_asked_for_is_said_and_written_and_never_a_nan(
    sheet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    line: str, code: int, change: dict[str, Any], said: str, paths: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(wordnet, "find", lambda: None)
    write(sheet, [{**each, **change} for each in rows()])
    result = run(sheet, *line.split(), "--output", tmp_path / "out", "--report")
    assert result.exit_code == code, result.output
    assert said in result.output
    for path in paths.split():
        found: Any = found_in(tmp_path / "out")
        names, _, value = path.partition("=")
        for name in names.split("."):
            found = found[name]
        assert not value or str(found) == value.replace("_", " ")
    for name in ("agreement.json", "report.md", "report.html"):
        assert "nan" not in (tmp_path / "out" / name).read_text("utf-8").lower()


def test_whose_scores_are_the_experts_stands_at_the_top(sheet: Path, tmp_path: Path) -> None:
    table = [{**each, "pair": n, "age": 40 + n % 30} for n, each in enumerate(rows())]
    columns = (*COLUMNS[:-2], "pair", "age", "anna", "ben")
    result = run(write(sheet, table, columns), "--metrics", "bleu", "--output", tmp_path / "out")
    first = result.output.splitlines()[0]
    for words in (
        "anna (0 to 5), ben (0 to 4)",
        "Not taken as experts: pair, age.",
        "--rater NAME",
    ):
        assert words in first
    assert found_in(tmp_path / "out")["raters"]["names"] == ["anna", "ben"]


def test_a_score_that_is_no_number_costs_one_row(sheet: Path, tmp_path: Path) -> None:
    table = rows()
    table[3]["anna"] = "good"
    result = run(write(sheet, table), "--metrics", "bleu", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert found_in(tmp_path / "out")["sheet"]["unreadable"] == 1
    assert "'good' and not a number" in result.output


def test_a_sheet_of_zeros_has_no_positive_scores(sheet: Path) -> None:
    zeros = [{**each, "anna": 0, "ben": 0} for each in rows()]
    refused = run(write(sheet, zeros), "--metrics", "bleu", "--positive-only")
    assert "no pair has an expert's score above 0" in str(refused.exception)


def test_a_report_holds_tables_figures_and_signatures(sheet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(sheet, "--metrics", "bleu,rouge_l", "--output", out, "--report")
    assert result.exit_code == 0, result.output
    page, text = ((out / f"report.{kind}").read_text("utf-8") for kind in ("html", "md"))
    for name in ("scatter", "distribution", "calibration", "forest", "heatmap"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ">bleu<" in (out / "figures" / f"{name}.svg").read_text("utf-8")
        assert f"figures/{name}.png" in text
    assert page.count("<svg") == 5
    assert "src=" not in page
    assert page.count("href=") == page.count('href="#')
    for told in (page, text):
        assert "bleu|order:4" in told
        assert "Krippendorff" in told
        assert "histoeval " in told


def test_only_a_report_needs_matplotlib_and_says_so_before_the_work(
    sheet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("histoeval.view")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = tmp_path / "out"
    result = run(sheet, "--metrics", "bleu", "--output", out, "--report")
    assert isinstance(result.exception, MissingDependency)
    assert "pip install 'histoeval[figures]'" in str(result.exception)
    assert not out.exists()
    assert run(sheet, "--metrics", "bleu", "--output", out).exit_code == 0

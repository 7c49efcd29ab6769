"""`histoeval ablate`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from histoeval.cli.main import app
from histoeval.concordance.compare import PARTS
from histoeval.errors import InputError, SettingError
from tests.support.rating_sheets import rows, write

QUICK = ("--resamples", "50", "--permutations", "20")


def run(*arguments: object) -> Result:
    told = ["ablate", *map(str, arguments), *QUICK]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    table = rows(16)
    for number, each in enumerate(table):
        each["reference"] = f"{each['organ']}: invasive ductal carcinoma, grade {1 + number % 3}."
        if number % 3:
            each["candidate"] = each["reference"].replace("invasive ductal ", "")
    return write(tmp_path / "sheet.csv", table)


def test_table_seven_and_the_parts_of_concordance_are_one_table(
    sheet: Path, tmp_path: Path
) -> None:
    result = run(sheet, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    names = [each["metric"] for each in content["metrics"]]
    assert {"hare, all", "hare, above 0.7", "hare, inverted"} <= set(names)
    assert sum(name.startswith("hare") for name in names) == 9
    assert {f"concordance without {part}" for part in PARTS} <= set(names)
    rivals = {(each["one"], each["other"]) for each in content["ranking"]["rivals"]}
    assert ("concordance", f"concordance without {PARTS[0]}") in rivals
    assert ("hare, above 0.7", "hare, inverted") in rivals


def test_above_the_threshold_is_what_hare_itself_says(sheet: Path, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[[grid]]\nmetric = "hare"\nmode = "paper"\nthreshold = 0.7\n', "utf-8")
    told = ("--of", "hare", "--grid", grid, "--output", tmp_path / "out")
    result = run(sheet, *told)
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    figures = {each["metric"]: each["pearson"] for each in content["metrics"]}
    assert figures["hare:mode=paper:threshold=0.7"] == figures["hare, above 0.7"]


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_every_combination_of_a_grid_is_a_row(sheet: Path, tmp_path: Path, ending: str) -> None:
    grid = tmp_path / f"grid.{ending}"
    table = [
        {"metric": "meteor", "matchers": ["exact", "exact+stem"], "alpha": [0.5, 0.9]},
        {"metric": "bleu"},
    ]
    text = json.dumps({"grid": table})
    if ending == "toml":
        text = (
            '[[grid]]\nmetric = "meteor"\nmatchers = ["exact", "exact+stem"]\nalpha = [0.5, 0.9]\n'
            '[[grid]]\nmetric = "bleu"\n'
        )
    grid.write_text(text, "utf-8")
    result = run(sheet, "--grid", grid, "--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "out" / "agreement.json").read_text("utf-8"))
    assert [each["metric"] for each in content["metrics"]] == [
        "meteor:matchers=exact:alpha=0.5",
        "meteor:matchers=exact:alpha=0.9",
        "meteor:matchers=exact+stem:alpha=0.5",
        "meteor:matchers=exact+stem:alpha=0.9",
        "bleu",
    ]
    assert content["metrics"][0]["signature"].startswith("meteor|")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[grid", "neither TOML"),
        ("a = 1", "no grid"),
        ("[[grid]]\nthreshold = 1", "needs a metric"),
        ('[[grid]]\nmetric = "blue"', "no metric 'blue'"),
        ('[[grid]]\nmetric = "hare"\nthreshold = 7', "threshold"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(
    sheet: Path, tmp_path: Path, text: str, told: str
) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text(text, "utf-8")
    result = run(sheet, "--grid", grid)
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)


def test_what_cannot_be_taken_apart_is_refused(sheet: Path, tmp_path: Path) -> None:
    assert isinstance(run(sheet, "--of", "bleu").exception, SettingError)
    assert isinstance(run(sheet, "--grid", tmp_path / "none.toml").exception, InputError)

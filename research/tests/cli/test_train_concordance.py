"""`histoeval train concordance`, as people run it."""

import json
from pathlib import Path

import pytest
import yaml
from research.tests.train.concordance.test_train import rows, write_sheet
from typer.testing import CliRunner, Result

from histoeval.cli.main import app
from histoeval.errors import InputError, OutputError, SettingError


def run(*arguments: object) -> Result:
    told = [*map(str, arguments)]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_sheet(tmp_path / "sheet.jsonl", rows()[:24])
    sheet = {"file": "sheet.jsonl", "name": "ours", "score": "score", "set": "set"}
    content = {"sheets": [sheet | {"criteria": True}], "folds": 2}
    file = tmp_path / "concordance.yaml"
    file.write_text(yaml.safe_dump(content), "utf-8")
    return file


def test_weights_are_fitted_and_the_card_is_shown(config: Path, tmp_path: Path) -> None:
    done = run("train", "concordance", config, "--output", tmp_path / "out", "--set", "seed=3")
    assert done.exit_code == 0, done.output
    assert "Concordance: the weights" in done.output
    assert f"Written: {tmp_path / 'out'}" in done.output
    results = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert results["pairs"] == 24
    assert results["settings"]["seed"] == 3
    assert results["sheets"][0]["name"] == "sheet.jsonl"
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "README.md",
        "combination.json",
        "results.json",
    }


def test_a_sheet_that_lies_in_the_folder_of_the_model_is_never_deleted(
    config: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.json").write_text('{"request": {}}', "utf-8")
    (tmp_path / "sheet.jsonl").rename(out / "sheet.jsonl")
    before = (out / "sheet.jsonl").read_bytes()
    moved = config.read_text("utf-8").replace("sheet.jsonl", "out/sheet.jsonl")
    config.write_text(moved, "utf-8")
    refused = run("train", "concordance", config, "--output", out, "--overwrite")
    assert isinstance(refused.exception, OutputError)
    assert "is an input of this run" in str(refused.exception)
    assert (out / "sheet.jsonl").read_bytes() == before


def test_what_is_wrong_with_the_settings_is_told(config: Path, tmp_path: Path) -> None:
    misspelt = run("train", "concordance", config, "--output", tmp_path / "o", "--set", "fold=3")
    assert isinstance(misspelt.exception, SettingError)
    assert "did you mean 'folds'?" in str(misspelt.exception)
    (tmp_path / "sheet.jsonl").unlink()
    missing = run("train", "concordance", config, "--output", tmp_path / "o")
    assert isinstance(missing.exception, InputError)
    assert "sheet.jsonl" in str(missing.exception)

"""`histoeval train aligner` and `histoeval evaluate aligner`, as people run them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("torch")
import yaml
from research.tests.support.tiny_names import settings_of, write_names, write_opposites

from benchmarks.random_models import ModelFolders
from histoeval.cli.main import app
from histoeval.errors import SettingError

pytestmark = pytest.mark.heavy


def run(*arguments: object) -> Result:
    told = [*map(str, arguments)]
    return CliRunner().invoke(app, told, env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.fixture(scope="module")
def config(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("config")
    content = settings_of(write_names(folder), tiny_models.aligner)
    content["ontologies"][0]["file"] = "names.jsonl"
    write_opposites(folder)
    file = folder / "aligner.yaml"
    file.write_text(yaml.safe_dump(content), "utf-8")
    return file


def test_an_aligner_is_trained_shown_again_and_measured(config: Path, tmp_path: Path) -> None:
    told = ("train", "aligner", config, "--output", tmp_path / "out", "--device", "cpu")
    first = run(*told, "--set", "learning.epochs=1")
    assert first.exit_code == 0, first.output
    assert "Concepts found by unseen names, among 24" in first.output
    assert "kept for testing" in first.output
    again = run(*told, "--set", "learning.epochs=1")
    assert "was finished before" in again.output
    figures = tmp_path / "figures.json"
    names, opposites = config.parent / "names.jsonl", config.parent / "opposites.jsonl"
    measured = run(
        "evaluate",
        "aligner",
        *("--aligner", tmp_path / "out", "--ontology", names, "--held-out", 0.2),
        *("--opposites", opposites, "--output", figures, "--resamples", 50),
    )
    assert measured.exit_code == 0, measured.output
    assert "Opposites distinguished" in measured.output
    found = json.loads(figures.read_text("utf-8"))
    trained = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    both = [each["retrieval"]["preferred names"]["first"] for each in (found, trained["scores"])]
    assert both[0]["value"] == both[1]["value"]
    assert found["aligner"].startswith("aligner@")


def test_an_aligner_without_a_model_can_be_measured_too(config: Path) -> None:
    measured = run("evaluate", "aligner", "--ontology", config.parent / "names.jsonl")
    assert measured.exit_code == 0, measured.output
    assert "accuracy@1" in measured.output


def test_settings_that_do_not_exist_are_told(config: Path, tmp_path: Path) -> None:
    refused = run("train", "aligner", config, "--output", tmp_path / "o", "--set", "learning.rte=1")
    assert isinstance(refused.exception, SettingError)
    assert "did you mean 'rate'?" in str(refused.exception)
    nowhere = run("train", "aligner", config)
    assert isinstance(nowhere.exception, SettingError)

"""Training an NLI model from files of pairs to the folder that is loaded without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnx")
yaml = pytest.importorskip("yaml")

from histoeval.cli.main import app
from histoeval.errors import InputError, OutputError
from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import NliPair
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.nli import train as nli
from histoeval_research.train.nli.train import NliSettings, gather, nli_request, train_nli

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

SIDES = ("left", "right")


def write_general(folder: Path) -> Path:
    rows = [
        {
            "source": "snli_test" if organ == "lung" else "snli_train",
            "premise": f"tumour of the {one} {organ}",
            "hypothesis": f"the {two} {organ}",
            "label": "entailment" if one == two else "contradiction",
        }
        for organ in ("lung", "breast", "kidney", "colon")
        for one in SIDES
        for two in SIDES
    ]
    file = folder / "general.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


@pytest.fixture(scope="module")
def told(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("pairs")
    general = write_general(folder)
    test = folder / "written.jsonl"
    test.write_text(general.read_text("utf-8"), "utf-8")
    return {
        "general": str(general),
        "test": str(test),
        "encoder": str(tiny_models.aligner),
        "pairs": {"count": 30, "rest": 6, "dev": 6},
        "tokens": 64,
        "least_pieces": 1,
        "learning": {"epochs": 1, "batch": 8},
        "notes": "Of our own | writing.",
    }


class WrittenError(Exception):
    """The model is trained, and what follows is not of interest."""


@pytest.fixture(scope="module")
def learned() -> list[dict[str, Any]]:
    """The weights of each model that was trained, in their order."""
    return []


@pytest.fixture(scope="module")
def trained(
    told: dict[str, Any],
    learned: list[dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    output = tmp_path_factory.mktemp("trained") / "nli"
    write = nli.write

    def write_and_remember(model: Any, *more: Any) -> Any:
        learned.append({name: w.clone() for name, w in model.state_dict().items()})
        return write(model, *more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nli, "write", write_and_remember)
        train_nli(NliSettings.model_validate(told), output, TrainingSite("cpu"))
    return output


def test_the_folder_is_whole_and_says_what_it_is(trained: Path) -> None:
    results = json.loads((trained / "results.json").read_text("utf-8"))
    ours = {"encoder.onnx", "tokenizer.json", "nli.json", "results.json", "README.md"}
    assert {file.name for file in trained.iterdir()} == ours
    assert results["samples"]["pairs"] == 12 + 30 + 6
    assert set(results["scores"]) == {"SNLI test", "made pairs", "written pairs"}
    assert results["scores"]["SNLI test"]["whole"]["pairs"] == 4
    card = (trained / "README.md").read_text("utf-8")
    assert "Of our own | writing." in card
    assert "learning.rate" in card
    assert "figures on made pairs below are of what was learned" in card
    assert str(trained.parent) not in card + json.dumps(results), "no word on where files lie"
    judged = BuiltinEntailer(trained).judge([NliPair("left lung", "right lung")])
    assert sum(judged[0]) == pytest.approx(1)


def test_a_finished_training_is_found_and_another_one_refused(
    told: dict[str, Any], trained: Path
) -> None:
    settings = NliSettings.model_validate(told)
    assert train_nli(settings, trained)["request"] == nli_request(settings)
    with pytest.raises(OutputError, match="different: seed"):
        train_nli(settings.model_copy(update={"seed": 9}), trained)


@pytest.mark.usefixtures("trained")
def test_two_trainings_give_the_same_weights(
    told: dict[str, Any],
    learned: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def write(model: Any, *_: Any) -> None:
        learned.append(dict(model.state_dict()))
        raise WrittenError

    monkeypatch.setattr(nli, "write", write)
    with pytest.raises(WrittenError):
        train_nli(NliSettings.model_validate(told), tmp_path / "again", TrainingSite("cpu"))
    first, second = learned[0], learned[-1]
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_is_tested_on_is_not_among_what_is_learned(told: dict[str, Any]) -> None:
    material = gather(NliSettings.model_validate(told))
    learned = {(pair.premise, pair.hypothesis) for pair in material.train}
    tested = {(p.premise, p.hypothesis) for p in material.tests["SNLI test"]}
    assert tested
    assert not tested & learned


def test_two_files_of_one_name_are_refused(told: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="same name"):
        nli_request(NliSettings.model_validate(told | {"negation": told["general"]}))


def test_the_command_finds_a_finished_training_and_measures_a_model(
    told: dict[str, Any], trained: Path, tmp_path: Path
) -> None:
    config = tmp_path / "nli.yaml"
    config.write_text(yaml.safe_dump(told), "utf-8")
    env = {"COLUMNS": "200", "TERM": "dumb"}
    again = CliRunner().invoke(
        app, ["train", "nli", str(config), "--output", str(trained)], env=env
    )
    assert again.exit_code == 0, again.output
    assert "was finished before" in again.output
    figures = tmp_path / "figures.json"
    command = ["evaluate", "nli", "--model", str(trained), "--general", told["general"]]
    command += ["--pairs", told["test"], "--output", str(figures)]
    measured = CliRunner().invoke(app, command, env=env)
    assert measured.exit_code == 0, measured.output
    assert "calibration error" in measured.output
    assert json.loads(figures.read_text("utf-8"))["SNLI test"]["whole"]["pairs"] == 4

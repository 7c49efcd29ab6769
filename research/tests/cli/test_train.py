"""`histoeval train`: ner, relations and select, as people run them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("torch")

from benchmarks.random_models import ModelFolders
from histoeval.cli.main import app
from histoeval.errors import OutputError, SettingError
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.runtime.transformer import Runtime
from tests.support.tiny_corpus import write_passages

pytestmark = pytest.mark.heavy


def run(*arguments: object) -> Result:
    told = ["train", *map(str, arguments)]
    return CliRunner().invoke(app, told, env={"COLUMNS": "160", "TERM": "dumb"})


@pytest.fixture
def config(tiny_models: ModelFolders, tmp_path: Path) -> Path:
    write_passages(tmp_path)
    file = tmp_path / "config.yaml"
    file.write_text(
        f"encoder: {tiny_models.aligner}\ntrain: corpus.jsonl\ndev: corpus.jsonl\nepochs: 1\n",
        "utf-8",
    )
    return file


def settings_in(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "results.json").read_text("utf-8"))
    return dict(found["request"]["settings"])


def test_an_entity_model_and_a_relation_model_make_a_reader(config: Path, tmp_path: Path) -> None:
    ner, relations = tmp_path / "ner", tmp_path / "relations"
    first = run("ner", config, "--output", ner, "--device", "cpu", "--set", "rate=1e-4")
    assert first.exit_code == 0, first.output
    assert "all types, overlapping" in first.output
    assert f"Written: {ner}" in first.output
    assert settings_in(ner)["rate"] == 1e-4
    second = run("relations", config, "--output", relations, "--device", "cpu")
    assert second.exit_code == 0, second.output
    assert "sampled pairs" in second.output
    reader = HuggingFaceReader(ner, relations, runtime=Runtime("cpu"))
    assert reader.reads_relations
    assert reader.read(["ER is positive."])[0].text == "ER is positive."


def test_a_finished_training_is_shown_and_only_begun_anew_when_told(
    config: Path, tmp_path: Path
) -> None:
    told = ("ner", config, "--output", tmp_path / "out", "--device", "cpu")
    table = run(*told).output.splitlines()[:-1]
    again = run(*told)
    assert again.exit_code == 0
    assert again.output.splitlines()[: len(table)] == table
    assert "was finished before; --overwrite trains it again" in again.output
    refused = run(*told, "--set", "seed=1")
    assert isinstance(refused.exception, OutputError)
    anew = run(*told, "--set", "seed=1", "--overwrite")
    assert anew.exit_code == 0
    assert settings_in(tmp_path / "out")["seed"] == 1


def test_the_output_may_stand_in_the_file_and_the_command_comes_first(
    config: Path, tmp_path: Path
) -> None:
    assert isinstance(run("ner", config).exception, SettingError)
    config.write_text(config.read_text("utf-8") + "output: here\n", "utf-8")
    assert run("ner", config, "--device", "cpu").exit_code == 0
    assert (tmp_path / "here" / "model.safetensors").exists()
    assert run("ner", config, "--device", "cpu", "--output", tmp_path / "there").exit_code == 0
    assert (tmp_path / "there" / "model.safetensors").exists()


def test_a_slip_in_a_setting_is_named(config: Path, tmp_path: Path) -> None:
    result = run("ner", config, "--output", tmp_path / "out", "--set", "epoch=3")
    assert isinstance(result.exception, SettingError)
    assert "did you mean 'epochs'?" in str(result.exception)
    assert not (tmp_path / "out").exists()
    strange = run("ner", config, "--output", tmp_path / "out", "--device", "toaster")
    assert isinstance(strange.exception, SettingError)
    assert not (tmp_path / "out").exists()


def test_somebody_who_stops_is_told_that_it_goes_on(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("histoeval_research.train.hare_bench.bench.fit", interrupted)
    result = run("ner", config, "--output", tmp_path / "out", "--device", "cpu")
    assert result.exit_code == 130
    assert "the same command resumes there" in result.output


def test_encoders_are_compared_and_one_that_cannot_be_loaded_is_told(
    tiny_models: ModelFolders, config: Path, tmp_path: Path
) -> None:
    config.write_text(
        f"encoders: {{tiny: {tiny_models.aligner}, broken: {tmp_path}}}\n"
        "train: corpus.jsonl\ndev: corpus.jsonl\nner: {epochs: 1}\n",
        "utf-8",
    )
    told = ("select", config, "--output", tmp_path / "out", "--set", "relations.epochs=1")
    result = run(*told, "--device", "cpu")
    assert result.exit_code == 1, result.output
    assert "broken was not trained" in result.output
    written = (tmp_path / "out" / "results.md").read_text("utf-8").splitlines()
    assert written[0].startswith("| encoder | parameters | NER P")
    assert [line.split(" | ")[0] for line in written[2:4]] == ["| tiny", "| broken"]
    assert settings_in(tmp_path / "out" / "tiny" / "relations-42")["epochs"] == 1

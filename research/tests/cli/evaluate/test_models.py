"""`histoeval evaluate reader`."""

import json
from pathlib import Path
from typing import Any

import pytest
from research.tests.support.annotated_passages import PASSAGE, REPORT
from research.tests.support.fake_readers import ListedReader, perfect
from typer.testing import CliRunner, Result

from histoeval.cli.evaluate import evaluate_app
from histoeval.errors import InputError, OutputError
from histoeval.report import Report
from histoeval.run import models
from histoeval_research.corpus import write_corpus
from tests.support.terminal_tables import table_rows

READER = "histoeval_research.cli.evaluate.models.load_reader"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "corpus.jsonl"
    names = [{"id": f"p{n}", "report_id": f"r{n // 2}", "source": "ab"[n // 10]} for n in range(20)]
    write_corpus(file, [PASSAGE.model_copy(update=name) for name in names])
    return file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[models.Models]:
    """Has a perfect reader loaded, whatever is asked for; what was asked for."""
    calls: list[models.Models] = []

    def load(wanted: models.Models) -> Any:
        calls.append(wanted)
        return perfect([PASSAGE])

    monkeypatch.setattr(READER, load)
    return calls


def run(*arguments: object) -> Result:
    return CliRunner().invoke(evaluate_app, ["reader", *map(str, arguments)])


def cells(result: Result, first: str) -> list[str]:
    return table_rows(result.output)[first]


def test_figures_are_told_and_written_each_time_alike(
    corpus: Path, asked: list[models.Models], tmp_path: Path
) -> None:
    out, again = tmp_path / "figures.json", tmp_path / "again.json"
    drawn = ("--corpus", corpus, "--seed", 3, "--resamples", 50)
    result = run(*drawn, "--output", out)
    assert result.exit_code == 0
    assert "20 passages of 10 reports" in result.output
    assert cells(result, "entities, exact")[:2] == ["1.000", "1.000-1.000"]
    told = json.loads(out.read_text("utf-8"))
    assert (told["corpus"], told["reader"], told["unread"]) == ("corpus.jsonl", "listed@1", 0)
    assert (told["passages"], told["reports"], told["seed"], told["resamples"]) == (20, 10, 3, 50)
    assert told["figures"]["exact"]["all"]["f1"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert told["figures"]["relations_on_gold"]["marker-result"]["gold"] == 40
    assert told["calibration"]["exact"]["error"] == 0
    assert told["missing"] == {}
    assert "sources" not in told
    run(*drawn, "--output", again)
    assert out.read_bytes() == again.read_bytes()


def test_mistakes_are_written_for_people(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Report(text=REPORT.text, entities=REPORT.entities[1:])
    monkeypatch.setattr(READER, lambda _: ListedReader([found]))
    errors = tmp_path / "errors.jsonl"
    result = run("--corpus", corpus, "--errors", errors)
    assert result.exit_code == 0
    assert "cannot go on from given entities" in result.output
    lines = [json.loads(line) for line in errors.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == [f"p{n}" for n in range(20)]
    assert [entity["text"] for entity in lines[0]["missing"]] == ["Left breast"]
    assert lines[0]["invented"] == lines[0]["mistyped"] == []
    monkeypatch.setattr(READER, lambda _: perfect([PASSAGE]))
    assert run("--corpus", corpus, "--errors", errors).exit_code == 0
    assert errors.read_text("utf-8") == ""


def test_models_and_labels_are_passed_on(
    corpus: Path, asked: list[models.Models], tmp_path: Path
) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text('{"Dx": "diagnosis"}', "utf-8")
    corpus.write_text(corpus.read_text("utf-8").replace('"diagnosis"', '"Dx"'), "utf-8")
    chosen = {"reader": "folder", "relations": "other", "device": "cpu", "dtype": "float32"}
    options = [part for name, value in chosen.items() for part in (f"--{name}", value)]
    result = run("--corpus", corpus, "--labels", labels, "--from", "ours", *options)
    assert result.exit_code == 0
    expected = models.Models.model_validate(chosen | {"labels": {"Dx": "diagnosis"}})
    assert asked == [expected]


def test_a_row_that_cannot_be_read_is_told_and_counted(
    corpus: Path, asked: list[models.Models], tmp_path: Path
) -> None:
    out = tmp_path / "figures.json"
    corpus.write_text(corpus.read_text("utf-8") + '{"id": "x"}\nnot JSON\n', "utf-8")
    result = run("--corpus", corpus, "--output", out)
    assert result.exit_code == 1
    for told in ("20 passages of 10 reports", "2 of 22 passages skipped", "broken_annotation"):
        assert told in result.output
    assert json.loads(out.read_text("utf-8"))["unread"] == 2


def test_nothing_is_loaded_for_what_cannot_be_read_or_written(
    corpus: Path, asked: list[models.Models], tmp_path: Path
) -> None:
    for place in (tmp_path / "none" / "figures.json", tmp_path):
        assert isinstance(run("--corpus", corpus, "--output", place).exception, OutputError)
    assert isinstance(run("--corpus", tmp_path / "none.jsonl").exception, InputError)
    corpus.write_text('{"id": "x", "text": "a", "entities": 3}\n', "utf-8")
    result = run("--corpus", corpus)
    assert isinstance(result.exception, InputError)
    assert "row 1, line 1" in str(result.exception)
    assert asked == []

"""The joint reader's training as a whole: the folder at the end, and what others make of it."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from research.tests.support.reader_corpus import KNOWN, write_bench
from typer.testing import CliRunner

from histoeval.cli.main import app
from histoeval.reader.builtin import BuiltinReader
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.reader import Completer
from histoeval.report import Assertion, Report
from histoeval.runtime.transformer import Runtime
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.reader.config import ReaderSettings
from histoeval_research.train.reader.torch_reader import TorchReader
from histoeval_research.train.reader.train import SHIPPED, ReaderTraining, train_reader
from tests.support.tiny_corpus import Learned

pytestmark = pytest.mark.heavy

CPU = TrainingSite("cpu")


@pytest.fixture(scope="module")
def known(plain_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    """A reader that went through all steps and then learned its passages by heart."""
    folder = tmp_path_factory.mktemp("known")
    told = write_bench(folder, plain_encoder, plain_encoder).settings | {
        "dev": folder / "train.jsonl",
        "fit": {"epochs": 60, "batch": 4, "rate": 5e-3, "warm_up": 0.1},
        "notes": "Written by hand.",
    }
    train_reader(ReaderSettings.model_validate(told), folder / "reader", CPU)
    return Learned(folder / "reader", told)


@pytest.fixture(scope="module")
def results(known: Learned) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((known.folder / "results.json").read_text("utf-8"))
    return found


def found_in(report: Report) -> list[tuple[Any, ...]]:
    return [(e.start, e.end, e.type, e.assertion) for e in report.entities]


def related_in(report: Report) -> set[tuple[int, int]]:
    return {(relation.head, relation.tail) for relation in report.relations}


# ---- the folder at the end


def test_a_reader_that_learned_its_passages_gives_them_back(known: Learned) -> None:
    reports = BuiltinReader(known.folder).read([given.text for given in KNOWN])
    for given, report in zip(KNOWN, reports, strict=True):
        assert found_in(report) == found_in(given.content)
        assert related_in(report) == related_in(given.content)
    assert Assertion.ABSENT in {entity.assertion for entity in reports[-1].entities}


def test_transformers_finds_the_same_entities_in_the_folder(known: Learned) -> None:
    texts = [given.text for given in KNOWN]
    ours = BuiltinReader(known.folder).read(texts)
    theirs = HuggingFaceReader(known.folder, None, runtime=Runtime("cpu", "float32")).read(texts)
    for one, other in zip(ours, theirs, strict=True):
        assert [e[:3] for e in found_in(one)] == [e[:3] for e in found_in(other)]
    assert min(entity.score for report in theirs for entity in report.entities) > 0.7


def test_the_results_have_the_figures_of_each_step_and_of_what_was_written(
    results: dict[str, Any],
) -> None:
    on_the_way = ["teacher 1", "teacher 2", "all teachers", "student"]
    assert list(results["steps"]) == [*on_the_way, "student, fitted", SHIPPED]
    for name in ("student, fitted", SHIPPED):
        scores = results["steps"][name]
        assert {heading: score["value"] for heading, score in scores.items()} == {
            "exact": 1.0,
            "HARE five": 1.0,
            "overlap": 1.0,
            "relations on gold": 1.0,
            "relations end to end": 1.0,
            "assertion": 1.0,
            "absent": 1.0,
        }
    assert results["scores"]["figures"]["exact"]["all"]["gold"] == 26
    assert results["shared_reports"] == 4


def test_the_card_tells_data_steps_confidence_weights_limits_and_notes(
    known: Learned, results: dict[str, Any]
) -> None:
    card = (known.folder / "README.md").read_text("utf-8")
    assert "| student, fitted | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in card
    assert "| exact | all | 26 | 26 | 1.000 | 1.000 | 1.000 (1.000 to 1.000) |" in card
    worth = results["calibration"]["exact"]
    assert f"| exact | 26 | {worth['before']:.3f} | {worth['after']:.3f} |" in card
    assert "| fit.rate | 0.005 |" in card
    assert "13 unlabelled texts were read" in card
    assert "Teachers labelled 28 windows" in card
    assert "\nWritten by hand.\n" in card
    assert all(digest in card for digest in results["weights"].values())
    assert "## Limits" in card


def test_nothing_written_says_where_files_lie(known: Learned) -> None:
    for name in (
        "results.json",
        "README.md",
        "reader.json",
        "config.json",
        "tokenizer_config.json",
    ):
        assert str(known.folder.parent) not in (known.folder / name).read_text("utf-8"), name


def test_the_command_shows_what_each_step_gave(known: Learned, tmp_path: Path) -> None:
    told = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in known.settings.items()
    }
    config = tmp_path / "reader.yaml"
    config.write_text(json.dumps(told), "utf-8")
    told_to = ["train", "reader", str(config), "--output", str(known.folder)]
    shown = CliRunner().invoke(app, told_to, env={"COLUMNS": "160", "TERM": "dumb"})
    assert shown.exit_code == 0, shown.output
    assert "relations on gold" in shown.output
    assert SHIPPED in shown.output
    assert "calibration error of exact" in shown.output
    assert "was finished before" in shown.output


# ---- readers in torch


def student_of(known: Learned) -> TorchReader:
    settings = ReaderSettings.model_validate(known.settings)
    course = ReaderTraining(settings, known.folder.with_name("reader.work"), CPU)
    encoder, (model,) = course.readers("student", [course.student])
    return TorchReader([model, model], encoder.fast, "cpu")


def test_torch_and_onnx_read_the_same_up_to_rounding(known: Learned) -> None:
    slow, shipped = student_of(known), BuiltinReader(known.folder)
    texts = [f"{given.text} {other.text}" for given in KNOWN for other in KNOWN]
    for one, other in zip(slow.read(texts), shipped.read(texts), strict=True):
        assert found_in(one) == found_in(other)
        unsure = related_in(one) ^ related_in(other)
        scores = {(r.head, r.tail): r.score for r in (*one.relations, *other.relations)}
        assert all(scores[link] < 0.55 for link in unsure), "only what was a toss-up may differ"


def test_a_reader_in_torch_goes_on_from_given_entities(known: Learned) -> None:
    reader = student_of(known)
    assert isinstance(reader, Completer)
    bare = [Report(text=given.text, entities=given.content.entities) for given in KNOWN]
    for given, report in zip(KNOWN, reader.complete(bare), strict=True):
        assert found_in(report) == found_in(given.content)
        assert related_in(report) == related_in(given.content)

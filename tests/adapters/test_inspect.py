"""inspect_ai: our metrics score its samples, and its logs are written and read."""

from pathlib import Path
from typing import Any

import pytest

import histoeval
from tests.support.score_runs import CASES, make_score_run

inspect_ai = pytest.importorskip("inspect_ai")

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.solver import Solver, solver

from histoeval.adapters.inspect import report_score, write_logs

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

SAMPLES = [
    ("first", ["Colon: adenoma."], "Colon: adenoma."),
    ("second", ["Skin.", "Colon: tubular adenoma."], "Colon: adenoma."),
    ("third", ["Colon: adenoma."], ""),
]


@solver  # type: ignore[untyped-decorator]
def ready() -> Solver:
    """Reports that were written before, so that no model is asked."""

    async def solve(state: Any, generate: Any) -> Any:
        state.output.completion = state.metadata["report"]
        return state

    return solve


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The log of an evaluation of three samples, the last without a report."""
    samples = [
        Sample(id=name, input="Write.", target=target, metadata={"report": text})
        for name, target, text in SAMPLES
    ]
    (log,) = inspect_ai.eval(
        inspect_ai.Task(
            MemoryDataset(samples), solver=ready(), scorer=report_score("rouge_l,bleu")
        ),
        model="mockllm/model",
        log_dir=str(tmp_path_factory.mktemp("logs")),
        display="none",
    )
    assert log.status == "success", log.error
    return log


def test_the_scorer_has_means_and_standard_errors_of_each_metric(log: Any) -> None:
    found = {score.name: score for score in log.results.scores}
    assert set(found) == {"rouge_l", "bleu"}
    rouge = histoeval.load("rouge_l")
    best = rouge("Colon: tubular adenoma.", "Colon: adenoma.").value
    assert found["rouge_l"].metrics["mean"].value == pytest.approx((1 + best) / 2)
    assert found["rouge_l"].metrics["stderr"].value == pytest.approx((1 - best) / 2)
    assert (found["bleu"].scored_samples, found["bleu"].unscored_samples) == (2, 1)


def test_samples_have_parts_signature_and_the_reason_for_no_score(log: Any) -> None:
    first, _, third = (sample.scores["report_score"] for sample in log.samples)
    assert first.metadata["rouge_l"]["parts"] == {"precision": 1, "recall": 1}
    assert first.metadata["bleu"]["signature"].startswith("bleu|")
    assert "rouge_l: no score: candidate is empty" in third.explanation


def test_the_log_of_an_evaluation_is_scored_as_a_table(log: Any, tmp_path: Path) -> None:
    plain = tmp_path / "log.json"
    write_eval_log(log, str(plain))
    for path in (log.location, plain):
        results = histoeval.score(path, metrics="rouge_l", several_references="best")
        assert results.summary["input"]["format"] == "inspect log"
        assert results["first", "mockllm/model"].scores["rouge_l"].value == 1
        assert 0.5 < results["second"].scores["rouge_l"].value < 1
        assert results["third"].errors[0].code == "empty_text"


def test_a_run_is_written_as_a_log_for_each_system(tmp_path: Path) -> None:
    files = write_logs(make_score_run(tmp_path / "run"))
    assert [each.name for each in files] == ["a.eval", "b.eval"]
    assert {each.stat().st_mode & 0o777 for each in files} == {0o600}
    found = read_eval_log(str(files[0]))
    assert found.eval.model == "none/a"
    (marking,) = [score for score in found.results.scores if score.name == "marking"]
    assert marking.metrics["mean"].value == 0.75
    samples = {sample.id: sample for sample in found.samples}
    sample = samples["breast-1"]
    assert sample.scores["marking"].value == 0.5
    assert sample.scores["marking"].explanation.startswith("wrong_laterality (severity 4)")
    assert "adenoma" not in found.model_dump_json()
    assert samples["blank"].metadata["problems"] == ["empty_text"]


def test_a_log_with_texts_is_read_back_as_it_was(tmp_path: Path) -> None:
    run = make_score_run(tmp_path / "run")
    files = write_logs(run, tmp_path / "logs", texts=True)
    again = histoeval.score(str(files[0]), metrics="bleu")
    first = histoeval.score(
        [{"id": key, "reference": one, "a": two} for key, (one, two) in CASES.items()],
        metrics="bleu",
        candidate="a",
    )
    for row in first:
        assert again[row.id, "a"].scores["bleu"] == row.scores["bleu"]
    inspect_ai.score(read_eval_log(str(files[0])), report_score("rouge_l"), display="none")


def test_a_row_whose_id_was_used_before_hides_no_sample(tmp_path: Path) -> None:
    rows = [{"id": "x", "reference": "a", "candidate": text} for text in ("a", "b", "c")]
    histoeval.score(rows, metrics="rouge_l", output=tmp_path / "r")
    found = read_eval_log(str(*write_logs(tmp_path / "r")))
    assert [sample.id for sample in found.samples] == ["x", "x row 2", "x row 3"]
    assert found.samples[0].scores["rouge_l"].value == 1


def test_systems_whose_names_come_to_the_same_have_files_of_their_own(tmp_path: Path) -> None:
    record = {"reference": "a", "x 1": "a", "x/1": "a", "🙂": "a"}
    systems = ["x 1", "x/1", "🙂"]
    histoeval.score([record], metrics="rouge_l", candidate=systems, output=tmp_path / "r")
    files = write_logs(tmp_path / "r")
    assert [each.name for each in files] == ["x_1.eval", "x_1_2.eval", "_.eval"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.eval", b""),
        ("text.eval", b"id,reference\n"),
        ("zip.eval", b"PK\x03\x04 broken"),
        ("cut.json", b'{"version": 2, "status": "success", "eval": {'),
    ],
)
def test_a_damaged_log_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(histoeval.InputError, match=f"{name} is not a whole log of inspect_ai"):
        histoeval.score(tmp_path / name, metrics="rouge_l")

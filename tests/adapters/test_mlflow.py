"""A run in MLflow, as MLflow itself reads it back; and a metric as a scorer of its evaluation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from histoeval import HistoEvalError
from tests.support.score_runs import CASES, make_score_run

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("pandas")

from histoeval.adapters.mlflow import log_run, scorer

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings(
        "ignore::UserWarning:mlflow", "ignore::FutureWarning:mlflow", "ignore::DeprecationWarning"
    ),
]


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A store of files: the default one is a database, which mlflow-skinny does not bring."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield
    mlflow.set_tracking_uri(before)


def test_a_run_is_logged_without_its_texts(tmp_path: Path) -> None:
    logged = mlflow.get_run(log_run(make_score_run(tmp_path / "nightly")))
    assert logged.info.run_name == "nightly"
    assert logged.info.status == "FINISHED"
    assert logged.data.metrics["marking/mean/b"] == 0.95
    assert logged.data.metrics["marking/critical_errors/a"] == 1
    assert logged.data.params["signature/bleu"].startswith("bleu|order:4|")
    assert files_of(logged) == ["rows.json"]
    stored = "".join(each.read_text("utf-8") for each in (tmp_path / "store").rglob("*.json"))
    assert "adenoma" not in stored
    table = rows_of(logged)
    assert table["columns"][:3] == ["id", "system", "marking"]
    assert table["data"][0][:3] == ["breast-1", "a", 0.5]


def test_texts_are_logged_on_request(tmp_path: Path) -> None:
    logged = mlflow.get_run(log_run(make_score_run(tmp_path / "run"), texts=True))
    assert {"rows.json", "scores.jsonl", "texts.jsonl"} <= set(files_of(logged))
    assert CASES["colon-1"][0] in json.dumps(rows_of(logged))


def test_an_active_run_is_used_and_left_open(tmp_path: Path) -> None:
    with mlflow.start_run() as mine:
        assert log_run(make_score_run(tmp_path / "run"), rows=False) == mine.info.run_id
        mlflow.log_metric("after", 1)
    logged = mlflow.get_run(mine.info.run_id)
    assert {"after", "bleu/corpus/a"} <= set(logged.data.metrics)
    assert files_of(logged) == []


def test_names_that_mlflow_forbids_are_changed(tmp_path: Path) -> None:
    import histoeval

    record = {"reference": "a b", "modèle 🙂": "a b", "modèle ?": "c d"}
    systems = ["modèle 🙂", "modèle ?"]
    histoeval.score([record], metrics="rouge_l:stem=1", candidate=systems, output=tmp_path / "r")
    found = mlflow.get_run(log_run(tmp_path / "r")).data.metrics
    assert found["rouge_l_stem_1/mean/mod_le _"] == 1
    assert found["rouge_l_stem_1/mean/mod_le __"] == 0


def test_a_metric_is_a_scorer_with_its_reasons() -> None:
    rouge = scorer("rouge_l")
    found = rouge(outputs="a b", expectations={"expected_response": "a c"})
    assert (found.name, found.value) == ("rouge_l", 0.5)
    assert found.metadata["signature"].startswith("rouge_l|")
    assert rouge(outputs={"report": "a c"}, expectations={"expected_response": "a c"}).value == 1
    with pytest.raises(HistoEvalError, match="reference"):
        rouge(outputs="a b", expectations={})
    assert scorer("bleu:order=2").name == "bleu_order_2"


@pytest.mark.release
def test_its_evaluation_runs_with_the_scorer() -> None:
    rows: list[dict[str, Any]] = [
        {"inputs": {"case": n}, "outputs": text, "expectations": {"expected_response": "a b"}}
        for n, text in enumerate(["a b", "c d"])
    ]
    found = mlflow.genai.evaluate(data=rows, scorers=[scorer("rouge_l"), scorer("rouge_l:stem=1")])
    assert found.metrics == {"rouge_l/mean": 0.5, "rouge_l_stem_1/mean": 0.5}


def files_of(run: Any) -> list[str]:
    found = mlflow.artifacts.list_artifacts(run_id=run.info.run_id, artifact_path="histoeval")
    return [each.path.rpartition("/")[2] for each in found]


def rows_of(run: Any) -> Any:
    return mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/histoeval/rows.json")

"""Runs in MLflow: settings as parameters, means as metrics, rows as a table; and a scorer.

>>> from histoeval.adapters.mlflow import log_run
>>> log_run("results")
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from histoeval import api
from histoeval.adapters import imported
from histoeval.adapters.answers import best_answers, explanation
from histoeval.adapters.runs import TrackedRun, read_run
from histoeval.errors import HistoEvalError, Problem
from histoeval.run.models import Models

T = TypeVar("T")

mlflow = imported("mlflow", "mlflow")

FOLDER = "histoeval"  # where in the artifacts of a run the table and the files are
LONGEST_PARAMETER = 6000


def log_run(folder: str | Path, *, rows: bool = True, texts: bool = False) -> str:
    """Log a finished run of `score`, `judge` or `trust` to the tracking server that MLflow uses.

    Args:
        folder: the folder of the run.
        rows: also a table with the scores of each row, by id.
        texts: also report texts, evidence and messages, and the files of the run as they are.
            Reports are health data: is the server a place for them?

    Returns:
        The id of the MLflow run: the active one, or a new one, which is called like the folder.
    """
    tracked = read_run(folder, rows=rows, texts=texts)
    if (active := mlflow.active_run()) is not None:
        _log(tracked)
        return str(active.info.run_id)
    with mlflow.start_run(run_name=tracked.name) as run:
        _log(tracked)
        return str(run.info.run_id)


def _log(run: TrackedRun) -> None:
    settings = {name: text[:LONGEST_PARAMETER] for name, text in run.settings.items()}
    mlflow.log_params(_by_plain_name(settings))
    mlflow.log_metrics(_by_plain_name(run.numbers))
    if run.rows:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "For backward compatibility, 'str' dtypes")
            mlflow.log_table(run.columns, f"{FOLDER}/rows.json")
    for file in run.files:
        mlflow.log_artifact(str(file), FOLDER)


def _by_plain_name(values: Mapping[str, T]) -> dict[str, T]:
    """Rename values as MLflow allows, and keep the names distinct."""
    by_name: dict[str, T] = {}
    for name, value in values.items():
        plain = _plain(name)
        while plain in by_name:
            plain += "_"
        by_name[plain] = value
    return by_name


def _plain(name: str) -> str:
    return re.sub(r"[^\w./ -]", "_", name, flags=re.ASCII)


def scorer(spec: str = "concordance", *, models: Models | None = None) -> Any:
    """A metric as a scorer of `mlflow.genai.evaluate`.

    It compares `outputs` with ``expectations["expected_response"]``: texts, or the only text of a
    dict. Where there is no score, MLflow shows the reason. It is called like the metric, with an
    underscore for each character that MLflow does not allow, as in ``bleu_order_2``.

    Args:
        spec: a name as `histoeval.list_metrics` gives it, with settings as in ``bleu:order=2``.
        models: the reader, aligner, encoder or judge to use; by default those of this package.
    """
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer as declared

    metric = api.load(spec, models=models)
    name = _plain(metric.name)

    @declared(name=name)  # type: ignore[untyped-decorator]
    def score(outputs: Any, expectations: Any) -> Any:
        if isinstance(outputs, Mapping):
            texts = [text for text in outputs.values() if isinstance(text, str)]
            outputs = texts[0] if len(texts) == 1 else None
        expected: Any = (expectations or {}).get("expected_response")
        (answer,) = best_answers(metric, [outputs], [expected])
        if isinstance(answer, Problem):
            raise HistoEvalError(f"{metric.name}: {answer.message}")
        metadata = {"signature": str(metric.signature)}
        metadata |= {part: str(value) for part, value in answer.parts.items()}
        rationale = explanation(answer) or None
        return Feedback(name=name, value=answer.value, rationale=rationale, metadata=metadata)

    return score

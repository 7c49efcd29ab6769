"""A scorer for inspect_ai, and runs written as its logs.

    >>> from histoeval.adapters.inspect import report_score
    >>> Task(dataset=..., scorer=report_score("concordance"))

`histoeval score log.eval` reads the logs of inspect_ai (`io/tables/inspect_log.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from histoeval.adapters import imported
from histoeval.adapters.answers import best_answers, explanation
from histoeval.adapters.runs import error_kinds
from histoeval.errors import Problem
from histoeval.io.finished_run import beside, finished_run
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.io.store import read_json
from histoeval.io.tables.binary import NO_MODEL
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.metric import Metric
from histoeval.run.models import load_metrics

imported("inspect_ai", "inspect")

import anyio.to_thread  # noqa: E402 - with inspect_ai
from inspect_ai import log as logs  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr  # noqa: E402
from inspect_ai.solver import TaskState  # noqa: E402


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def report_score(metrics: str = "concordance") -> Scorer:
    """Score what the model wrote against the target; of several targets the best counts.

    The explanation of a sample lists its errors with their severity, its metadata have the parts
    and the signature of each metric. A metric that has no score for a sample is left out of its
    mean, and the explanation says why.

    Args:
        metrics: names as `histoeval.list_metrics` gives them, with commas, as in
            ``concordance,bleu:order=2``.
    """
    loaded = load_metrics(metrics)
    one_at_a_time = anyio.CapacityLimiter(1)

    async def score(state: TaskState, target: Target) -> Score:
        return await anyio.to_thread.run_sync(
            _score, loaded, state.output.completion, list(target), limiter=one_at_a_time
        )

    return score


def _score(metrics: list[Metric], candidate: str, references: list[str]) -> Any:
    values, lines, metadata = {}, [], {}
    for metric in metrics:
        (answer,) = best_answers(metric, [candidate], [references])
        if isinstance(answer, Problem):
            values[metric.name] = float("nan")
            lines.append(f"{metric.name}: no score: {answer.message}")
            continue
        values[metric.name] = answer.value
        lines.append(f"{metric.name}: {answer.value:.4f}\n{explanation(answer)}".rstrip())
        metadata[metric.name] = {"parts": dict(answer.parts), "signature": str(metric.signature)}
    return Score(value=values, answer=candidate, explanation="\n".join(lines), metadata=metadata)


def write_logs(
    folder: str | Path, output: str | Path | None = None, *, texts: bool = False
) -> list[Path]:
    """Write a finished run of `score` or `judge` as logs of inspect_ai, one for each system.

    Args:
        folder: the folder of the run.
        output: the folder for the logs; by default `inspect` in that of the run.
        texts: also reports, evidence and messages; without them samples have ids and scores.

    Returns:
        The files, which `inspect view` and `inspect_ai.log.read_eval_log` open.
    """
    run = finished_run(Path(folder))
    if run.kind not in ("score", "judge"):
        raise wrong_folder(run.place, f"is of `{run.kind}`", "a folder of `score` or `judge`")
    summary = read_json(run.place / "summary.json", run.place)
    finished = datetime.fromtimestamp((run.place / "summary.json").stat().st_mtime, UTC).isoformat()
    stored = ({"id": row.id, "whole": row} for row in ResultFolder(run.place))
    samples: dict[str, dict[str, Any]] = {}
    for entry, contents in beside(stored, run.place) if texts else ((row, None) for row in stored):
        row: Any = entry["whole"]
        system = row.system or "candidate"
        system_samples = samples.setdefault(system, {})
        name = f"{row.id} row {row.row}" if row.id in system_samples else row.id
        system_samples[name] = _sample(row, name, system, contents)
    log_folder = Path(output or run.place / "inspect")
    with writing_to(log_folder):
        make_folder(log_folder)
        files = [log_folder / name for name in _file_names(samples)]
        for file, system in zip(files, samples, strict=True):
            write_whole(
                file, _content(_log(summary, system, finished, list(samples[system].values())))
            )
    return files


def _sample(row: ResultRow, name: str, system: str, texts: Mapping[str, Any] | None) -> Any:
    """Make a sample of a log; without texts, kinds of errors replace messages."""
    known_texts = texts or {}
    candidate = known_texts.get("candidate") or ""
    scores = {}
    for metric, result in row.scores.items():
        metadata: dict[str, Any] = {"parts": dict(result.parts)}
        if texts is None:
            message = error_kinds(result.evidence.get("errors", ()))
        else:
            message = explanation(result)
            metadata["evidence"] = result.evidence
        scores[metric] = Score(value=result.value, explanation=message or None, metadata=metadata)
    problems = [problem.code if texts is None else problem.message for problem in row.errors]
    return logs.EvalSample(
        id=name,
        epoch=1,
        input="",
        target=known_texts.get("reference") or "",
        output=ModelOutput.from_content(system, candidate),
        scores=scores,
        metadata={"row": row.row} | ({"problems": problems} if problems else {}),
    )


def _log(summary: Mapping[str, Any], system: str, finished_at: str, samples: list[Any]) -> Any:
    source = summary["input"]
    names = [sample.id for sample in samples]
    dataset = logs.EvalDataset(name=source["name"], samples=len(samples), sample_ids=names)
    scores = []
    for name, metric in summary["metrics"].items():
        values = [sample.scores[name].value for sample in samples if name in sample.scores]
        totals = {"mean": fmean(values)} if values else {}
        if len(values) > 1:
            totals["stderr"] = stdev(values) / len(values) ** 0.5
        scores.append(
            logs.EvalScore(
                name=name,
                scorer=name,
                scored_samples=len(values),
                metrics={
                    total: logs.EvalMetric(name=total, value=value)
                    for total, value in totals.items()
                },
                metadata={"signature": metric["signature"]},
            )
        )
    return logs.EvalLog(
        status="success",
        eval=logs.EvalSpec(
            created=finished_at,
            task="histoeval",
            model=NO_MODEL + system,
            dataset=dataset,
            config=logs.EvalConfig(),
            packages={"histoeval": summary["histoeval"]},
            metadata={"input_sha256": source["sha256"]},
        ),
        results=logs.EvalResults(
            total_samples=len(samples), completed_samples=len(samples), scores=scores
        ),
        stats=logs.EvalStats(started_at=finished_at, completed_at=finished_at),
        samples=samples,
    )


def _content(log: Any) -> bytes:
    """Return the bytes of a log as inspect_ai writes it; the file is written by our own code."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "log.eval")
        logs.write_eval_log(log, str(file))
        return file.read_bytes()


def _file_names(systems: Iterable[str]) -> Iterator[str]:
    used_names: set[str] = set()
    for system in systems:
        plain = re.sub(r"[^\w.-]+", "_", system).lstrip(".")[:100] or "system"
        numbered = (f"{plain}_{number}" for number in count(2))
        name = next(name for name in chain([plain], numbered) if name not in used_names)
        used_names.add(name)
        yield f"{name}.eval"

"""Scoring in one line of Python: ``histoeval.score("pairs.csv", metrics="bleu,rouge_l")``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import SettingError
from histoeval.io.results import ResultFolder
from histoeval.io.tables.columns import Columns
from histoeval.metric import Metric
from histoeval.metrics.registry import METRICS, create
from histoeval.progress import row_progress
from histoeval.run.inputs import Texts, pair_source
from histoeval.run.models import Models, load_models
from histoeval.run.results import Scores
from histoeval.run.score import score_source

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l,chrf"


def score(
    data: Any = None,
    *,
    references: Texts | None = None,
    candidates: Texts | Mapping[str, Texts] | None = None,
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    output: str | Path | None = None,
    reference: str | None = None,
    candidate: str | Sequence[str] = (),
    id: str | None = None,  # noqa: A002 - the name people give the column
    system: str | None = None,
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int = 256,
    overwrite: bool = False,
) -> Scores:
    """Score candidates against references.

    Args:
        data: a table file (csv, tsv, jsonl, json, parquet); a list of files or folders (the
            references, then the candidates of each system); a polars or pandas frame; or
            records (dicts). Or leave it out and give `references` and `candidates`.
        references: a reference or a list of them, in place of `data`.
        candidates: as many candidates, or such a list for each of several systems.
        metrics: names as `histoeval metrics` lists them, with settings as in
            ``hare:threshold=0.5``; a list or one text with commas.
        output: a folder for scores.jsonl and summary.json; a stopped run resumes there.
        reference: the column that holds the reference, where it cannot be guessed.
        candidate: the column or columns that hold candidates.
        id: the column that names a pair.
        system: the column that names the system that wrote a candidate.
        encoding: of text files, where it cannot be guessed.
        models: the reader, aligner and encoder to use.
        batch_size: pairs handled together; it never changes a score.
        overwrite: replace what `output` holds.

    Returns:
        A summary, the rows, and frames of them. Without `output` the rows are held in memory.
    """
    wanted = metric_names(metrics)
    named = (candidate,) if isinstance(candidate, str) else tuple(candidate)
    source = pair_source(
        data,
        references=references,
        candidates=candidates,
        columns=Columns(reference=reference, candidates=named, id=id, system=system),
        encoding=encoding,
    )
    with row_progress(source) as watch:
        return score_source(
            source,
            make_metrics(wanted, models),
            None if output is None else ResultFolder(Path(output)),
            overwrite=overwrite,
            batch_size=batch_size,
            watch=watch,
        )


def metric_names(specs: str | Sequence[str]) -> list[str]:
    """The specifications in a list, each checked before work begins."""
    names = specs.split(",") if isinstance(specs, str) else list(specs)
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted:
        raise SettingError(f"no metric was named; known: {', '.join(sorted(METRICS))}")
    for spec in wanted:
        create(spec)
    return wanted


def make_metrics(specs: Sequence[str], models: Models | None = None) -> list[Metric]:
    """The metrics that checked specifications name, with the models they need."""
    loaded = load_models(specs, models or Models())
    return [create(spec, loaded) for spec in specs]

"""Scoring in one line of Python: ``histoeval.score("pairs.csv", metrics="bleu,rouge_l")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.io.pairs import PairSource
    from histoeval.io.results import ResultRow
    from histoeval.metric import Metric
    from histoeval.run.models import Models
    from histoeval.run.results import Scores

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l,chrf"

Texts = Sequence[str]


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
        references: reference texts, in place of `data`.
        candidates: as many candidate texts, or such a list for each of several systems.
        metrics: names as `histoeval metrics` lists them, with settings as in
            ``hare:threshold=0.5``; a list or one text with commas.
        output: a folder for scores.jsonl and summary.json; a stopped run is continued there.
        reference: the column that holds the reference, where it cannot be guessed.
        candidate: the column or columns that hold candidates.
        id: the column that names a pair.
        system: the column that names the system that wrote a candidate.
        encoding: of text files, where it cannot be told.
        models: the reader, aligner and encoder to use.
        batch_size: pairs handled together; it never changes a score.
        overwrite: replace what `output` holds.

    Returns:
        A summary, the rows, and frames of them. Without `output` the rows are held in memory.
    """
    from histoeval.io.pairs import Columns
    from histoeval.io.results import ResultFolder
    from histoeval.progress import row_progress
    from histoeval.run.results import Scores
    from histoeval.run.score import run

    wanted = metric_names(metrics)
    named = (candidate,) if isinstance(candidate, str) else tuple(candidate)
    columns = Columns(reference=reference, candidates=named, id=id, system=system)
    if data is None:
        data = _records(references, candidates)
    elif references is not None or candidates is not None:
        raise SettingError("give data, or references and candidates, not both")
    source = _source(data, columns, encoding)
    folder = None if output is None else ResultFolder(Path(output))
    kept: list[ResultRow] = []
    with row_progress(source) as watch:
        summary = run(
            source,
            make_metrics(wanted, models),
            folder=folder,
            overwrite=overwrite,
            batch_size=batch_size,
            hear=kept.append if folder is None else None,
            watch=watch,
        )
    return Scores(summary, kept if folder is None else folder)


def metric_names(specs: str | Sequence[str]) -> list[str]:
    """The specifications in a list, each checked, so that a slip is said before work begins."""
    from histoeval.metrics.registry import METRICS, create

    names = specs.split(",") if isinstance(specs, str) else list(specs)
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not wanted:
        raise SettingError(f"no metric was named; known: {', '.join(sorted(METRICS))}")
    for spec in wanted:
        create(spec)
    return wanted


def make_metrics(specs: Sequence[str], models: Models | None = None) -> list[Metric]:
    """The metrics that checked specifications name, with the models they need."""
    from histoeval.metrics.registry import create
    from histoeval.run.models import Models, load_models

    loaded = load_models(specs, models or Models())
    return [create(spec, loaded) for spec in specs]


def _source(data: Any, columns: Any, encoding: str | None) -> PairSource:
    from histoeval.io.pairs import open_source, source_of_records

    if isinstance(data, str | Path):
        return open_source([Path(data)], columns, encoding)
    data = records_of(data)
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise SettingError(
            f"data is of type {type(data).__name__}; it must be a file, a list of files or "
            "folders, a polars or pandas frame, or a list of records such as "
            "{'id': ..., 'reference': ..., 'candidate': ...}"
        )
    items = list(data)
    if items and all(isinstance(item, str | Path) for item in items):
        return open_source([Path(item) for item in items], columns, encoding)
    return source_of_records([_record(item) for item in items], columns)


def records_of(data: Any) -> Any:
    """The rows of a data frame as records; what is no frame, as it is."""
    if hasattr(data, "collect"):  # a lazy polars frame
        data = data.collect()
    if hasattr(data, "iter_rows"):
        return list(data.iter_rows(named=True))
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        return data.astype(object).where(data.notna(), None).to_dict(orient="records")
    return data


def _record(item: Any) -> Mapping[str, Any]:
    """A mapping as a dict, which has a hash of its own content; a `Pair` by its fields."""
    if isinstance(item, Mapping):
        return dict(item)
    record: Mapping[str, Any] = item.model_dump() if hasattr(item, "model_dump") else item
    return record


def _records(
    references: Texts | None, candidates: Texts | Mapping[str, Texts] | None
) -> list[dict[str, Any]]:
    if references is None or candidates is None:
        raise SettingError("give data, or both references and candidates")
    references = list(references) if not isinstance(references, str) else references
    systems = candidates if isinstance(candidates, Mapping) else {"candidate": candidates}
    if any(isinstance(texts, str) for texts in (references, *systems.values())):
        raise SettingError("references and candidates must be lists of texts, not one text")
    for name, texts in systems.items():
        if len(texts) != len(references):
            raise SettingError(
                f"{name} has {len(texts)} texts for {len(references)} references; "
                "there must be one for each"
            )
    return [
        {"id": str(position), "system": name, "reference": reference, "candidate": text}
        for name, texts in systems.items()
        for position, (reference, text) in enumerate(zip(references, texts, strict=True))
    ]

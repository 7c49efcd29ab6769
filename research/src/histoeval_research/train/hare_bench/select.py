"""`histoeval train select`: several encoders at both tasks, in the paper's table 4.

Each training has a folder of its own, and one that is finished is not run again. An encoder that
cannot be trained keeps its row, with the reason in place of its scores.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from histoeval.errors import ModelError
from histoeval.io.writing import write_json, writing_to
from histoeval.progress import ignore
from histoeval.table import markdown_table
from histoeval_research.train.core.loop import Watch
from histoeval_research.train.hare_bench.config import (
    Corpora,
    NerSettings,
    RelationSettings,
    SelectSettings,
)
from histoeval_research.train.hare_bench.ner import train_ner
from histoeval_research.train.hare_bench.relations import train_relations

COLUMNS = {
    "NER P": ("ner", "precision"),
    "NER R": ("ner", "recall"),
    "NER F1": ("ner", "f1"),
    "RE P": ("relations", "precision"),
    "RE R": ("relations", "recall"),
    "RE F1": ("relations", "f1"),
    "RE micro": ("relations", "micro"),
    "overall": ("overall", "f1"),
}
"""The numbers of the table, by what they are headed with."""

REMARK = (
    "NER: exact spans, all types. RE: given entities, all related pairs and sampled others; "
    "`RE micro` counts both labels, as the HARE paper does. Overall: the mean of both F1."
)


def _no_progress(*_: object) -> AbstractContextManager[Watch]:
    return nullcontext(ignore)


@dataclass(frozen=True, slots=True)
class TrainingSite:
    """Where trainings run, whether they replace earlier ones, and how each reports its progress."""

    device: str | None = None
    overwrite: bool = False
    watching: Callable[[str], AbstractContextManager[Watch]] = _no_progress
    """Gives the progress bar of a training, by its name."""
    tell: Callable[[str], None] = ignore
    """Gets a line on what is done now."""

    def how(self, watch: Watch) -> dict[str, Any]:
        """The options of one training."""
        return {"device": self.device, "overwrite": self.overwrite, "watch": watch}


THIS_MACHINE = TrainingSite()


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of the table, and whether it is the best of its column."""

    text: str
    best: bool = False


def select(
    settings: SelectSettings, output: Path, bench: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train what is not trained yet, and write the table as `results.json` and `results.md`."""
    rows = [_row(name, settings, output, bench) for name in settings.encoders]
    rows.sort(key=lambda row: -row.get("overall", {}).get("f1", [-1.0])[0])
    results = {"seeds": list(settings.seeds), "encoders": rows}
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
        (output / "results.md").write_text(selection_markdown(results), "utf-8")
        write_json(output / "results.json", results, private=False)
    return results


def selection_cells(results: Mapping[str, Any]) -> list[list[TableCell]]:
    """The rows of the table, each headed by its encoder."""
    best = {
        heading: max((_number(row, heading)[0] for row in _scored(results)), default=None)
        for heading in COLUMNS
    }
    return [
        [
            TableCell(row["name"]),
            TableCell(_millions(row.get("parameters"))),
            *[_cell(row, heading, best[heading]) for heading in COLUMNS],
        ]
        for row in results["encoders"]
    ]


def selection_markdown(results: Mapping[str, Any]) -> str:
    """The table for a document, the best of each column in bold."""
    cells = [
        [f"**{cell.text}**" if cell.best else cell.text for cell in row]
        for row in selection_cells(results)
    ]
    table = markdown_table(["encoder", "parameters", *COLUMNS], cells)
    return "\n\n".join([table, REMARK, *failures(results)]) + "\n"


def failures(results: Mapping[str, Any]) -> list[str]:
    """Why some encoders have no scores."""
    return [
        f"{row['name']} was not trained: {row['failure']}"
        for row in results["encoders"]
        if "failure" in row
    ]


def _row(name: str, settings: SelectSettings, output: Path, bench: TrainingSite) -> dict[str, Any]:
    """What the trainings of one encoder come to."""
    tagged, related = [], []
    try:
        for seed in settings.seeds:
            shared = _shared(settings, name, seed)
            with bench.watching(f"{name}, entities, seed {seed}") as watch:
                ner = NerSettings.model_construct(**shared, **dict(settings.ner))
                tagged.append(train_ner(ner, output / name / f"ner-{seed}", **bench.how(watch)))
            with bench.watching(f"{name}, relations, seed {seed}") as watch:
                pairs = RelationSettings.model_construct(**shared, **dict(settings.relations))
                folder = output / name / f"relations-{seed}"
                related.append(train_relations(pairs, folder, **bench.how(watch)))
    except ModelError as error:
        return {"name": name, "failure": str(error)}
    return _summary(name, tagged, related)


def _shared(settings: SelectSettings, name: str, seed: int) -> dict[str, Any]:
    """The settings of both trainings of an encoder, all of them checked before."""
    shared = {field: getattr(settings, field) for field in Corpora.model_fields}
    return shared | {"output": None, "encoder": settings.encoders[name], "seed": seed}


def _summary(
    name: str, tagged: Sequence[Mapping[str, Any]], related: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    ner = [results["scores"]["entities"] for results in tagged]
    pairs = [
        results["scores"]["sampled"] | {"micro": results["scores"]["sampled_micro"]}
        for results in related
    ]
    overall = [{"f1": (n["f1"] + r["f1"]) / 2} for n, r in zip(ner, pairs, strict=True)]
    return {
        "name": name,
        "encoder": tagged[0]["request"]["encoder"],
        "parameters": tagged[0]["parameters"],
        "ner": _spread(ner, ("precision", "recall", "f1")),
        "relations": _spread(pairs, ("precision", "recall", "f1", "micro")),
        "overall": _spread(overall, ("f1",)),
    }


def _spread(
    runs: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    """Mean and standard deviation over seeds; one seed has no deviation."""
    return {
        name: (
            mean(run[name] for run in runs),
            stdev([run[name] for run in runs]) if len(runs) > 1 else None,
        )
        for name in names
    }


def _scored(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row for row in results["encoders"] if "failure" not in row]


def _number(row: Mapping[str, Any], heading: str) -> tuple[float, float | None]:
    task, measure = COLUMNS[heading]
    value, deviation = row[task][measure]
    return value, deviation


def _cell(row: Mapping[str, Any], heading: str, best: float | None) -> TableCell:
    if "failure" in row:
        return TableCell("none")
    value, deviation = _number(row, heading)
    text = f"{value:.3f}" if deviation is None else f"{value:.3f} ±{deviation:.3f}"
    return TableCell(text, best=value == best)


def _millions(parameters: int | None) -> str:
    return "" if parameters is None else f"{parameters / 1e6:.1f} M"

"""`histoeval train select`: several encoders at both tasks, in the paper's table 4.

Each training has a folder of its own, and one that is finished is not run again. An encoder that
cannot be trained keeps its row, with the reason in place of its scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from histoeval.errors import ModelError
from histoeval.io.writing import write_json, writing_to
from histoeval.table import markdown_table
from histoeval_research.train.core.loop import THIS_MACHINE, TrainingSite
from histoeval_research.train.hare_bench.bench import train_ner, train_relations
from histoeval_research.train.hare_bench.config import (
    Corpora,
    NerSettings,
    RelationSettings,
    SelectSettings,
)

# The numbers of the table, by what they are headed with.
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

REMARK = (
    "NER: exact spans, all types. RE: given entities, all related pairs and sampled others; "
    "`RE micro` counts both labels, as the HARE paper does. Overall: the mean of both F1."
)


def select(
    settings: SelectSettings, output: Path, site: TrainingSite = THIS_MACHINE
) -> dict[str, Any]:
    """Train what is not trained yet, and write the table as `results.json` and `results.md`."""
    rows = []
    for name in settings.encoders:
        try:
            rows.append(_row(name, settings, output / name, site))
        except ModelError as error:
            rows.append({"name": name, "failure": str(error)})
    rows.sort(key=lambda row: -row.get("overall", {}).get("f1", [-1.0])[0])
    results = {"seeds": list(settings.seeds), "encoders": rows}
    with writing_to(output):
        output.mkdir(parents=True, exist_ok=True)
        (output / "results.md").write_text(selection_markdown(results), "utf-8")
        write_json(output / "results.json", results, private=False)
    return results


def _row(name: str, settings: SelectSettings, output: Path, site: TrainingSite) -> dict[str, Any]:
    common = {field: getattr(settings, field) for field in Corpora.model_fields}
    common |= {"output": None, "encoder": settings.encoders[name]}
    tagged, related = [], []
    for seed in settings.seeds:
        # All of these settings were checked before.
        ner = NerSettings.model_construct(**common, seed=seed, **dict(settings.ner))
        pairs = RelationSettings.model_construct(**common, seed=seed, **dict(settings.relations))
        title = f"training {name}, {{}}, seed {seed}".format
        tagged.append(train_ner(ner, output / f"ner-{seed}", _told(site, title("entities"))))
        folder = output / f"relations-{seed}"
        related.append(train_relations(pairs, folder, _told(site, title("relations"))))
    entities = [results["scores"]["entities"] for results in tagged]
    relations = [
        results["scores"]["sampled"] | {"micro": results["scores"]["sampled_micro"]}
        for results in related
    ]
    overall = [{"f1": (e["f1"] + r["f1"]) / 2} for e, r in zip(entities, relations, strict=True)]
    return {
        "name": name,
        "encoder": tagged[0]["request"]["encoder"],
        "parameters": tagged[0]["parameters"],
        "ner": _spread(entities, ("precision", "recall", "f1")),
        "relations": _spread(relations, ("precision", "recall", "f1", "micro")),
        "overall": _spread(overall, ("f1",)),
    }


def _told(site: TrainingSite, progress: str) -> TrainingSite:
    return replace(site, watching=lambda _: site.watching(progress))


def _spread(
    runs: Sequence[Mapping[str, float]], names: Sequence[str]
) -> dict[str, tuple[float, float | None]]:
    values = {name: [run[name] for run in runs] for name in names}
    return {
        name: (mean(numbers), stdev(numbers) if len(numbers) > 1 else None)
        for name, numbers in values.items()
    }


def selection_rows(results: Mapping[str, Any], emphasised: Callable[[str], Any]) -> list[list[Any]]:
    """The rows of the table, each headed by its encoder, the best of each column emphasised."""
    scored = [row for row in results["encoders"] if "failure" not in row]
    rows = []
    for row in results["encoders"]:
        parameters = row.get("parameters")
        cells = [row["name"], "" if parameters is None else f"{parameters / 1e6:.1f} M"]
        for task, measure in COLUMNS.values():
            if "failure" in row:
                cells.append("none")
                continue
            value, deviation = row[task][measure]
            text = f"{value:.3f}" + ("" if deviation is None else f" ±{deviation:.3f}")
            best = max(rival[task][measure][0] for rival in scored)
            cells.append(emphasised(text) if value == best else text)
        rows.append(cells)
    return rows


def selection_markdown(results: Mapping[str, Any]) -> str:
    rows = selection_rows(results, "**{}**".format)
    table = markdown_table(["encoder", "parameters", *COLUMNS], rows)
    return "\n\n".join([table, REMARK, *failures(results)]) + "\n"


def failures(results: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['name']} was not trained: {row['failure']}"
        for row in results["encoders"]
        if "failure" in row
    ]

"""The card of a model of the bench: data, recipe, scores, weights and limits, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from histoeval.resources import resource_text
from histoeval.train.hare_bench.config import sha256_of

_TASKS = {
    "ner": ("Entities of pathology reports", "A token classifier", "--reader"),
    "relations": (
        "Relations in pathology reports",
        "A classifier of pairs of entities, marked [E1] and [E2]",
        "--relations",
    ),
}
_NOT_RECIPE = {"seed", "notes", "labels"}


def card_of(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, settings = results["request"], results["request"]["settings"]
    title, what, option = _TASKS[request["task"]]
    template = Template(resource_text("train/hare_bench/card.md"))
    return template.substitute(
        title=title,
        what=what,
        option=option,
        version=results["versions"]["histoeval"],
        encoder=request["encoder"]["name"],
        data=markdown_table(
            ["part", "file", "samples", "sha256"],
            [
                [part, file["name"], f"{results['samples'][part]:,}", f"`{file['sha256']}`"]
                for part, file in request["data"].items()
            ],
        ),
        notes=f"\n{settings['notes'].strip()}\n" if settings["notes"].strip() else "",
        seed=settings["seed"],
        recipe=markdown_table(
            ["setting", "value"],
            [[name, str(v)] for name, v in settings.items() if name not in _NOT_RECIPE],
        ),
        dev=request["data"]["dev"]["name"],
        scores=markdown_table(
            ["", "gold", "found", "precision", "recall", "F1"],
            [[name, *numbers_of(scores)] for name, scores in score_rows(results)],
        ),
        remarks="".join(f"{remark}\n\n" for remark in remarks_on(results)),
        weights=markdown_table(
            ["file", "sha256"], [[f, f"`{d}`"] for f, d in results["weights"].items()]
        ),
        versions=", ".join(f"{name} {number}" for name, number in results["versions"].items()),
    )


def score_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The rows of the table of scores: types first, what they come to last."""
    scores = results["scores"]
    yield from scores["types"].items()
    if results["request"]["task"] == "ner":
        yield "all types", scores["entities"]
        yield "all types, overlapping", scores["overlapping"]
    else:
        yield "all pairs", scores["all"]
        yield "sampled pairs", scores["sampled"]


def numbers_of(scores: Mapping[str, float]) -> list[str]:
    """A row of scores for people."""
    return [f"{scores[name]:,}" for name in ("gold", "found")] + [
        f"{scores[name]:.3f}" for name in ("precision", "recall", "f1")
    ]


def remarks_on(results: Mapping[str, Any]) -> Iterator[str]:
    """What must be known to read the scores."""
    if results["request"]["task"] == "relations":
        ratio = results["request"]["settings"]["test_negatives"]
        yield (
            "Entities are given. Sampled pairs are all related ones and "
            f"{ratio:g} unrelated ones for each; counted over both labels, as the HARE paper "
            f"counts, their F1 is {results['scores']['sampled_micro']:.3f}."
        )
    if shared := results["shared_reports"]:
        yield (
            f"{shared:,} reports have passages in both parts of the data: "
            "the scores are better than the model is."
        )


def flat_settings(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings, each by its whole name."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, in which no cell can end another one."""
    lines = [list(columns), ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def weights_of(folder: Path) -> dict[str, str]:
    """The hash of each file of weights."""
    return {file.name: sha256_of(file) for file in sorted(folder.glob("*.safetensors"))}

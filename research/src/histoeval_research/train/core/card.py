"""Cards of models, in Markdown: a template, the fields that all cards share, and a card's own."""

from collections.abc import Collection, Iterator, Mapping
from string import Template
from typing import Any

from histoeval.resources import resource_text
from histoeval.table import markdown_table


def card(
    results: Mapping[str, Any], template: str, *, hidden: Collection[str] = (), **own: object
) -> str:
    """The card, from what is in `results.json`; `hidden` settings are no part of the recipe."""
    request, settings = results["request"], results["request"]["settings"]
    notes = settings["notes"].strip()
    recipe = [[n, v] for n, v in flat_settings(settings) if n not in {"notes", "name", *hidden}]
    weights = results.get("weights", {})
    shared = {
        "name": settings.get("name", ""),
        "version": results.get("versions", {}).get("histoeval", ""),
        "parameters": f"{results.get('parameters', 0) / 1e6:.1f} M",
        "encoder": request.get("encoder", {}).get("name", ""),
        "data": _data(results),
        "notes": f"\n{notes}\n" if notes else "",
        "recipe": markdown_table(["setting", "value"], recipe),
        "weights": markdown_table(["file", "sha256"], [[f, f"`{h}`"] for f, h in weights.items()]),
        "remarks": "".join(f"{remark}\n\n" for remark in remarks_on(results)),
        "versions": ", ".join(f"{n} {v}" for n, v in results.get("versions", {}).items()),
    }
    return Template(resource_text(f"histoeval_research/train/{template}/card.md")).substitute(
        shared | own
    )


def _data(results: Mapping[str, Any]) -> str:
    """The files of a request: with the number of samples where they are parts of a corpus."""
    request, samples = results["request"], results.get("samples", {})
    files = request.get("data", {})
    if set(files) <= set(samples):
        return markdown_table(
            ["part", "file", "samples", "sha256"],
            [
                [part, f["name"], f"{samples[part]:,}", f"`{f['sha256']}`"]
                for part, f in files.items()
            ],
        )
    rows = [[file["name"], f"`{file['sha256']}`"] for file in files.values()]
    return markdown_table(["file", "sha256"], [*rows, ["our own lists", f"`{request['lists']}`"]])


def score_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """The rows of the table of scores: types first, all of them last."""
    scores = results["scores"]
    yield from scores["types"].items()
    if results["request"]["task"] == "ner":
        yield "all types", scores["entities"]
        yield "all types, overlapping", scores["overlapping"]
    else:
        yield "all pairs", scores["all"]
        yield "sampled pairs", scores["sampled"]


def numbers_of(scores: Mapping[str, float]) -> list[str]:
    """A row of scores, human-readable."""
    return [f"{scores[name]:,}" for name in ("gold", "found")] + [
        f"{scores[name]:.3f}" for name in ("precision", "recall", "f1")
    ]


def interval(estimate: Mapping[str, float | None]) -> str:
    """A score with the interval that it has."""
    if estimate["low"] is None or estimate["high"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def remarks_on(results: Mapping[str, Any]) -> Iterator[str]:
    """What must be known to read the scores."""
    if results["request"].get("task") == "relations":
        ratio = results["request"]["settings"]["test_negatives"]
        yield (
            "Entities are given. Sampled pairs are all related ones and "
            f"{ratio:g} unrelated ones for each; counted over both labels, as the HARE paper "
            f"counts, their F1 is {results['scores']['sampled_micro']:.3f}."
        )
    if shared := results.get("shared_reports"):
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

"""Cards of models, in Markdown, from what is in `results.json`: a template each, on one ground."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from histoeval.concordance.weights import SAFETY, UNENTAILED
from histoeval.nli.builtin import hypothesis_tokens
from histoeval.resources import resource_path
from histoeval.table import markdown_table, markdown_text
from histoeval.view.terminal.evaluation import COLUMNS as GROUNDING_COLUMNS
from histoeval.view.terminal.evaluation import figure_rows, sets_of
from histoeval_research.evaluate.nli import COLUMNS as NLI_COLUMNS
from histoeval_research.evaluate.nli import nli_rows
from histoeval_research.evaluate.reader import ALL, Evaluation, ReaderMeasure

if TYPE_CHECKING:
    from jinja2 import Environment

# The scores of a reader on its way, by their headings: F1, and of assertion the accuracy.
STEP_COLUMNS: Mapping[str, tuple[ReaderMeasure, str]] = {
    "exact": (ReaderMeasure.EXACT, ALL),
    "HARE five": (ReaderMeasure.HARE, ALL),
    "overlap": (ReaderMeasure.OVERLAP, ALL),
    "relations on gold": (ReaderMeasure.RELATIONS_ON_GOLD, ALL),
    "relations end to end": (ReaderMeasure.RELATIONS, ALL),
    "assertion": (ReaderMeasure.ASSERTION_ON_FOUND, ALL),
    "absent": (ReaderMeasure.ASSERTION_ON_FOUND, "absent"),
}

RETRIEVAL_COLUMNS = (
    "index",
    "names",
    "queries",
    "accuracy@1",
    "accuracy@5",
    "@1 where words differ",
    "equal words alone",
)
OPPOSITE_COLUMNS = ("axis", "rows", "less alike than the synonym", "than the synonym of either")

# F1 with its interval by heading; None where there is nothing to count.
Scores = dict[str, dict[str, float | None] | None]


def card(kind: str, results: Mapping[str, Any], **more: object) -> str:
    request, made_with = results["request"], results.get("versions", {})
    settings = request.get("settings", {})

    def recipe(*hidden: str) -> str:
        """The settings that made the model; those that stand elsewhere on the card are hidden."""
        unsaid = {"notes", "name", *hidden}
        rows = [[name, value] for name, value in _flat(settings) if name not in unsaid]
        return markdown_table(["setting", "value"], rows)

    text = (
        _templates()
        .get_template(f"{kind}.md")
        .render(
            results=results,
            request=request,
            settings=settings,
            recipe=recipe,
            version=made_with.get("histoeval", ""),
            parameters=f"{results.get('parameters', 0) / 1e6:.1f} M",
            data_rows=_data_rows(results),
            weight_rows=[[file, f"`{sha}`"] for file, sha in results.get("weights", {}).items()],
            remarks=[*remarks_on(results)],
            made_with=", ".join(f"{name} {version}" for name, version in made_with.items()),
            **more,
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text)


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_path("histoeval_research/train/templates")),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "cell": lambda text: markdown_text(str(text)).replace("|", "\\|"),
        "decimals": "{:.3f}".format,
        "interval": interval,
        "thousands": "{:,}".format,
    }
    environment.globals |= {
        "table": markdown_table,
        "step_columns": [*STEP_COLUMNS],
        "retrieval_columns": RETRIEVAL_COLUMNS,
        "opposite_columns": OPPOSITE_COLUMNS,
        "nli_columns": NLI_COLUMNS,
        "grounding_columns": GROUNDING_COLUMNS,
        "safety": SAFETY,
        "unentailed": UNENTAILED,
    }
    rows = (score_rows, step_rows, retrieval_rows, opposite_rows, nli_rows, figure_rows)
    helpers = (*rows, hypothesis_tokens, sets_of)
    environment.globals |= {helper.__name__: helper for helper in helpers}
    return environment


def _data_rows(results: Mapping[str, Any]) -> list[list[str]]:
    request, samples = results["request"], results.get("samples", {})
    files = request.get("data", {})
    if set(files) <= set(samples):
        rows = [
            [part, file["name"], f"{samples[part]:,}", f"`{file['sha256']}`"]
            for part, file in files.items()
        ]
        for source in request.get("unlabelled", ()):
            rows.append(["unlabelled", source["name"], "", f"`{source['sha256']}`"])
        return rows
    rows = [[file["name"], f"`{file['sha256']}`"] for file in files.values()]
    return [*rows, ["our own lists", f"`{request['lists']}`"]]


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", str(value)


def remarks_on(results: Mapping[str, Any]) -> Iterator[str]:
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


def score_rows(results: Mapping[str, Any]) -> Iterator[list[str]]:
    scores = results["scores"]
    named = dict(scores["types"])
    if results["request"]["task"] == "ner":
        named |= {"all types": scores["entities"]}
        named |= {"all types, overlapping": scores["overlapping"]}
    else:
        named |= {"all pairs": scores["all"], "sampled pairs": scores["sampled"]}
    for name, figures in named.items():
        counts = [f"{figures[key]:,}" for key in ("gold", "found")]
        yield [name, *counts, *(f"{figures[key]:.3f}" for key in ("precision", "recall", "f1"))]


def interval(estimate: Mapping[str, float | None]) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def scores_of(evaluation: Evaluation) -> Scores:
    scores: Scores = {}
    for heading, (measure, kind) in STEP_COLUMNS.items():
        figure = evaluation.figures.get(measure, {}).get(kind)
        scores[heading] = None if figure is None else figure.f1.model_dump()
    return scores


def step_rows(results: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, scores in results["steps"].items():
        estimates = [scores[heading] for heading in STEP_COLUMNS]
        rows.append([name, *(f"{e['value']:.3f}" if e else "none" for e in estimates)])
    return rows


def retrieval_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    for index, figures in scores["retrieval"].items():
        differ = figures["first_where_words_differ"]
        yield [
            index,
            f"{figures['names']:,}",
            f"{figures['queries']:,}",
            interval(figures["first"]),
            interval(figures["among_five"]),
            interval(differ) if differ else "",
            f"{figures['equal']:.3f}",
        ]


def opposite_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    for part, figures in scores["opposites"].items():
        shares = (f"{figures[name]:.3f}" for name in ("of_phrase", "of_either"))
        yield [part, f"{figures['rows']:,}", *shares]

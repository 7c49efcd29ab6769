"""Which step of a training gave what: the same figures of every reader on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from histoeval.evaluate.reader import ALL, Evaluation, ReaderMeasure, evaluate_reader
from histoeval.extract.reader import Reader
from histoeval.io.corpus import AnnotatedPassage
from histoeval.train.core.card import markdown_table

COLUMNS: Mapping[str, tuple[ReaderMeasure, str]] = {
    "exact": (ReaderMeasure.EXACT, ALL),
    "HARE five": (ReaderMeasure.HARE, ALL),
    "overlap": (ReaderMeasure.OVERLAP, ALL),
    "relations on gold": (ReaderMeasure.RELATIONS_ON_GOLD, ALL),
    "relations end to end": (ReaderMeasure.RELATIONS, ALL),
    "assertion": (ReaderMeasure.ASSERTION_ON_FOUND, ALL),
    "absent": (ReaderMeasure.ASSERTION_ON_FOUND, "absent"),
}
"""The figures of the table by their headings: F1, and of assertion the accuracy."""

NONE = "none"

Scores = dict[str, dict[str, float | None] | None]
"""F1 with its interval by heading; None where there is nothing to count."""


def scores_of_reader(reader: Reader, passages: Sequence[AnnotatedPassage]) -> Scores:
    """The figures of a reader."""
    return scores_of_evaluation(evaluate_reader(reader, passages))


def scores_of_evaluation(evaluation: Evaluation) -> Scores:
    """The figures of the table, from all that there are."""
    found: Scores = {}
    for heading, (measure, kind) in COLUMNS.items():
        figure = evaluation.figures.get(measure, {}).get(kind)
        found[heading] = None if figure is None else figure.f1.model_dump()
    return found


def step_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """The rows of the table: each reader, in the order they were made."""
    return [
        [name, *(_number(scores[heading]) for heading in COLUMNS)]
        for name, scores in results["steps"].items()
    ]


def steps_markdown(results: Mapping[str, Any]) -> str:
    """The table for a document."""
    return markdown_table(["reader", *COLUMNS], step_rows(results))


def interval(estimate: Mapping[str, float | None]) -> str:
    """A figure with the interval it has, for people."""
    if estimate["low"] is None or estimate["high"] is None:
        return f"{estimate['value']:.3f}"
    return f"{estimate['value']:.3f} ({estimate['low']:.3f} to {estimate['high']:.3f})"


def _number(estimate: Mapping[str, float | None] | None) -> str:
    return NONE if estimate is None else f"{estimate['value']:.3f}"

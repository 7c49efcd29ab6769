"""The card of a joint reader: data, the scores of each step, confidence and limits."""

from collections.abc import Mapping, Sequence
from typing import Any

from histoeval.reader.reader import Reader
from histoeval.table import markdown_table
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.reader import ALL, Evaluation, ReaderMeasure, evaluate_reader
from histoeval_research.train.core.card import card, interval

COLUMNS: Mapping[str, tuple[ReaderMeasure, str]] = {
    "exact": (ReaderMeasure.EXACT, ALL),
    "HARE five": (ReaderMeasure.HARE, ALL),
    "overlap": (ReaderMeasure.OVERLAP, ALL),
    "relations on gold": (ReaderMeasure.RELATIONS_ON_GOLD, ALL),
    "relations end to end": (ReaderMeasure.RELATIONS, ALL),
    "assertion": (ReaderMeasure.ASSERTION_ON_FOUND, ALL),
    "absent": (ReaderMeasure.ASSERTION_ON_FOUND, "absent"),
}
"""The scores of the table by their headings: F1, and of assertion the accuracy."""

NONE = "none"

Scores = dict[str, dict[str, float | None] | None]
"""F1 with its interval by heading; None where there is nothing to count."""


def scores_of_reader(reader: Reader, passages: Sequence[AnnotatedPassage]) -> Scores:
    """The scores of a reader."""
    return scores_of_evaluation(evaluate_reader(reader, passages))


def scores_of_evaluation(evaluation: Evaluation) -> Scores:
    """The scores of the table, from all that there are."""
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


def _number(estimate: Mapping[str, float | None] | None) -> str:
    return NONE if estimate is None else f"{estimate['value']:.3f}"


def reader_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, scores = results["request"], results["scores"]
    return card(
        results,
        "reader",
        hidden=("labels",),
        teacher=_teacher(request),
        data=_data(results),
        unlabelled=_unlabelled(results["unlabelled"]),
        dev=request["data"]["dev"]["name"],
        steps=markdown_table(["reader", *COLUMNS], step_rows(results)),
        reports=f"{scores['reports']:,}",
        passages=f"{scores['passages']:,}",
        scores=_scores(scores),
        calibration=_calibration(results["calibration"]),
    )


def _teacher(request: Mapping[str, Any]) -> str:
    return f", taught by readers on `{request['teacher']['name']}`" if "teacher" in request else ""


def _data(results: Mapping[str, Any]) -> str:
    request = results["request"]
    rows = [
        [part, file["name"], f"{results['samples'][part]:,}", f"`{file['sha256']}`"]
        for part, file in request["data"].items()
    ]
    rows += [
        ["unlabelled", source["name"], "", f"`{source['sha256']}`"]
        for source in request["unlabelled"]
    ]
    return markdown_table(["part", "file", "passages", "sha256"], rows)


def _unlabelled(facts: Mapping[str, int]) -> str:
    """How many unlabelled texts were used, and for what reason others were not."""
    if not facts:
        return ""
    read = (
        f"{facts['texts']:,} unlabelled texts were read; {facts['kept_out']:,} are kept out "
        "because they are dev reports or share twelve words in a row with one, and "
        f"{facts['unread']:,} could not be read."
    )
    if "windows" not in facts:
        return f"{read}\n"
    return (
        f"{read} Teachers labelled {facts['windows']:,} windows; "
        f"{facts['different_tokens']:,} were skipped because student and teacher cut them into "
        f"other tokens, {facts['too_long']:,} because they are too long.\n"
    )


def _scores(scores: Mapping[str, Any]) -> str:
    rows = [
        [
            measure.replace("_", " "),
            kind,
            f"{figure['gold']:,}",
            f"{figure['found']:,}",
            f"{figure['precision']['value']:.3f}",
            f"{figure['recall']['value']:.3f}",
            interval(figure["f1"]),
        ]
        for measure, figures in scores["figures"].items()
        for kind, figure in figures.items()
    ]
    return markdown_table(["measure", "of", "gold", "found", "precision", "recall", "F1"], rows)


def _calibration(calibrated: Mapping[str, Any]) -> str:
    rows = [
        [
            measure.replace("_", " "),
            f"{worth['answers']:,}",
            f"{worth['before']:.3f}",
            f"{worth['after']:.3f}",
        ]
        for measure, worth in calibrated.items()
    ]
    if not rows:
        return "There were too few answers to fit confidence on: it is the model's own."
    return markdown_table(["of", "answers", "before", "after"], rows)

"""The card of a joint reader: data, recipe, what each step gave, scores, confidence and limits."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from histoeval.resources import resource_text
from histoeval.train.core.card import flat_settings, markdown_table, remarks_on
from histoeval.train.reader.step_table import interval, steps_markdown

_NOT_RECIPE = ("notes", "labels", "name")


def reader_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, settings = results["request"], results["request"]["settings"]
    template = Template(resource_text("train/reader/card.md"))
    notes = settings["notes"].strip()
    recipe = [[name, value] for name, value in flat_settings(settings) if name not in _NOT_RECIPE]
    return template.substitute(
        name=settings["name"],
        parameters=f"{results['parameters'] / 1e6:.1f} M",
        version=results["versions"]["histoeval"],
        encoder=request["encoder"]["name"],
        teacher=_teacher(request),
        data=_data(results),
        unlabelled=_unlabelled(results["unlabelled"]),
        notes=f"\n{notes}\n" if notes else "",
        recipe=markdown_table(["setting", "value"], recipe),
        dev=request["data"]["dev"]["name"],
        steps=steps_markdown(results),
        reports=f"{results['scores']['reports']:,}",
        passages=f"{results['scores']['passages']:,}",
        scores=_scores(results["scores"]),
        remarks="".join(f"{remark}\n\n" for remark in remarks_on(results)),
        calibration=_calibration(results["calibration"]),
        weights=markdown_table(
            ["file", "sha256"], [[f, f"`{d}`"] for f, d in results["weights"].items()]
        ),
        versions=", ".join(f"{name} {number}" for name, number in results["versions"].items()),
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
        f"{facts['different_tokens']:,} were left out because student and teacher cut them into "
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

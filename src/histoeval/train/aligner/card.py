"""The card and the table of an aligner: data, recipe, what it finds and tells apart, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Template
from typing import Any

from histoeval.resources import resource_text
from histoeval.train.core.card import flat_settings, markdown_table

_NOT_RECIPE = ("notes", "name", "ontologies")

_POOLING = {"mean": "mean over tokens", "cls": "first token"}

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


def aligner_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, settings = results["request"], results["request"]["settings"]
    template = Template(resource_text("train/aligner/card.md"))
    notes = settings["notes"].strip()
    recipe = [[n, v] for n, v in flat_settings(settings) if n not in _NOT_RECIPE]
    return template.substitute(
        name=settings["name"],
        size=results["size"]["whole"],
        beside=_beside(results),
        parameters=f"{results['parameters'] / 1e6:.1f} M",
        version=results["versions"]["histoeval"],
        encoder=request["encoder"]["name"],
        tokens=settings["shape"]["tokens"],
        pooling=_POOLING[settings["shape"]["pooling"]],
        data=_data(request),
        concepts=f"{results['samples']['concepts']:,}",
        names=f"{results['samples']['names']:,}",
        held_out=f"{settings['naming']['held_out']:.0%}",
        notes=f"\n{notes}\n" if notes else "",
        recipe=markdown_table(["setting", "value"], recipe),
        all_concepts=f"{results['scores']['concepts']:,}",
        retrieval=markdown_table(RETRIEVAL_COLUMNS, [*retrieval_rows(results["scores"])]),
        opposites=_opposites(results["scores"]),
        weights=markdown_table(
            ["file", "sha256"], [[f, f"`{d}`"] for f, d in results["weights"].items()]
        ),
        versions=", ".join(f"{name} {number}" for name, number in results["versions"].items()),
    )


def retrieval_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each index that concepts were looked for in."""
    for index, found in scores["retrieval"].items():
        differ = found["first_where_words_differ"]
        yield [
            index,
            f"{found['names']:,}",
            f"{found['queries']:,}",
            _share(found["first"]),
            _share(found["among_five"]),
            _share(differ) if differ else "",
            f"{found['equal']:.3f}",
        ]


def opposite_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for all opposites, for each axis, and for those that our lists hold or do not."""
    for part, told in scores["opposites"].items():
        yield [part, f"{told['rows']:,}", f"{told['of_phrase']:.3f}", f"{told['of_either']:.3f}"]


def _beside(results: Mapping[str, Any]) -> str:
    """What stands beside the vector of the encoder, if anything does."""
    size, weight = results["size"], results["channel"]
    if not weight:
        return ""
    return (
        f"The first {size['encoder']} numbers are what the encoder gives. The other "
        f"{size['whole'] - size['encoder']}, with a weight of {weight:g}, are what fixed rules and "
        f"word lists read in the phrase (`histoeval.align.opposites.vector`, "
        f"{results['request']['channel']}): side, polarity, grade, stage, numbers, markers and "
        "other words whose opposites point the other way.\n\n"
    )


def _data(request: Mapping[str, Any]) -> str:
    rows = [[file["name"], f"`{file['sha256']}`"] for file in request["data"].values()]
    return markdown_table(["file", "sha256"], [*rows, ["our own lists", f"`{request['lists']}`"]])


def _share(share: Mapping[str, float]) -> str:
    interval = "" if share["low"] is None else f" ({share['low']:.3f} to {share['high']:.3f})"
    return f"{share['value']:.3f}{interval}"


def _opposites(scores: Mapping[str, Any]) -> str:
    if not scores["opposites"]:
        return ""
    table = markdown_table(OPPOSITE_COLUMNS, [*opposite_rows(scores)])
    return (
        "## Telling opposites apart\n\n"
        "Share of rows in which the opposite of a phrase is less like it than its synonym is. Rows "
        "in our lists are those in which a list that was learned from holds a pair of synonyms.\n\n"
        f"{table}\n\n"
    )

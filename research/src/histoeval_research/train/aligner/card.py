"""The card and the table of an aligner: data, recipe, what it finds and tells apart, limits."""

from collections.abc import Iterator, Mapping
from typing import Any

from histoeval.table import markdown_table
from histoeval_research.train.core.card import card, interval

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
    settings, scores = results["request"]["settings"], results["scores"]
    return card(
        results,
        "aligner",
        hidden=("ontologies",),
        size=results["size"]["whole"],
        beside=_beside(results),
        tokens=settings["shape"]["tokens"],
        pooling=_POOLING[settings["shape"]["pooling"]],
        concepts=f"{results['samples']['concepts']:,}",
        names=f"{results['samples']['names']:,}",
        held_out=f"{settings['naming']['held_out']:.0%}",
        all_concepts=f"{scores['concepts']:,}",
        retrieval=markdown_table(RETRIEVAL_COLUMNS, [*retrieval_rows(scores)]),
        opposites=_opposites(scores),
    )


def retrieval_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each index that concepts were looked for in."""
    for index, found in scores["retrieval"].items():
        differ = found["first_where_words_differ"]
        yield [
            index,
            f"{found['names']:,}",
            f"{found['queries']:,}",
            interval(found["first"]),
            interval(found["among_five"]),
            interval(differ) if differ else "",
            f"{found['equal']:.3f}",
        ]


def opposite_rows(scores: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for all opposites, for each axis, and for those that our lists hold or do not."""
    for part, found in scores["opposites"].items():
        yield [part, f"{found['rows']:,}", f"{found['of_phrase']:.3f}", f"{found['of_either']:.3f}"]


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

"""The card of a grounding model: what it has seen, how it was made, how well it tells, limits."""

from collections.abc import Mapping
from typing import Any

from histoeval.table import markdown_table
from histoeval.view.terminal.evaluation import COLUMNS, figure_rows, sets_of
from histoeval_research.train.core.card import card


def grounding_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    samples = results["samples"]
    return card(
        results,
        "grounding",
        tiles=f"{samples['tiles']:,}",
        slides=f"{samples['slides']:,}",
        cases=f"{samples['cases']:,}",
        organs=_counts(samples["organ"]),
        concepts=_counts(samples["concept"]),
        stains=_counts(samples["stain"]),
        teacher=results["request"]["teacher"],
        figures="\n\n".join(_section(n, f) for n, f in sets_of(results["scores"])),
    )


def _section(name: str, found: Mapping[str, Any]) -> str:
    return f"### {name}\n\n{markdown_table(COLUMNS, figure_rows(found))}"


def _counts(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{name} ({count})" for name, count in counts.items())

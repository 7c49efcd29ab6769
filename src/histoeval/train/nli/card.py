"""The card of an NLI model: data, recipe, how well it tells the three labels, limits."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from histoeval.evaluate.nli import COLUMNS, told_rows
from histoeval.nli.manifest import hypothesis_tokens
from histoeval.resources import resource_text
from histoeval.train.core.card import flat_settings, markdown_table

_NOT_RECIPE = ("notes", "name")
_REST = (
    "Of these, {:,} are in the wordings and of the concepts that the development set is made of: "
    "figures on made pairs below are of what was learned."
)


def nli_card(results: Mapping[str, Any]) -> str:
    """The card, from what is in `results.json`."""
    request, settings = results["request"], results["request"]["settings"]
    template = Template(resource_text("train/nli/card.md"))
    made = settings["pairs"]
    notes = settings["notes"].strip()
    return template.substitute(
        name=settings["name"],
        parameters=f"{results['parameters'] / 1e6:.1f} M",
        version=results["versions"]["histoeval"],
        encoder=request["encoder"]["name"],
        tokens=settings["tokens"],
        hypothesis=hypothesis_tokens(settings["tokens"]),
        data=markdown_table(
            ["file", "sha256"],
            [
                *([file["name"], f"`{file['sha256']}`"] for file in request["data"].values()),
                ["our own lists", f"`{request['lists']}`"],
            ],
        ),
        pairs=f"{results['samples']['pairs']:,}",
        made=f"{made['count'] + made['rest'] + made['organs']:,}",
        rest=_REST.format(made["rest"]) if made["rest"] else "",
        notes=f"\n{notes}\n" if notes else "",
        recipe=markdown_table(
            ["setting", "value"],
            [[n, v] for n, v in flat_settings(settings) if n not in _NOT_RECIPE],
        ),
        figures="".join(_figures(name, found) for name, found in results["scores"].items()),
        weights=markdown_table(
            ["file", "sha256"], [[f, f"`{d}`"] for f, d in results["weights"].items()]
        ),
        versions=", ".join(f"{name} {number}" for name, number in results["versions"].items()),
    )


def _figures(name: str, found: Mapping[str, Any]) -> str:
    rows = told_rows(found)
    shown = rows if len(rows) > 2 else rows[:1]
    error = found["calibration"]["error"]
    return f"### {name}\n\n{markdown_table(COLUMNS, shown)}\n\nCalibration error {error:.3f}.\n\n"

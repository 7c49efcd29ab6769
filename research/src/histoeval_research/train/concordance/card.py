"""The card of fitted concordance weights: what they are, what they were fitted to, how well."""

from collections.abc import Mapping
from typing import Any

from histoeval.concordance.weights import SAFETY, UNENTAILED, Combination, Combinations
from histoeval.table import markdown_table
from histoeval_research.train.core.card import card


def concordance_card(combinations: Combinations, results: Mapping[str, Any]) -> str:
    """The card as markdown."""
    return card(
        {"request": results, **results},
        "concordance",
        pairs=results["pairs"],
        groups=results["groups"],
        sheets=", ".join(f"`{s['name']}` ({s['sha256'][:12]})" for s in results["sheets"]),
        models=", ".join(f"{name} {model}" for name, model in results["models"].items()),
        weights=_weights(combinations.expert),
        curve=_curve(combinations.expert),
        floor=combinations.expert.floor,
        safety=", ".join(f"{s.name.lower()} {v:g}" for s, v in SAFETY.items() if s),
        unentailed=f"{UNENTAILED:g}",
        expert=_expert_table(results["expert"]),
        criteria=_criteria_table(results["criteria"]),
        notes=results["settings"]["notes"],
    )


def _weights(combination: Combination) -> str:
    total = sum(combination.weights.values())
    rows = sorted(combination.weights.items(), key=lambda item: -item[1])
    return markdown_table(
        ["term", "weight"],
        [[term.replace("*", " \N{MULTIPLICATION SIGN} "), f"{w / total:.3f}"] for term, w in rows],
    )


def _curve(combination: Combination) -> str:
    return ", ".join(
        f"{at:g} → {value:g}"
        for at, value in zip(combination.curve.at, combination.curve.value, strict=True)
    )


def _expert_table(figures: Mapping[str, Any]) -> str:
    rows = []
    for name, found in figures["sets"].items():
        for which, label in (("above", "above the lowest score"), ("all", "all")):
            if which in found:
                numbers = found[which]
                count = found["above_lowest"] if which == "above" else found["pairs"]
                rows.append([name, label, str(count), *(f"{v:.3f}" for v in numbers.values())])
    head = ["set", "pairs", "n", "Spearman", "Kendall", "Kendall, half points", "Pearson"]
    return markdown_table(head, rows)


def _criteria_table(criteria: Mapping[str, Any]) -> str:
    rows = [
        [
            name,
            *(f"{found['quadratic_kappa']:.3f}" for found in figures["sets"].values()),
            f"{figures['all']['quadratic_kappa']:.3f}",
        ]
        for name, figures in criteria.items()
    ]
    sets = list(next(iter(criteria.values()))["sets"])
    return markdown_table(["criterion", *sets, "all"], rows)

"""Tables on a tuned policy: its weights, and what it is worth on reports that had no say."""

from __future__ import annotations

from collections.abc import Iterator

from histoeval.run.trust.tune import FIGURES, TuningResult, share_text
from histoeval.table import ResultTable
from histoeval.trust.fusion import ROUTES
from histoeval.trust.policy.policy import PAPER


def tuning_tables(tuning: TuningResult) -> Iterator[ResultTable]:
    """Weights with the figure on other reports, and the verdicts there."""
    outside, policy = tuning.outside, tuning.tuned.policy
    figure = FIGURES[tuning.tuned.objective]
    rows = [
        (name, *[f"{weight:g}" for weight in weights.numbers], f"{mean:.3f}", f"{spread:.3f}")
        for name, weights, mean, spread in (
            ("tuned", policy.weights, outside.tuned, outside.tuned_spread),
            ("paper", PAPER, outside.paper, outside.paper_spread),
        )
    ]
    columns = ("weights", "grounding", "logic", "stability", "mean", "sd")
    yield ResultTable(f"{figure} on {outside.folds} held-out folds", columns, rows)
    if tuning.tuned_routes.any():
        yield ResultTable(
            "Verdicts on held-out reports",
            ("verdict", "tuned", "wrong", "before", "wrong "),
            [
                (
                    route,
                    f"{new.sum():,}",
                    share_text(new[1], new.sum()),
                    f"{old.sum():,}",
                    share_text(old[1], old.sum()),
                )
                for route, new, old in zip(
                    ROUTES, tuning.tuned_routes, tuning.base_routes, strict=True
                )
            ],
        )

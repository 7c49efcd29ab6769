"""Panels made on the spot, for tests of what is made of them."""

import numpy as np

from histoeval.agreement.panel import Column, Panel


def made(rows: int = 48, per_case: int = 4, seed: int = 3) -> Panel:
    """A good, a bad, a reversed and an incomplete metric, and two raters of whom one is lazy."""
    source = np.random.default_rng(seed)
    truth = source.normal(size=rows)
    expert = np.clip(np.round(2.5 + 1.5 * truth), 0, 5)
    second = np.where(source.random(rows) < 0.2, np.nan, np.clip(expert + 1, 0, 5))
    good = truth + 0.3 * source.normal(size=rows)
    bad = source.normal(size=rows)
    partial = np.where(np.arange(rows) % 6 == 0, np.nan, good)
    return Panel(
        ids=tuple(map(str, range(rows))),
        groups=tuple(str(row // per_case) for row in range(rows)),
        raters={"first": expert, "second": second},
        metrics={
            "good": Column(good, "good|1"),
            "bad": Column(bad),
            "errors": Column(-good, higher_is_better=False),
            "partial": Column(partial),
        },
        labels={"organ": tuple("lung" if row % 2 else "skin" for row in range(rows))},
    )

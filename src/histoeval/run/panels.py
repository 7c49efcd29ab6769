"""From a sheet and scores to a panel: every pair that an expert has scored, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.agreement.panel import Column, Panel
from histoeval.agreement.regression import Range
from histoeval.errors import InputError
from histoeval.io.scored import Key, ScoredMetric
from histoeval.io.sheets import Rated, Sheet

HARE_SCALE = (0.0, 5.0)
"""From what to what the experts of HARE's sheet score."""


def panel_of(
    sheet: Sheet, scored: Mapping[str, ScoredMetric], group: str, by: Sequence[str]
) -> tuple[Panel, tuple[str, ...]]:
    """The rows that an expert has scored, with what metrics say of them."""
    rated = [row for row in sheet.rated if row.scores]
    keys = [key_of(row, sheet.wide) for row in rated]
    names = list(dict.fromkeys(name for row in rated for name in row.scores))
    panel = Panel(
        ids=tuple(row.pair.id for row in rated),
        groups=tuple(_label(row, group) for row in rated),
        raters={name: _numbers(row.scores.get(name) for row in rated) for name in names},
        metrics={name: _column(metric, keys) for name, metric in scored.items()},
        labels={name: tuple(_label(row, name) for row in rated) for name in by},
    )
    left = len(sheet.rated) - len(rated)
    return panel, (f"{left:,} pairs have no expert's score and are left out",) if left else ()


def key_of(row: Rated, wide: bool) -> Key:
    """What a pair is called in results: there the candidate is not part of the id."""
    system = row.pair.system or ""
    return (row.pair.id.removesuffix(f".{system}") if wide else row.pair.id), system


def _label(row: Rated, name: str) -> str:
    own = {"case": row.group, "system": row.pair.system or "", "set": row.set, "row": row.pair.id}
    return row.labels[name] if name in row.labels else own.get(name, row.group)


def _numbers(values: Iterable[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _column(metric: ScoredMetric, keys: Sequence[Key]) -> Column:
    values = _numbers(metric.values.get(key) for key in keys)
    return Column(values, metric.signature, metric.range, metric.higher_is_better)


def demand_match(panel: Panel, unavailable: Mapping[str, str], path: Path) -> None:
    """Say so where scores are of other pairs than the sheet's, and not that there are none."""
    for name, column in panel.metrics.items():
        if name not in unavailable and len(panel) and np.isnan(column.values).all():
            raise InputError(
                f"{name} has no score for any pair of {path} that an expert scored: are the scores "
                f"of another sheet? A pair of this one has the id {panel.ids[0]!r}"
            )


def without_empty(panel: Panel) -> Panel:
    """The panel without metrics that could not run."""
    some = {n: c for n, c in panel.metrics.items() if not np.isnan(c.values).all()}
    return Panel(panel.ids, panel.groups, panel.raters, some, panel.labels)


def scale_of(sheet: Sheet, panel: Panel) -> Range:
    """HARE's scale for its layout, and else from the lowest to the highest score."""
    if sheet.wide or not len(panel):
        return HARE_SCALE
    low, high = float(np.nanmin(panel.ratings)), float(np.nanmax(panel.ratings))
    return (low, high) if low < high else (low, low + 1.0)

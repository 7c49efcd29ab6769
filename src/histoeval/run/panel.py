"""From a sheet and scores to a panel: every pair that an expert has scored, in columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.agreement.panel import Column, Panel
from histoeval.callers import argument
from histoeval.errors import InputError
from histoeval.io.pairs import PairSource
from histoeval.io.results import Key, ScoredMetric
from histoeval.io.sheets import RatedPair, Sheet, naming_raters, read_sheet
from histoeval.statistics.regression import Range

HARE_SCALE = (0.0, 5.0)
"""From what to what the experts of HARE's sheet score."""

OWN = ("case", "system", "set", "row")
"""What every sheet has, whatever its columns: words that `group` and `by` know."""


def panel_of(
    sheet: Sheet, scored: Mapping[str, ScoredMetric], group: str, by: Sequence[str]
) -> tuple[Panel, tuple[str, ...]]:
    """The rows that an expert has scored, with what metrics say of them."""
    rated = [row for row in sheet.rated if row.scores]
    keys = [key_of(row, sheet.wide) for row in rated]
    names = list(dict.fromkeys(name for row in rated for name in row.scores))
    panel = Panel(
        ids=tuple(row.pair.id for row in rated),
        systems=() if sheet.wide else tuple(row.pair.system or "" for row in rated),
        groups=tuple(_label(row, group) for row in rated),
        raters={name: _numbers(row.scores.get(name) for row in rated) for name in names},
        metrics={name: _column(metric, keys) for name, metric in scored.items()},
        labels={name: tuple(_label(row, name) for row in rated) for name in by},
    )
    left = len(sheet.rated) - len(rated)
    return panel, (f"{left:,} pairs have no expert's score and are skipped",) if left else ()


def key_of(row: RatedPair, wide: bool) -> Key:
    """What a pair is called in results: there the candidate is not part of the id."""
    system = row.pair.system or ""
    return (row.pair.id.removesuffix(f".{system}") if wide else row.pair.id), system


def _label(row: RatedPair, name: str) -> str:
    own = {"case": row.group, "system": row.pair.system or "", "set": row.set, "row": row.pair.id}
    return row.labels[name] if name in row.labels else own.get(name, row.group)


def _numbers(values: Iterable[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _column(metric: ScoredMetric, keys: Sequence[Key]) -> Column:
    values = _numbers(metric.values.get(key) for key in keys)
    return Column(values, metric.signature, metric.range, metric.higher_is_better)


def demand_match(panel: Panel, unavailable: Mapping[str, str], sheet: str) -> None:
    """Say so where scores are of other pairs than the sheet's, and not that there are none."""
    for name, column in panel.metrics.items():
        if name not in unavailable and len(panel) and np.isnan(column.values).all():
            raise InputError(
                f"{name} has no score for any pair of {sheet} that an expert scored: are they "
                f"of another sheet? A pair of this one has the id {panel.ids[0]!r}"
            )


def without_empty(panel: Panel) -> Panel:
    """The panel without metrics that could not run."""
    some = {n: c for n, c in panel.metrics.items() if not np.isnan(c.values).all()}
    return replace(panel, metrics=some)


def scale_of(sheet: Sheet, panel: Panel) -> Range:
    """HARE's scale for its layout, and else from the lowest to the highest score."""
    if sheet.wide or not len(panel):
        return HARE_SCALE
    low, high = float(np.nanmin(panel.ratings)), float(np.nanmax(panel.ratings))
    return (low, high) if low < high else (low, low + 1.0)


def read_rated(
    source: PairSource,
    cases: str | Path | None,
    raters: Sequence[str],
    group: str,
    by: Sequence[str],
    scale: Range | None,
) -> Sheet:
    """The sheet, with the columns that groups and labels are in."""
    return read_sheet(
        source,
        cases=None if cases is None else Path(cases),
        scores=raters or None,
        group=None if group in OWN else group,
        labels=[name for name in dict.fromkeys(by) if name not in OWN],
        within=scale,
    )


def about_sheet(source: PairSource, sheet: Sheet, panel: Panel) -> dict[str, Any]:
    """The sheet, as it is described beside the results."""
    return {
        "name": source.name,
        "sha256": source.sha256,
        "layout": "HARE" if sheet.wide else "long",
        "pairs": len(sheet.rated),
        "rated": len(panel),
        "unreadable": len(sheet.problems),
        "problems": [problem.message for problem in sheet.problems[:20]],
        "raters": list(panel.raters),
        "not_raters": list(sheet.not_raters),
    }


def experts_line(sheet: Sheet, panel: Panel, raters: Sequence[str]) -> str:
    """Whose scores are the experts', for the top of everything that is made of them."""
    ranges = [
        f"{name} ({np.nanmin(column):g} to {np.nanmax(column):g})"
        for name, column in panel.raters.items()
    ]
    mean = "; their mean is the experts' score" if len(ranges) > 1 else ""
    if raters or sheet.wide:
        return f"Experts: {', '.join(ranges)}{mean}."
    left = f" Not taken as experts: {', '.join(sheet.not_raters)}." if sheet.not_raters else ""
    return (
        f"Experts, as guessed from the columns: {', '.join(ranges)}{mean}.{left} If that is wrong, "
        f"name them: {naming_raters()}."
    )


def remarks_on(sheet: Sheet, panel: Panel, scale: Range | None) -> Iterable[str]:
    """What was skipped or taken for granted when the sheet was read."""
    if sheet.problems:
        first = sheet.problems[0].message
        yield f"rows that cannot be used: {len(sheet.problems):,}. The first: {first}"
    if scale is None and not sheet.wide and len(panel) and np.nanstd(panel.ratings) > 0:
        low, high = scale_of(sheet, panel)
        yield (
            f"experts' scores are taken to run from {low:g} to {high:g}, as they do in the sheet; "
            f"RMSE depends on that: name the scale ({argument('scale')})"
        )

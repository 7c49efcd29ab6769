"""The data of a study: pairs with the scores of experts and of metrics, by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator, TypeAdapter

from histoeval.errors import SettingError, did_you_mean
from histoeval.statistics.correlation import grouped
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import Numbers, Positions

PANEL = "panel.json"  # lies beside `agreement.json`: scores of experts and metrics


def _nan_to_none(values: Numbers) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _none_to_nan(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


Scores = Annotated[Numbers, PlainValidator(_none_to_nan), PlainSerializer(_nan_to_none)]


@dataclass(frozen=True)
class Column:
    values: Scores
    signature: str = ""
    range: Range | None = None
    higher_is_better: bool = True

    @property
    def rising(self) -> Numbers:
        return self.values if self.higher_is_better else -self.values

    def of(self, rows: Positions | NDArray[np.bool_]) -> Column:
        return Column(self.values[rows], self.signature, self.range, self.higher_is_better)


@dataclass(frozen=True)
class Panel:
    """Rows that experts have scored; `raters` and `metrics` are columns, NaN for no score."""

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    raters: Mapping[str, Scores]
    metrics: Mapping[str, Column]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    systems: tuple[str, ...] = ()  # who wrote the candidate of each row, where that is known

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ratings(self) -> Numbers:
        return np.column_stack([*self.raters.values()])

    @property
    def expert(self) -> Numbers:
        table = self.ratings
        is_rated = ~np.isnan(table)
        return np.asarray(np.where(is_rated, table, 0.0).sum(axis=1) / is_rated.sum(axis=1))

    def of(self, rows: Positions) -> Panel:
        return Panel(
            ids=_cells(self.ids, rows),
            groups=_cells(self.groups, rows),
            raters={name: column[rows] for name, column in self.raters.items()},
            metrics={name: column.of(rows) for name, column in self.metrics.items()},
            labels={name: _cells(column, rows) for name, column in self.labels.items()},
            systems=_cells(self.systems, rows) if self.systems else (),
        )

    def above(self, least: float) -> Panel:
        """The rows that experts give more than this: the HARE paper's filter, with 0."""
        return self.of(np.flatnonzero(self.expert > least))

    def by(self, label: str) -> dict[str, Panel]:
        if label not in self.labels:
            labels = ", ".join(self.labels) or "none"
            guess = did_you_mean(label, self.labels)
            raise SettingError(f"rows have no {label!r}{guess}; known: {labels}")
        column = self.labels[label]
        return {column[rows[0]]: self.of(rows) for rows in grouped(column)}


def panel_content(panel: Panel) -> dict[str, Any]:
    content: dict[str, Any] = _PANEL.dump_python(panel)
    return content


def panel_of_content(content: Mapping[str, Any]) -> Panel:
    return _PANEL.validate_python(content)


def _cells(column: Sequence[str], rows: Positions) -> tuple[str, ...]:
    return tuple(column[row] for row in rows)


_PANEL = TypeAdapter(Panel)

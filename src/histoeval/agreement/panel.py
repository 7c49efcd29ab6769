"""The data of a study: pairs with the scores of experts and of metrics, by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import SettingError
from histoeval.statistics.correlation import grouped
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import Numbers, Positions


@dataclass(frozen=True)
class Column:
    """The scores of one metric, NaN if missing, with their range and direction."""

    values: Numbers
    signature: str = ""
    range: Range | None = None
    higher_is_better: bool = True

    @property
    def rising(self) -> Numbers:
        """The scores, negated if lower is better."""
        return self.values if self.higher_is_better else -self.values

    def of(self, rows: Positions | NDArray[np.bool_]) -> Column:
        """The same for some of the rows."""
        return Column(self.values[rows], self.signature, self.range, self.higher_is_better)


@dataclass(frozen=True)
class Panel:
    """Rows that experts have scored, with their groups, labels and scores.

    `raters` and `metrics` are columns by name, NaN if there is no score.
    """

    ids: tuple[str, ...]
    groups: tuple[str, ...]
    raters: Mapping[str, Numbers]
    metrics: Mapping[str, Column]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    systems: tuple[str, ...] = ()
    """Who wrote the candidate of each row, where that is known."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ratings(self) -> Numbers:
        """Rows by raters."""
        return np.column_stack([*self.raters.values()])

    @property
    def expert(self) -> Numbers:
        """The mean of the raters who scored a row."""
        table = self.ratings
        there = ~np.isnan(table)
        return np.asarray(np.where(there, table, 0.0).sum(axis=1) / there.sum(axis=1))

    def of(self, rows: Positions) -> Panel:
        """The same columns for some of the rows."""
        return Panel(
            ids=_at(self.ids, rows),
            groups=_at(self.groups, rows),
            raters={name: column[rows] for name, column in self.raters.items()},
            metrics={name: column.of(rows) for name, column in self.metrics.items()},
            labels={name: _at(column, rows) for name, column in self.labels.items()},
            systems=_at(self.systems, rows) if self.systems else (),
        )

    def above(self, least: float) -> Panel:
        """The rows that experts give more than this: the HARE paper's filter, with 0."""
        return self.of(np.flatnonzero(self.expert > least))

    def by(self, label: str) -> dict[str, Panel]:
        """The rows of each value of a label, in order of first appearance."""
        if label not in self.labels:
            raise SettingError(f"rows have no {label!r}; known: {', '.join(self.labels) or 'none'}")
        column = self.labels[label]
        return {column[rows[0]]: self.of(rows) for rows in grouped(column)}


def _at(column: Sequence[str], rows: Positions) -> tuple[str, ...]:
    return tuple(column[row] for row in rows)

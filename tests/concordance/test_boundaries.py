"""Clinical values one step below, at and above each limit, as the tables have them."""

from __future__ import annotations

import pytest

from tests.support.boundaries import Row, all_of, answer_now, kept_answers, rows_of, tables

_ROWS = [row for table in tables() for row in rows_of(table)]
_NEAR = 0.015
"""Numbers of closeness are written with two places."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=row.id,
            marks=pytest.mark.xfail(reason=row.known_wrong, strict=True) if row.known_wrong else (),
        )
        for row in _ROWS
    ],
)
def test_two_values_of_an_axis_are_as_far_apart_as_the_table_says(row: Row) -> None:
    severity, closeness, logic = answer_now(row)
    assert (severity, logic) == (row.severity, row.logic)
    assert closeness == pytest.approx(float(row.closeness), abs=_NEAR)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.id)
def test_nothing_else_that_is_said_of_a_row_has_moved(row: Row) -> None:
    """Kept, not read: where this is meant, `python -m tests.support.boundaries --write`."""
    now, kept = all_of(row), kept_answers()[row.id]
    assert now.pop("parts") == pytest.approx(kept["parts"], abs=_NEAR)
    assert now == {name: value for name, value in kept.items() if name != "parts"}


def test_the_tables_are_of_the_limits_that_they_are_meant_for() -> None:
    ids = [row.id for row in _ROWS]
    assert len(ids) == len(set(ids)) > 900
    assert sum(bool(row.known_wrong) for row in _ROWS) < len(ids) / 20

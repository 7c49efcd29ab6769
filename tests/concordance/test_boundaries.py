"""Clinical values one step below, at and above each limit, as the tables have them."""

from itertools import groupby

import pytest

from tests.golden.golden import are_same
from tests.support.boundaries import (
    Row,
    all_of,
    answer_now,
    kept_answers,
    others,
    rows_of,
    tables,
)

_ROWS = [row for table in tables() for row in rows_of(table)]
_NEAR = 0.015
"""Numbers of closeness are written with two places."""


def of_axis(rows: list[Row]) -> pytest.MarkDecorator:
    """The rows of each axis as one test."""
    ordered = sorted(rows, key=lambda row: row.axis)
    axes = [(axis, [*each]) for axis, each in groupby(ordered, lambda row: row.axis)]
    return pytest.mark.parametrize(
        "rows", [pytest.param(each, id=axis) for axis, each in axes if each]
    )


@of_axis(_ROWS)
def test_two_values_of_an_axis_are_as_far_apart_as_the_table_says(rows: list[Row]) -> None:
    for row in rows:
        severity, closeness, logic = answer_now(row)
        is_right = (severity, logic) == (row.severity, row.logic) and (
            closeness == pytest.approx(float(row.closeness), abs=_NEAR)
        )
        assert is_right != bool(row.known_wrong), f"{row.id}: now {answer_now(row)}"


@of_axis([*_ROWS, *others()])
def test_nothing_else_that_is_said_of_a_row_has_moved(rows: list[Row]) -> None:
    """Kept, not read: where this is meant, `python -m tests.support.boundaries --write`."""
    for row in rows:
        now, kept = all_of(row), kept_answers()[row.id]
        moved = {
            name: (kept.get(name, {}), now.get(name, {}))
            for name in {*kept, *now}
            if not are_same(kept.get(name, {}), now.get(name, {}))
        }
        assert not moved, row.id


def test_the_tables_are_of_the_limits_that_they_are_meant_for() -> None:
    ids = [row.id for row in _ROWS]
    assert len(ids) == len(set(ids)) > 900
    assert sum(bool(row.known_wrong) for row in _ROWS) < len(ids) / 20

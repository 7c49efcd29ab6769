"""Tables of a study: every metric is there, missing results have a reason, and 80 columns do."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from histoeval.agreement.study import StudyPlan, study
from histoeval.table import ResultTable, terminal_table
from histoeval.view.terminal.agreement import agreement_tables, p_text, remarks
from tests.support.panels import made

PLAN = StudyPlan(resamples=50, permutations=10, by=("organ",))


def tables() -> dict[str, ResultTable]:
    return {table.columns[0]: table for table in agreement_tables(study(made(), PLAN), PLAN)}


def test_all_tables_have_a_row_for_each_metric_and_fit_80_columns() -> None:
    found = tables()
    assert [*found] == ["metric", "first less second", "measure", "organ"]
    assert {str(row[0]) for row in found["metric"].rows} == {"good", "bad", "errors", "partial"}
    for table in found.values():
        stream = StringIO()
        Console(file=stream, width=80).print(terminal_table(table))
        assert "…\n" not in stream.getvalue()
        assert all(len(line) <= 80 for line in stream.getvalue().splitlines())


def test_remarks_say_how_intervals_were_made() -> None:
    found = remarks(study(made(), PLAN), PLAN)
    assert found[0].startswith("Intervals: 95 %, 50 resamples of whole groups (case), seed 0.")


def test_a_p_is_never_shown_as_zero() -> None:
    assert [p_text(None), p_text(0.0312), p_text(1e-9)] == ["none", "0.031", "1.0e-09"]

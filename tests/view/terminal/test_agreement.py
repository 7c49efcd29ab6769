"""Tables of a study: every metric is there, missing results have a reason, and 80 columns do."""

from dataclasses import replace

from histoeval.agreement.panel import Panel
from histoeval.agreement.study import StudyPlan, study
from histoeval.table import ResultTable
from histoeval.view.terminal.agreement import agreement_tables, p_text, remarks
from tests.support.panels import made
from tests.support.terminal_tables import shown

PLAN = StudyPlan(resamples=50, permutations=10, by=("organ",))


def tables() -> dict[str, ResultTable]:
    found = list(agreement_tables(study(made(), PLAN), PLAN))
    return {table.columns[0]: table for table in found}


def test_all_tables_have_a_row_for_each_metric_and_fit_80_columns() -> None:
    found = tables()
    assert [*found] == [
        *("metric", "first minus second", "pair", "measure", "rater", "raters", "organ")
    ]
    assert {str(row[0]) for row in found["metric"].rows} == {"good", "bad", "errors", "partial"}
    for table in found.values():
        assert "…\n" not in shown(table)
        assert all(len(line) <= 80 for line in shown(table).splitlines())


def reversed_too() -> Panel:
    """A panel with long names, and with a metric that falls where the experts rise."""
    panel = made()
    good, bad = panel.metrics["good"], panel.metrics["bad"]
    falling = replace(good, values=-good.values)
    names = ("concordance", "meteor:matchers=exact+stem", "bertscore:model=a/long-name")
    return replace(panel, metrics=dict(zip(names, (good, bad, falling), strict=True)))


def test_with_long_names_no_interval_and_no_header_is_broken_at_80_columns() -> None:
    found = study(reversed_too(), PLAN)
    for table in agreement_tables(found, PLAN):
        words = shown(table).split()
        for header in table.columns[1:]:
            assert all(part in words for part in header.split()), (table.title, header)
        for row in table.rows:
            for cell in (str(cell) for cell in row[1:] if "…" in str(cell)):
                assert cell.split()[-1] in words, (table.title, cell)


def test_a_line_that_falls_has_no_r2_to_be_proud_of() -> None:
    found = study(reversed_too(), PLAN)
    fits = next(t for t in agreement_tables(found, PLAN) if "R²" in t.columns)
    cells = {str(row[0]): row[1:3] for row in fits.rows}
    assert cells["bertscore:model=a/long-name"] == ["falls", "falls"]
    assert "falls" not in cells["concordance"]
    assert str(fits.rows[-1][0]) == "bertscore:model=a/long-name"
    assert any(note.startswith("falls: ") for note in remarks(found, PLAN))


def test_pairs_on_which_the_best_metric_and_experts_differ_are_named() -> None:
    found = tables()["pair"]
    best = tables()["metric"].rows[0][0]
    assert found.title == f"Where {best} and the experts differ most"
    assert len(found.rows) == 5
    assert {str(row[-1]) for row in found.rows} <= {"too kind", "too strict"}
    every = agreement_tables(study(made(), PLAN), PLAN, every_metric=True)
    assert sum(table.columns[0] == "pair" for table in every) == 4


def test_remarks_say_how_intervals_were_made() -> None:
    found = remarks(study(made(), PLAN), PLAN)
    assert found[0].startswith("Intervals: 95 %, 50 resamples of whole groups (case), seed 0.")


def test_a_p_is_never_shown_as_zero() -> None:
    assert [p_text(None), p_text(0.0312), p_text(1e-9)] == ["none", "0.031", "1.0e-09"]

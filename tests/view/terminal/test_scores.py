"""The table of scores: the best is bold, the missing are named, many systems get rows."""

import re
from io import StringIO
from typing import Any

from rich.console import Console

from histoeval.view.terminal.runs import runs_table
from histoeval.view.terminal.scores import (
    error_tables,
    problem_table,
    range_text,
    score_table,
    signature_lines,
)
from tests.support.terminal_tables import shown, table_rows


def summary(**means: float | None) -> dict[str, Any]:
    systems = {
        name: {"mean": mean, "scored": 0 if mean is None else 4, "pairs": 4}
        for name, mean in means.items()
    }
    metric = {"systems": systems, "range": (0, 1), "higher_is_better": True}
    return {
        "input": {"name": "pairs.csv", "notes": ["a note"]},
        "metrics": {"bleu": metric},
        "unavailable": {"meteor": "needs WordNet"},
        "rows": 4,
        "rows_with_errors": 1,
    }


def test_systems_stand_side_by_side_and_remarks_below() -> None:
    text = shown(score_table(summary(a=0.5, b=None)))
    assert table_rows(text)["bleu"] == ["0.5000", "none", "0 to 1", "4 of 8"]
    assert "a note" in text
    assert "meteor needs WordNet" in text
    assert "1 of 4 rows have an error" in text


def test_many_systems_become_a_matrix_sorted_by_the_first_metric() -> None:
    found = summary(a=0.1, b=0.4, c=None, d=0.3)
    found["metrics"]["chrf"] = summary(a=50.0, b=None, c=None, d=60.0)["metrics"]["bleu"]
    rows = table_rows(shown(score_table(found)))
    assert list(rows) == ["b", "d", "a", "c"]
    assert rows["d"] == ["0.3000", "60.00", "4 of 4"]
    assert rows["b"] == ["0.4000", "none", "0 of 4"]


def test_a_system_with_fewer_scores_is_named() -> None:
    found = summary(a=0.1, b=0.4, lazy=1.0)
    assert "not of the same pairs" not in shown(score_table(found))
    found["metrics"]["bleu"]["systems"]["lazy"]["scored"] = 1
    text = " ".join(shown(score_table(found)).split())
    assert "Means are not of the same pairs: lazy 1 of 4. `histoeval compare`" in text


def test_where_lower_is_better_the_lowest_comes_first() -> None:
    found = summary(a=0.1, b=0.4, c=0.2, d=0.3)
    found["metrics"]["bleu"]["higher_is_better"] = False
    assert list(table_rows(shown(score_table(found)))) == ["a", "c", "d", "b"]


def test_many_systems_and_metrics_fit_80_columns() -> None:
    found = summary(**{f"team_{n}_final": n / 10 for n in range(6)})
    names = ["concordance", "rubric_offline", "judge_rubric4", "meteor:matchers=exact+stem", "chrf"]
    found["metrics"] = dict.fromkeys([*names, "radgraph_xl", "bleu"], found["metrics"]["bleu"])
    text = shown(score_table(found))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert all(name in text for name in found["metrics"])


def test_a_metric_that_failed_is_named_below_the_table() -> None:
    found = summary(a=0.5, b=0.4)
    found["metrics"]["bleu"]["failed"] = {"count": 1200, "example": "signature: field required"}
    assert "bleu failed on 1,200 pairs, for example: signature: field required" in " ".join(
        shown(score_table(found)).split()
    )


def with_errors(systems: int) -> dict[str, Any]:
    found = summary(**{f"team_{n}": n / 10 for n in range(systems)})
    for n, totals in enumerate(found["metrics"]["bleu"]["systems"].values()):
        totals["report_errors"] = {
            "count": n,
            "pairs": 1,
            "by_severity": {"critical": n, "major": 0, "moderate": 0, "minor": 0},
            "by_kind": {"wrong_laterality": n} if n else {},
        }
    return found


def test_errors_of_reports_are_counted_by_severity_and_kind() -> None:
    (table,) = error_tables(with_errors(2))
    rows = table_rows(shown(table))
    assert rows["critical"] == ["0", "1"]
    assert rows["wrong laterality"] == ["0", "1"]
    (table,) = error_tables(with_errors(5))
    rows = table_rows(shown(table))
    assert list(rows) == [f"team_{n}" for n in range(4, -1, -1)]
    assert rows["team_3"] == ["3", "0", "0", "0", "1", "3"]
    assert not list(error_tables(summary(a=0.5)))


def test_a_signature_is_one_line_and_whole_on_request() -> None:
    long = "bleu|" + "x" * 100 + "|histoeval:0.1.0"
    found = {"metrics": {"a": {"signature": "chrf|histoeval:0.1.0"}, "b": {"signature": long}}}
    short, cut = signature_lines(found)
    assert short == "chrf|histoeval:0.1.0"
    assert re.fullmatch(r"bleu\|…\|histoeval:0.1.0\|sha256:[0-9a-f]{8}", cut)
    assert list(signature_lines(found, whole=True)) == [short, long]


def test_the_best_is_bold_and_the_missing_red() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="truecolor")
    with console.capture() as seen:
        console.print(score_table(summary(a=0.5, b=0.4, c=None)))
    assert "\x1b[1m0.5000" in seen.get()
    assert "\x1b[31mnone" in seen.get()


def test_problems_are_counted_with_an_example() -> None:
    assert problem_table({"errors": {}}) is None
    table = problem_table({"errors": {"empty_text": {"count": 1200, "example": "row 2 is empty"}}})
    assert table is not None
    assert table_rows(shown(table))["empty_text"] == ["1,200", "row 2 is empty"]


def test_a_range_may_have_no_upper_bound() -> None:
    assert [range_text(0, 100), range_text(0, float("inf"))] == ["0 to 100", "0 and up"]


def test_rows_without_values_are_no_errors_of_reports() -> None:
    """`runs list` had 0 errors for a run whose reports had 37 critical ones."""
    columns = runs_table([]).columns
    assert "problems" in columns
    assert "errors" not in columns

"""The table of scores: the best is bold, the missing are named, many systems get rows."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console, RenderableType

from histoeval.view.terminal.scores import problem_table, range_text, score_table
from tests.support.terminal_tables import table_rows


def shown(table: RenderableType) -> str:
    stream = StringIO()
    Console(file=stream, width=80).print(table)
    return stream.getvalue()


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


def test_many_systems_get_rows_of_their_own() -> None:
    text = shown(score_table(summary(a=0.1, b=0.2, c=0.3, d=0.4)))
    assert [line.split()[1] for line in text.splitlines() if line.startswith("bleu")] == [*"abcd"]


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

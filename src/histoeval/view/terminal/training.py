"""Tables on trainings: what one model scores, and how several encoders compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.train.core.card import numbers_of, remarks_on, score_rows
from histoeval.train.hare_bench.select import COLUMNS, REMARK, failures, selection_cells
from histoeval.train.reader.card import COLUMNS as STEP_COLUMNS
from histoeval.train.reader.card import step_rows


def training_table(results: Mapping[str, Any]) -> RenderableType:
    """Precision, recall and F1 of a model, by type and in all."""
    dev = results["request"]["data"]["dev"]["name"]
    table = _table(f"{results['request']['encoder']['name']} on {dev}", "")
    for column in ("gold", "found", "precision", "recall", "F1"):
        table.add_column(column, justify="right", overflow="fold")
    rows = list(score_rows(results))
    for place, (name, scores) in enumerate(rows, start=1):
        last_type = place == len(results["scores"]["types"])
        table.add_row(Text(name), *numbers_of(scores), end_section=last_type)
    return Group(table, *[Text(remark) for remark in remarks_on(results)])


def selection_table(results: Mapping[str, Any]) -> RenderableType:
    """The paper's table 4: the best number of each column in bold."""
    title = "Model selection"
    if len(results["seeds"]) > 1:
        title += f": mean ± standard deviation over {len(results['seeds'])} seeds"
    table = _table(title, "encoder")
    for column in ("parameters", *COLUMNS):
        table.add_column(column, justify="right", overflow="fold")
    for row in selection_cells(results):
        table.add_row(*[Text(cell.text, style="bold" if cell.best else "") for cell in row])
    return Group(table, *[Text(line) for line in (REMARK, *failures(results))])


def reader_table(results: Mapping[str, Any]) -> RenderableType:
    """What each step of a reader's training gave, and what its confidence is worth."""
    dev = results["request"]["data"]["dev"]["name"]
    table = _table(f"{results['request']['encoder']['name']} on {dev}, F1", "reader")
    table.box, table.show_edge, table.padding = SIMPLE_HEAD, False, (0, 1, 0, 0)
    for column in STEP_COLUMNS:
        table.add_column(column, justify="right", min_width=max(map(len, column.split())))
    rows = step_rows(results)
    for place, row in enumerate(rows, start=1):
        table.add_row(*map(Text, row), end_section=place == len(rows) - 1)
    lines = [
        f"calibration error of {measure.replace('_', ' ')}: "
        f"{worth['before']:.3f}, calibrated {worth['after']:.3f}"
        for measure, worth in results["calibration"].items()
    ]
    return Group(table, *[Text(line) for line in (*lines, *remarks_on(results))])


def _table(title: str, first: str) -> Table:
    table = Table(title=Text(title), title_justify="left")
    table.add_column(first, overflow="fold")
    return table

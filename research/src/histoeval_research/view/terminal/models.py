"""Tables on trained models: reader, aligner, NLI, grounding, and the HARE bench."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.table import ResultTable, terminal_table
from histoeval_research.evaluate.nli import COLUMNS as NLI_COLUMNS
from histoeval_research.evaluate.nli import nli_rows
from histoeval_research.train.aligner.card import (
    OPPOSITE_COLUMNS,
    RETRIEVAL_COLUMNS,
    opposite_rows,
    retrieval_rows,
)
from histoeval_research.train.core.card import numbers_of, remarks_on, score_rows
from histoeval_research.train.hare_bench.select import COLUMNS, REMARK, failures, selection_cells
from histoeval_research.train.reader.card import COLUMNS as STEP_COLUMNS
from histoeval_research.train.reader.card import step_rows


def aligner_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Retrieval of concepts by unseen names, and discrimination of opposites."""
    title = f"Concepts found by unseen names, among {scores['concepts']:,}"
    yield terminal_table(ResultTable(title, RETRIEVAL_COLUMNS, [*retrieval_rows(scores)]))
    if scores["opposites"]:
        rows = [*opposite_rows(scores)]
        yield terminal_table(ResultTable("Opposites distinguished", OPPOSITE_COLUMNS, rows))


def nli_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A table for each set of pairs, and a line on calibration."""
    for name, found in scores.items():
        yield terminal_table(ResultTable(name, NLI_COLUMNS, nli_rows(found)))
        calibration = found["calibration"]
        yield Text(
            f"confidence {calibration['confidence']:.3f}, "
            f"accuracy {calibration['accuracy']:.3f}, "
            f"calibration error {calibration['error']:.3f}\n"
        )


def training_table(results: Mapping[str, Any]) -> RenderableType:
    """Precision, recall and F1 of a model, by type and in total."""
    columns = ["", "gold", "found", "precision", "recall", "F1"]
    rows = [[name, *numbers_of(scores)] for name, scores in score_rows(results)]
    return _with_remarks(ResultTable(_trained_on(results), columns, rows), remarks_on(results))


def selection_table(results: Mapping[str, Any]) -> RenderableType:
    """Table 4 of the HARE paper: the best number of each column in bold."""
    title = "Model selection"
    if len(results["seeds"]) > 1:
        title += f": mean ± standard deviation over {len(results['seeds'])} seeds"
    rows = [
        [Text(cell.text, style="bold" if cell.best else "") for cell in row]
        for row in selection_cells(results)
    ]
    table = ResultTable(title, ["encoder", "parameters", *COLUMNS], rows)
    return _with_remarks(table, [REMARK, *failures(results)])


def reader_table(results: Mapping[str, Any]) -> RenderableType:
    """The scores after each step of a reader's training, and the gain from calibration."""
    title = f"{_trained_on(results)}, F1"
    table = ResultTable(title, ["reader", *STEP_COLUMNS], step_rows(results))
    lines = [
        f"calibration error of {measure.replace('_', ' ')}: "
        f"{error['before']:.3f}, calibrated {error['after']:.3f}"
        for measure, error in results["calibration"].items()
    ]
    return _with_remarks(table, [*lines, *remarks_on(results)])


def _trained_on(results: Mapping[str, Any]) -> str:
    request = results["request"]
    return f"{request['encoder']['name']} on {request['data']['dev']['name']}"


def _with_remarks(table: ResultTable, remarks: Iterable[str]) -> RenderableType:
    return Group(terminal_table(table), *map(Text, remarks))

"""Tables on how well a reader reads, and the bar while it does."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

import pytest
from rich.console import Console, RenderableType

from histoeval import progress
from histoeval.progress import step_progress
from histoeval.report import Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.reader import (
    Evaluation,
    evaluate_by_source,
    evaluate_reader,
    read_passages,
)
from histoeval_research.view.model_tables import evaluation_tables, source_table
from tests.support.annotated_passages import PASSAGE, REPORT
from tests.support.fake_readers import ListedReader, perfect
from tests.support.terminal_tables import table_rows

CORPUS = [
    PASSAGE.model_copy(update={"id": f"p{n}", "report_id": f"r{n}", "source": "ab"[n % 2]})
    for n in range(6)
]


def shown(*tables: RenderableType, width: int = 80) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    for table in tables:
        console.print(table)
    return stream.getvalue()


def half_read(corpus: Iterable[AnnotatedPassage] = CORPUS) -> Evaluation:
    """Four of seven entities found, and one of four relations."""
    kept = Report(text=REPORT.text, entities=REPORT.entities[:4], relations=REPORT.relations[:1])
    return evaluate_reader(ListedReader([kept]), corpus)


def test_headlines_are_told_with_their_intervals() -> None:
    told = table_rows(shown(*evaluation_tables(half_read())))
    assert told["entities, exact"] == ["0.727", "0.727-0.727", "1.000", "0.571", "42", "24"]
    assert told["relations, end to end"][0] == "0.400"
    assert told["relations, both found"][0] == "0.667"


def test_what_is_missing_is_told_with_its_reason() -> None:
    text = shown(*evaluation_tables(half_read()))
    assert table_rows(text)["relations, on gold"] == ["none"]
    assert "relations, on gold: none, since the reader cannot go on from given entities" in text
    full = shown(*evaluation_tables(evaluate_reader(perfect([PASSAGE]), CORPUS)))
    assert "none" not in full


def test_types_relations_and_assertions_have_their_own_tables() -> None:
    text = shown(*evaluation_tables(half_read()))
    entities = table_rows(text, "Entities, exact")
    assert list(entities) == [
        *["diagnosis", "grade", "site", "finding", "marker", "result", "all"]
    ], "in the order of the types, those that are there"
    assert entities["grade"] == ["1.000", "1.000-1.000", "1.000", "1.000", "6", "1.000"]
    assert entities["result"] == ["0.000", "0.000-0.000", "0.000", "0.000", "12", "0.000"]
    relations = table_rows(text, "Relations, end to end")
    assert relations["diagnosis-site"][0] == "1.000"
    assert relations["marker-result"][0] == "0.000"
    assert table_rows(text, "Assertion, found")["present"][0] == "1.000"


def test_confidence_is_told_bin_by_bin() -> None:
    text = shown(*evaluation_tables(half_read()))
    errors = table_rows(text, "Calibration")
    assert errors["entities"] == ["24", "1.000", "1.000", "0.000", "0.000"]
    bins = table_rows(text, "Reliability: entities")
    assert bins == {"0.93-1.00": ["24", "1.000", "1.000", "+0.000"]}


def test_each_source_has_a_row() -> None:
    readings = read_passages(ListedReader([REPORT]), CORPUS)
    found = table_rows(shown(source_table(evaluate_by_source(readings))))
    of_three_reports = ["3", "1.000", "1.000", "1.000"]  # too few for an interval
    assert found == {"a": of_three_reports, "b": of_three_reports}


def test_nothing_is_folded_in_80_columns() -> None:
    many = CORPUS * 500
    narrow, wide = (shown(*evaluation_tables(half_read(many)), width=width) for width in (80, 200))
    assert [line.strip() for line in narrow.splitlines()] == [
        line.strip() for line in wide.splitlines()
    ]


def test_a_source_named_like_markup_is_shown_as_it_is() -> None:
    odd = [passage.model_copy(update={"source": "[red]x"}) for passage in CORPUS]
    readings = read_passages(ListedReader([REPORT]), odd)
    assert "[red]x" in table_rows(shown(source_table(evaluate_by_source(readings))))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_is_told_of_steps_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    with step_progress("training", 3) as tell:
        tell(1)
        tell(2, "loss 0.5")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("patience", "is_shown"), [(0.0, True), (60.0, False)])
def test_a_bar_is_shown_only_for_what_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, patience: float, is_shown: bool
) -> None:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", patience)
    with step_progress("training [x]", 3) as tell:
        tell(2, "loss [0.5]")
    assert ("training [x]" in stream.getvalue()) == is_shown
    assert ("loss [0.5]" in stream.getvalue()) == is_shown


def test_a_bar_is_taken_away_when_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)

    def fail() -> None:
        with step_progress("training", 3) as tell:
            tell(1)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert stream.getvalue().endswith(("\x1b[2K", "\x1b[?25h"))

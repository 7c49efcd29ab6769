"""Tables on how well a reader reads."""

import io
from collections.abc import Iterable

from research.tests.support.annotated_passages import PASSAGE, REPORT
from research.tests.support.fake_readers import ListedReader, perfect
from rich.console import Console, RenderableType

from histoeval.report import Report
from histoeval_research.corpus import AnnotatedPassage
from histoeval_research.evaluate.reader import (
    Evaluation,
    evaluate_by_source,
    evaluate_reader,
    read_passages,
)
from histoeval_research.view.model_tables import evaluation_tables, source_table
from tests.support.terminal_tables import table_rows

CORPUS = [
    PASSAGE.model_copy(update={"id": f"p{n}", "report_id": f"r{n}", "source": "a[red]"[n % 2 :]})
    for n in range(6)
]


def shown(*tables: RenderableType, width: int = 80) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    for table in tables:
        console.print(table)
    return stream.getvalue()


def half_read(corpus: Iterable[AnnotatedPassage] = CORPUS) -> Evaluation:
    kept = Report(text=REPORT.text, entities=REPORT.entities[:4], relations=REPORT.relations[:1])
    return evaluate_reader(ListedReader([kept]), corpus)


def test_every_table_has_its_numbers() -> None:
    text = shown(*evaluation_tables(half_read()))
    told = table_rows(text)
    assert told["entities, exact"] == ["0.727", "0.727-0.727", "1.000", "0.571", "42", "24"]
    assert told["relations, end to end"][0] == "0.400"
    assert told["relations, both found"][0] == "0.667"
    entities = table_rows(text, "Entities, exact")
    in_order = ["diagnosis", "grade", "site", "finding", "marker", "result", "all"]
    assert list(entities) == in_order, "the types that are there"
    assert entities["grade"] == ["1.000", "1.000-1.000", "1.000", "1.000", "6", "1.000"]
    assert entities["result"] == ["0.000", "0.000-0.000", "0.000", "0.000", "12", "0.000"]
    relations = table_rows(text, "Relations, end to end")
    assert relations["diagnosis-site"][0] == "1.000"
    assert relations["marker-result"][0] == "0.000"
    assert table_rows(text, "Assertion, found")["present"][0] == "1.000"
    errors = table_rows(text, "Calibration")
    assert errors["entities"] == ["24", "1.000", "1.000", "0.000", "0.000"]
    bins = table_rows(text, "Reliability: entities")
    assert bins == {"0.93-1.00": ["24", "1.000", "1.000", "+0.000"]}


def test_what_is_missing_is_told_with_its_reason() -> None:
    text = shown(*evaluation_tables(half_read()))
    assert table_rows(text)["relations, on gold"] == ["none"]
    assert "relations, on gold: none, since the reader cannot go on from given entities" in text
    assert "none" not in shown(*evaluation_tables(evaluate_reader(perfect([PASSAGE]), CORPUS)))


def test_each_source_has_a_row_and_is_named_as_it_is() -> None:
    readings = read_passages(ListedReader([REPORT]), CORPUS)
    found = table_rows(shown(source_table(evaluate_by_source(readings))))
    of_three_reports = ["3", "1.000", "1.000", "1.000"]  # too few for an interval
    assert found == {"[red]": of_three_reports, "a[red]": of_three_reports}


def test_nothing_is_folded_in_80_columns() -> None:
    many = CORPUS * 500
    narrow, wide = (shown(*evaluation_tables(half_read(many)), width=width) for width in (80, 200))
    assert [line.strip() for line in narrow.splitlines()] == [
        line.strip() for line in wide.splitlines()
    ]

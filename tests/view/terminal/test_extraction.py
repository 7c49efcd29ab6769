"""What was read, in the terminal: with colours, and readable without."""

import re
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from histoeval import Entity, EntityType, Problem, Relation, Report
from histoeval.io.results import ReadRow
from histoeval.view.terminal.extraction import entity_spans, relation_lines, show_rows
from tests.support.word_reader import read_words

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def shown(*rows: ReadRow, terminal: bool = False, no_color: bool = False) -> str:
    out, colours = StringIO(), "truecolor" if terminal else None
    look: Any = {"force_terminal": terminal, "color_system": colours, "no_color": no_color}
    show_rows(Console(file=out, width=200, **look), rows)
    return out.getvalue()


def row_of(text: str) -> ReadRow:
    return ReadRow(id="case 1", report=read_words(text))


def entity(text: str, words: str, kind: EntityType) -> Entity:
    start = text.index(words)
    return Entity(text=words, start=start, end=start + len(words), type=kind)


NESTED = "invasive ductal carcinoma here"
ENTITIES = (
    entity(NESTED, "ductal", EntityType.DESCRIPTOR),
    entity(NESTED, "carcinoma", EntityType.DIAGNOSIS),
    entity(NESTED, "invasive ductal carcinoma", EntityType.DIAGNOSIS),
)


@pytest.mark.parametrize(
    ("report", "brackets", "in_colour"),
    [
        (
            read_words("no invasion, possible sarcoma of the breast"),
            "no [¬invasion](finding), possible [sarcoma?](diagnosis) of the [breast](site)",
            "no ¬invasion, possible sarcoma? of the breast",
        ),
        (
            Report(text=NESTED, entities=ENTITIES),
            "[invasive [ductal](descriptor) [carcinoma](diagnosis)](diagnosis) here",
            NESTED,
        ),
        (
            read_words("[bold]carcinoma[/bold] :smiley: [/]"),
            "[bold][carcinoma](diagnosis)[/bold] :smiley: [/]",
            "[bold]carcinoma[/bold] :smiley: [/]",
        ),
        (
            read_words("carcinoma " * 100),
            ("[carcinoma](diagnosis) " * 100).strip(),
            ("carcinoma " * 20).strip(),
        ),
    ],
    ids=["marks", "nested", "markup", "long"],
)
def test_a_pipe_gets_brackets_and_a_terminal_colours(
    report: Report, brackets: str, in_colour: str
) -> None:
    row = ReadRow(id="[red]id[/red]", report=report)
    plain, seen = shown(row), shown(row, terminal=True)
    assert "[red]id[/red]" in plain
    assert brackets in plain
    assert "\x1b" not in plain
    assert "\x1b[" in seen
    assert in_colour in ESCAPES.sub("", seen)
    without_colours = shown(row, terminal=True, no_color=True)
    assert brackets.split(maxsplit=1)[0] in without_colours


def test_each_type_has_a_colour_and_what_is_absent_is_struck_through() -> None:
    text = " ".join(EntityType)
    report = Report(text=text, entities=tuple(entity(text, kind, kind) for kind in EntityType))
    assert len({span.style.bgcolor for span in entity_spans(report)}) == len(EntityType)
    present, absent = entity_spans(read_words("carcinoma no invasion"))
    assert absent.style.strike
    assert not present.style.strike


def test_relations_stand_below_in_the_order_of_the_text_each_on_one_line() -> None:
    report = read_words("HER2 negative, carcinoma\nbreast. HER2 negative")
    turned = report.model_copy(update={"relations": report.relations[::-1]})
    assert [line.strip() for line in relation_lines(turned)] == [
        "HER2 → negative 0.97",
        "carcinoma → breast 0.97",
        "HER2 → negative 0.97",
    ]
    text = "HER2 weakly\n  positive"
    entities = (entity(text, "HER2", EntityType.MARKER), entity(text, text[5:], EntityType.RESULT))
    report = Report(text=text, entities=entities, relations=(Relation(head=0, tail=1),))
    assert relation_lines(report) == ["  HER2 → weakly positive 1.00"]


@pytest.mark.parametrize("terminal", [True, False])
def test_what_the_marks_mean_is_said_once(terminal: bool) -> None:
    seen = shown(*[row_of("carcinoma")] * 3, terminal=terminal)
    assert seen.count("uncertain") == 1
    assert seen.count("case 1") == 3


def test_a_row_without_a_report_says_why() -> None:
    problem = Problem(code="empty_text", message="text is empty ([b]row 2[/b])", column="text")
    assert "text is empty ([b]row 2[/b])" in shown(ReadRow(id="x", row=2, errors=(problem,)))


def test_nothing_in_a_report_can_command_the_terminal() -> None:
    seen = shown(row_of("\x1b[2J carcinoma \x9b31m \x07\x08 end\r\nnext"), terminal=True)
    assert set(ESCAPES.sub("", seen)) & {"\x1b", "\x9b", "\x07", "\x08", "\r"} == set()
    assert "␛[2J" in seen

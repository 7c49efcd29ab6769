"""What was read, in the terminal: with colours, and readable without."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from histoeval import Entity, EntityType, Problem, Relation, Report
from histoeval.io.results import ReadRow
from histoeval.view.terminal.extraction import bracketed, coloured, relation_lines, show_rows
from tests.support.word_reader import read_words

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def shown(*rows: ReadRow, terminal: bool = False, no_color: bool = False) -> str:
    out = StringIO()
    show_rows(
        Console(
            file=out,
            force_terminal=terminal,
            color_system="truecolor" if terminal else None,
            no_color=no_color,
            width=200,
            legacy_windows=False,
        ),
        rows,
    )
    return out.getvalue()


def row_of(text: str) -> ReadRow:
    return ReadRow(id="case 1", report=read_words(text))


def test_without_colours_entities_stand_in_brackets() -> None:
    report = read_words("no invasion, possible sarcoma of the breast")
    assert bracketed(report).plain == (
        "no [¬invasion](finding), possible [sarcoma?](diagnosis) of the [breast](site)"
    )


def test_with_colours_only_the_marks_are_added() -> None:
    report = read_words("no invasion, possible sarcoma of the breast")
    assert coloured(report).plain == "no ¬invasion, possible sarcoma? of the breast"


def test_each_type_has_a_colour_of_its_own() -> None:
    text = " ".join(EntityType)
    places = {kind: text.index(kind) for kind in EntityType}
    entities = tuple(
        Entity(text=kind, start=places[kind], end=places[kind] + len(kind), type=kind)
        for kind in EntityType
    )
    grounds = {span.style for span in coloured(Report(text=text, entities=entities)).spans}
    assert len(grounds) == len(EntityType)


def test_what_is_absent_is_struck_through() -> None:
    struck = {
        piece.plain: any("strike" in str(span.style) for span in piece.spans)
        for piece in coloured(read_words("carcinoma no invasion")).split(" ")
    }
    assert struck == {"carcinoma": False, "no": False, "¬invasion": True}


def test_relations_stand_below_in_the_order_of_the_text() -> None:
    report = read_words("HER2 negative, carcinoma\nbreast. HER2 negative")
    turned = report.model_copy(update={"relations": report.relations[::-1]})
    assert [line.plain.strip() for line in relation_lines(turned)] == [
        "HER2 → negative 0.97",
        "carcinoma → breast 0.97",
        "HER2 → negative 0.97",
    ]


def test_an_entity_over_two_lines_is_one_line_in_a_relation() -> None:
    text = "HER2 weakly\n  positive"
    entities = (
        Entity(text="HER2", start=0, end=4, type=EntityType.MARKER),
        Entity(text=text[5:], start=5, end=len(text), type=EntityType.RESULT),
    )
    report = Report(text=text, entities=entities, relations=(Relation(head=0, tail=1),))
    (line,) = relation_lines(report)
    assert line.plain == "  HER2 → weakly positive 1.00"


def test_a_pipe_gets_brackets_and_a_terminal_colours() -> None:
    plain = shown(row_of("carcinoma"))
    assert "[carcinoma](diagnosis)" in plain
    assert "\x1b" not in plain
    seen = shown(row_of("carcinoma"), terminal=True)
    assert "\x1b[" in seen
    assert "[carcinoma]" not in seen


def test_a_terminal_that_wants_no_colours_gets_brackets() -> None:
    assert "[carcinoma](diagnosis)" in shown(row_of("carcinoma"), terminal=True, no_color=True)


@pytest.mark.parametrize("terminal", [True, False])
def test_what_the_marks_mean_is_said_once(terminal: bool) -> None:
    seen = shown(*[row_of("carcinoma")] * 3, terminal=terminal)
    assert seen.count("uncertain") == 1
    assert seen.count("case 1") == 3


def test_text_that_looks_like_markup_stays_as_it_is() -> None:
    row = ReadRow(id="[red]id[/red]", report=read_words("[bold]carcinoma[/bold] :smiley: [/]"))
    seen = shown(row)
    assert "[red]id[/red]" in seen
    assert "[bold][carcinoma](diagnosis)[/bold] :smiley: [/]" in seen


def test_a_row_without_a_report_says_why() -> None:
    problem = Problem(code="empty_text", message="text is empty ([b]row 2[/b])", column="text")
    assert "text is empty ([b]row 2[/b])" in shown(ReadRow(id="x", row=2, errors=(problem,)))


def test_long_lines_are_not_broken_in_a_pipe() -> None:
    text = "carcinoma " * 100
    assert text.replace("carcinoma", "[carcinoma](diagnosis)").strip() in shown(row_of(text))


def test_nothing_in_a_report_can_command_the_terminal() -> None:
    seen = shown(row_of("\x1b[2J carcinoma \x9b31m \x07\x08 end\r\nnext"), terminal=True)
    assert set(ESCAPES.sub("", seen)) & {"\x1b", "\x9b", "\x07", "\x08", "\r"} == set()
    assert "␛[2J" in seen


def test_nested_entities_are_both_marked() -> None:
    text = "invasive ductal carcinoma here"
    outer = Entity(text=text[:25], start=0, end=25, type=EntityType.DIAGNOSIS)
    inner = Entity(text="ductal", start=9, end=15, type=EntityType.DESCRIPTOR)
    last = Entity(text="carcinoma", start=16, end=25, type=EntityType.DIAGNOSIS)
    report = Report(text=text, entities=(inner, last, outer))
    assert bracketed(report).plain == (
        "[invasive [ductal](descriptor) [carcinoma](diagnosis)](diagnosis) here"
    )
    assert coloured(report).plain == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.data())
def test_every_character_is_shown_once_whatever_the_entities(
    text: str, data: st.DataObject
) -> None:
    entities = []
    for _ in range(data.draw(st.integers(0, 5)) if text else 0):
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        kind = data.draw(st.sampled_from(EntityType))
        entities.append(Entity(text=text[start:end], start=start, end=end, type=kind))
    report = Report(text=text, entities=tuple(entities))
    assert coloured(report).plain == text
    added = sum(len(f"[]({entity.type})") for entity in entities)
    assert len(bracketed(report).plain) == len(text) + added

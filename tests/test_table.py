"""One table, three renderers: nothing is lost, escaped wrongly or broken."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

import histoeval.table
from histoeval.table import ResultTable, footnotes, html_table, markdown, number
from tests.support.terminal_tables import table_rows

TABLE = ResultTable(
    "Scores <all>",
    ["metric", "value", "note"],
    [["a|b", "0.512", "<b>x</b>"], ["[red]c", "none", Text("two\nlines", "bold")]],
)


def shown(table: ResultTable, width: int = 80) -> str:
    stream = StringIO()
    Console(file=stream, width=width).print(table)
    return stream.getvalue()


def test_a_terminal_shows_cells_as_they_are_with_numbers_to_the_right() -> None:
    text = shown(TABLE)
    assert text.startswith("Scores <all>")
    assert table_rows(text)["a|b"] == ["0.512", "<b>x</b>"]
    assert "[red]c   none" in text


def test_numbers_are_not_broken_in_a_narrow_terminal() -> None:
    names = [f"quite a long metric name {n}" for n in range(4)]
    table = ResultTable("", ["report", *names], [["a name " * 9, *["0.123 (0.100…0.200)"] * 4]])
    words = shown(table).split()
    assert words.count("0.123") == words.count("(0.100…0.200)") == 4


words = st.text("abcdefghij_", min_size=1, max_size=18)
numbers = st.sampled_from(["0.123 (0.100…0.200)", "12,345", "none"])
prose = st.lists(words, max_size=30).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> ResultTable:
    headers = draw(st.lists(st.lists(words, max_size=4).map(" ".join), min_size=1, max_size=14))
    kinds = [draw(st.sampled_from([numbers, prose])) for _ in headers]
    rows = draw(st.lists(st.tuples(*kinds), max_size=4))
    return ResultTable(draw(prose), headers, rows)


@given(tables())
def test_any_table_fits_80_columns_and_breaks_no_word_of_a_header(table: ResultTable) -> None:
    text = shown(table)
    assert max(map(len, text.splitlines()), default=0) <= 80
    assert {word for name in table.columns for word in name.split()} <= {*text.split()}
    numbers = [word for row in table.rows for cell in row for word in str(cell).split()]
    assert {*text.split()} >= {*filter(lambda word: word[0].isdigit(), numbers)}


def test_columns_that_do_not_fit_follow_below_with_the_first_column_again() -> None:
    names = [f"measurement{n}" for n in range(9)]
    text = shown(ResultTable("", ["system", *names], [["a", *"012345678"]]))
    rows = [line.split() for line in text.splitlines() if line.startswith("a ")]
    assert [row[0] for row in rows] == ["a", "a"]
    assert [number for row in rows for number in row[1:]] == [*"012345678"]


def test_columns_that_tell_rows_apart_are_before_every_block() -> None:
    columns = ["criterion", "state", *[f"measurement{n}" for n in range(9)]]
    rows = [
        ["accuracy", state, *numbers] for state, numbers in (("raw", "1" * 9), ("new", "2" * 9))
    ]
    text = shown(ResultTable("", columns, rows))
    found = [line.split()[:3] for line in text.splitlines() if line.startswith("accuracy")]
    assert found == [["accuracy", "raw", "1"], ["accuracy", "new", "2"]] * 3


def test_every_table_of_the_terminal_is_a_fitted_one() -> None:
    own = {"table.py", "explanation.py", "slide.py"}  # these have tests, or two columns of prose
    source = Path(histoeval.table.__file__).parent
    using = {path.name for path in source.rglob("*.py") if "rich.table import" in path.read_text()}
    assert using <= own


def test_markdown_escapes_what_would_end_a_cell() -> None:
    assert markdown(TABLE).splitlines() == [
        "**Scores \\<all>**",
        "",
        "| metric | value | note |",
        "| --- | --- | --- |",
        "| a\\|b | 0.512 | \\<b>x\\</b> |",
        "| [red]c | none | two lines |",
    ]


def test_html_escapes_every_text_and_marks_numbers() -> None:
    page = html_table(TABLE)
    assert "<caption>Scores &lt;all&gt;</caption>" in page
    assert '<td>a|b</td><td class="n">0.512</td><td>&lt;b&gt;x&lt;/b&gt;</td>' in page
    assert "<caption>" not in html_table(TABLE._replace(title=""))


def test_columns_say_how_items_are_written() -> None:
    columns: dict[str, Callable[[int], str]] = {"n": str, "square": lambda n: f"{n * n}"}
    assert ResultTable.of("t", [2, 3], columns) == ("t", ["n", "square"], [["2", "4"], ["3", "9"]])


def test_a_missing_number_is_none_and_zero_has_no_sign() -> None:
    assert [number(None), number(-0.0001), number(1.25, 1)] == ["none", "0.000", "1.2"]


def test_each_reason_stands_once_with_all_names() -> None:
    reasons = [("a", "too few"), ("b", None), ("c", "too few"), ("a", "too few")]
    assert footnotes(reasons) == ["a, c: too few"]

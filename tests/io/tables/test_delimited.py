"""CSV and TSV: round trips, and what a broken row costs."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.delimited import OWN_HEADER, formula_proof, open_delimited
from histoeval.io.tables.records import Record

HEADER = "id,reference,candidate\n"
CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def records(path: Path, content: str | bytes, delimiters: str = ",;\t|") -> list[Record]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(open_delimited(path, "utf-8", Columns(), delimiters).read(()))


def codes(found: list[Record]) -> list[str]:
    return [record.problem.code if record.problem else "good" for record in found]


def ids(found: list[Record]) -> list[object]:
    return [record.values["id"] for record in found if record.values is not None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pairs.csv"


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    style=st.sampled_from([("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)]),
)
def test_what_a_csv_writer_writes_is_what_is_read(
    path: Path, rows: list[tuple[str, str, str]], delimiter: str, style: tuple[str, Literal[0, 1]]
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=style[0], quoting=style[1])
    writer.writerow(["id", "reference", "candidate"])
    writer.writerows(rows)
    found = records(path, out.getvalue())
    assert [tuple((record.values or {}).values()) for record in found] == rows
    assert [record.number for record in found] == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_separator_is_found_in_the_header(path: Path, delimiter: str) -> None:
    lines = ["id;reference;candidate", "1;a, b | c;d"]
    content = "\n".join(line.replace(";", delimiter) for line in lines)
    if delimiter in ",|":
        content = content.replace("a, b | c", '"a, b | c"')
    assert records(path, content)[0].values == {
        "id": "1",
        "reference": "a, b | c",
        "candidate": "d",
    }


def test_a_tab_file_is_split_at_tabs_only(path: Path) -> None:
    found = records(path, "reference\tcandidate\na,b;c\td|e\n", "\t")
    assert found[0].values == {"reference": "a,b;c", "candidate": "d|e"}


def test_blank_lines_are_no_rows_and_lines_are_counted_as_an_editor_does(path: Path) -> None:
    found = records(path, f'\n{HEADER}\n1,"two\nlines",b\n   \n\n2,c,d')
    assert [(record.number, record.line) for record in found] == [(1, 4), (2, 8)]


def test_old_and_new_ends_of_line_are_read(path: Path) -> None:
    assert ids(records(path, HEADER.replace("\n", "\r") + "1,a,b\r2,c,d\r")) == ["1", "2"]


def test_a_carriage_return_in_a_text_without_quotes_costs_one_row(path: Path) -> None:
    assert codes(records(path, f"{HEADER}1,a\rb,c\n2,a,b\n")) == ["broken_quotes", "good"]


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    packed = gzip.compress(f"{HEADER}1,a,b\n".encode())
    assert ids(records(tmp_path / "pairs.csv.gz", packed)) == ["1"]


def test_a_quote_left_open_costs_one_row(path: Path) -> None:
    found = records(path, f'{HEADER}1,"left open,b\n' + "".join(f"{n},a,b\n" for n in range(2, 50)))
    assert codes(found) == ["broken_quotes"] + ["good"] * 48
    assert ids(found) == [str(n) for n in range(2, 50)]
    assert found[0].problem is not None
    assert "row 1, line 2" in found[0].problem.message


@pytest.mark.parametrize("following", ['2,"a, quoted","b"', '"2","a","b"', "2,a,b", '2,"a\nb",c'])
def test_a_quote_left_open_costs_one_row_whatever_follows(path: Path, following: str) -> None:
    found = records(path, f'{HEADER}0,a,b\n1,a,"left open\n{following}\n3,"c",d\n')
    assert codes(found) == ["good", "broken_quotes", "good", "good"]
    assert ids(found) == ["0", "2", "3"]


def test_a_quote_closed_by_chance_further_down_costs_one_row(path: Path) -> None:
    found = records(path, f'{HEADER}1,"left open,b\n2,a,b\n3,a,b\n4,a,it is 5"\n5,a,b\n')
    assert codes(found)[0] == "wrong_column_count"
    assert ids(found) == ["2", "3", "4", "5"]


def test_a_row_of_several_lines_with_a_column_too_many_is_one_broken_row(path: Path) -> None:
    found = records(path, f'{HEADER}1,"one\ntwo","c, d",extra\n2,a,b\n')
    assert codes(found) == ["wrong_column_count", "good"]
    assert found[0].problem is not None
    assert "4 columns where the header has 3 (row 1, lines 2-3)" in found[0].problem.message


def test_a_carriage_return_inside_such_a_row_changes_nothing(path: Path) -> None:
    found = records(path, f'{HEADER}1,"one\ntwo\rtwo\nthree",c,extra\n2,a,b\n')
    assert codes(found) == ["wrong_column_count", "good"]


def test_the_rest_of_a_broken_row_is_never_taken_for_a_pair(path: Path) -> None:
    content = 'reference,candidate\n"He said "no" and\nleft",candidate one\n"good\nrow",b\n'
    found = records(path, content)
    assert codes(found) == ["broken_quotes", "broken_quotes", "good"]


@pytest.mark.parametrize("row", ["1,a", "1,a,b,c", "only text"])
def test_too_few_and_too_many_columns_are_said(path: Path, row: str) -> None:
    assert codes(records(path, f"{HEADER}{row}\n2,a,b\n")) == ["wrong_column_count", "good"]


def test_a_quote_inside_an_unquoted_text_is_a_quote(path: Path) -> None:
    found = records(path, f'{HEADER}1,a 5" tumour,b\n')
    assert found[0].values == {"id": "1", "reference": 'a 5" tumour', "candidate": "b"}


def test_a_cell_of_a_million_characters_is_fine(path: Path) -> None:
    found = records(path, f"{HEADER}1,{'tumour ' * 150_000},b\n2,a,b\n")
    assert codes(found) == ["good", "good"]


def test_a_row_that_never_ends_is_refused_without_holding_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", 1000)
    monkeypatch.setattr("histoeval.io.tables.delimited.RECORD_LIMIT", 1000)
    long_line = f"1,a,{'x' * 5_000_000}\n"
    open_quote = '3,"a,b\n' + "".join(f"{n},a,b\n" for n in range(4, 400))
    found = records(path, f"{HEADER}{long_line}2,a,b\n{open_quote}")
    assert codes(found) == ["record_too_long", "good", "record_too_long"] + ["good"] * 396
    assert found[1].line == 3


def test_a_bad_byte_spoils_its_own_cell_only(path: Path) -> None:
    found = records(path, b"id,reference,candidate\n1,a\xff,b\n2,c,d\n")
    assert found[0].values == {"id": "1", "reference": "a\udcff", "candidate": "b"}
    assert ids(found) == ["1", "2"]


def test_two_columns_of_one_name_are_refused(path: Path) -> None:
    with pytest.raises(InputError, match="more than one column called 'reference'"):
        records(path, "reference,reference,candidate\n")


def test_columns_without_a_name_are_let_be(path: Path) -> None:
    assert codes(records(path, "reference,candidate,,\na,b,,\n")) == ["good"]


@pytest.mark.parametrize("content", ["\n\n  \n", '""\n', '"reference,candidate\na,b\n'])
def test_a_file_without_a_header_that_can_be_read_is_refused(path: Path, content: str) -> None:
    with pytest.raises(InputError):
        records(path, content)


def test_a_record_that_is_too_long_costs_one_error_and_the_rows_behind_it_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("histoeval.io.tables.delimited.RECORD_LIMIT", 5_000)
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", 5_000)
    long = '3,"' + "a line of a report without an end\n" * 400 + '",x\n'
    content = f"id,reference,candidate\n1,a,b\n2,c,d\n{long}4,e,f\n5,g,h\n"
    (tmp_path / "pairs.csv").write_text(content, "utf-8")
    table = open_delimited(tmp_path / "pairs.csv", "utf-8", Columns(), ",")
    found = [(r.values or {}).get("id") or (r.problem and r.problem.code) for r in table.read(())]
    assert found == ["1", "2", "record_too_long", "4", "5"]


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-benign", "@cmd", "'=1", "''-a", "'quoted'", "plain", "", "\tx"]
)
def test_formulas_are_disarmed_in_tables_of_our_own_and_read_back_as_they_were(
    text: str, tmp_path: Path
) -> None:
    cell = formula_proof(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    path = tmp_path / "reports.csv"
    for header, expected in ((OWN_HEADER, text), (("id", *OWN_HEADER[2:], "more"), cell)):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, ["1", "i", "s", "l", cell, "a report"]])
        (record,) = open_delimited(path, "utf-8", Columns(), ",").read(())
        assert record.values is not None
        assert list(record.values.values())[4] == expected

"""CSV, TSV and text files: round trips, encodings, and what a broken row costs."""

import csv
import gzip
import hashlib
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.delimited import OWN_HEADER, formula_proof, open_delimited
from histoeval.io.tables.encoding import survey
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
    values = records(path, content)[0].values
    assert values == {"id": "1", "reference": "a, b | c", "candidate": "d"}


def test_a_tab_file_is_split_at_tabs_only(path: Path) -> None:
    found = records(path, "reference\tcandidate\na,b;c\td|e\n", "\t")
    assert found[0].values == {"reference": "a,b;c", "candidate": "d|e"}


def test_blank_lines_are_no_rows_and_lines_are_counted_as_an_editor_does(path: Path) -> None:
    found = records(path, f'\n{HEADER}\n1,"two\nlines",b\n   \n\n2,c,d')
    assert [(record.number, record.line) for record in found] == [(1, 4), (2, 8)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # an old file has no line feeds; elsewhere a carriage return outside of quotes is a fault
        ("1,a\rb,c\n2,a,b\n", "broken_quotes 2"),
        # a quote left open costs its row alone, whatever follows
        ('1,"left open,b\n2,a,b\n3,a,b\n', "broken_quotes 2 3"),
        ('0,a,b\n1,a,"left open\n2,"a, quoted","b"\n3,"c",d\n', "0 broken_quotes 2 3"),
        ('0,a,b\n1,a,"left open\n"2","a","b"\n3,"c",d\n', "0 broken_quotes 2 3"),
        ('0,a,b\n1,a,"left open\n2,a,b\n3,"c",d\n', "0 broken_quotes 2 3"),
        ('0,a,b\n1,a,"left open\n2,"a\nb",c\n3,"c",d\n', "0 broken_quotes 2 3"),
        # and one that is closed by chance further down
        ('1,"left open,b\n2,a,b\n3,a,b\n4,a,it is 5"\n5,a,b\n', "wrong_column_count 2 3 4 5"),
        # a row of several lines with a column too many is one broken row
        ('1,"one\ntwo","c, d",extra\n2,a,b\n', "wrong_column_count 2"),
        ('1,"one\ntwo\rtwo\nthree",c,extra\n2,a,b\n', "wrong_column_count 2"),
        # the rest of a broken row is never taken for a pair
        (
            '1,"He said "no" and\nleft",candidate one\n"2","good\nrow",b\n',
            "broken_quotes wrong_column_count 2",
        ),
        ("1,a\n2,a,b\n", "wrong_column_count 2"),
        ("1,a,b,c\n2,a,b\n", "wrong_column_count 2"),
        ("only text\n2,a,b\n", "wrong_column_count 2"),
        ('1,a 5" tumour,b\n', "1"),
        (f"1,{'tumour ' * 150_000},b\n2,a,b\n", "1 2"),
    ],
)
def test_a_broken_row_costs_no_other(path: Path, rows: str, expected: str) -> None:
    found = records(path, HEADER + rows)
    outcomes = [r.problem.code if r.problem else (r.values or {})["id"] for r in found]
    assert outcomes == expected.split()


def test_ends_of_line_of_old_files_are_read(path: Path) -> None:
    assert ids(records(path, HEADER.replace("\n", "\r") + "1,a,b\r2,c,d\r")) == ["1", "2"]


def test_a_problem_says_in_which_lines_it_is(path: Path) -> None:
    rows = '1,"one\ntwo","c, d",extra\n2,"left open,b\n3,a,b\n'
    wide, open_, _ = [record.problem for record in records(path, HEADER + rows)]
    assert wide is not None
    assert "4 columns where the header has 3 (row 1, lines 2-3)" in wide.message
    assert open_ is not None
    assert "row 2, line 4" in open_.message


@pytest.mark.parametrize("limit", [1000, 5000])
def test_a_row_that_never_ends_costs_one_error_and_is_not_held(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", limit)
    monkeypatch.setattr("histoeval.io.tables.delimited.RECORD_LIMIT", limit)
    long_line = f"1,a,{'x' * 5_000_000}\n"
    long_text = '3,"' + "a line of a report without an end\n" * 400 + '",x\n'
    open_quote = '5,"a,b\n' + "".join(f"{n},a,b\n" for n in range(6, 800))
    found = records(path, f"{HEADER}{long_line}2,a,b\n{long_text}4,a,b\n{open_quote}")
    kinds = ["record_too_long", "good"]
    assert codes(found) == [*kinds, *kinds, "record_too_long", *["good"] * 794]
    assert found[1].line == 3


def test_a_bad_byte_spoils_its_own_cell_only(path: Path) -> None:
    found = records(path, b"id,reference,candidate\n1,a\xff,b\n2,c,d\n")
    assert found[0].values == {"id": "1", "reference": "a\udcff", "candidate": "b"}
    assert ids(found) == ["1", "2"]


def test_columns_without_a_name_are_let_be(path: Path) -> None:
    assert codes(records(path, "reference,candidate,,\na,b,,\n")) == ["good"]


@pytest.mark.parametrize(
    "content",
    ["\n\n  \n", '""\n', '"reference,candidate\na,b\n', "reference,reference,candidate\n"],
)
def test_a_file_without_a_header_that_can_be_used_is_refused(path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"blank|no names|cannot be read|called 'reference'"):
        records(path, content)


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-benign", "@cmd", "'=1", "''-a", "'quoted'", "plain", "", "\tx"]
)
def test_formulas_are_disarmed_and_read_back(text: str, tmp_path: Path) -> None:
    cell = formula_proof(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    path = tmp_path / "reports.csv"
    for header, expected in ((OWN_HEADER, text), (("id", *OWN_HEADER[2:], "more"), cell)):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, ["1", "i", "s", "l", cell, "a report"]])
        (record,) = open_delimited(path, "utf-8", Columns(), ",").read(())
        assert record.values is not None
        assert list(record.values.values())[4] == expected


WESTERN = (
    "id,reference,candidate\n1,Naïve B cells at 37 °C ± 1; 5 µm,Café-au-lait spot 2 \u00d7 3 cm\n"
)


def encoding_of(content: bytes, step: int = 1 << 20) -> str:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("histoeval.io.tables.encoding.CHUNK", step)
        return survey(written(Path(folder), content)).encoding


def written(folder: Path, content: bytes, name: str = "pairs.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("ascii", "utf-8"),
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
        ("latin-1", "latin-1"),
    ],
)
def test_the_encoding_of_western_text_is_told(spelling: str, told: str) -> None:
    text = WESTERN.encode("ascii", "ignore").decode() if spelling == "ascii" else WESTERN
    assert encoding_of(text.encode(spelling)) == told


def test_curly_quotes_and_dashes_of_windows_are_told_from_latin_1() -> None:
    assert encoding_of("a “quoted” word \u2013 so".encode("cp1252")) == "cp1252"


@given(st.text(st.characters(exclude_characters="\0")), st.integers(1, 7))  # mostly NUL is binary
def test_what_is_utf8_is_told_as_utf8_wherever_chunks_are_cut(text: str, step: int) -> None:
    content = ("x" + text).encode("utf-8", "ignore")
    assert encoding_of(content, step) == "utf-8"


@pytest.mark.parametrize("step", [1, 2, 3, 5, 10**6])
@pytest.mark.parametrize(
    "text",
    [
        "Grüße à l'équipe",
        "Naïve … œsophagus não",
        "süß, „Darm“, 3 µm ± 2 °C",
        "é uma lesão; è così; å se",
        "Žižek šel; 5 €; «à»",
        "ÜBERGRÖSSE",
    ],
)
def test_western_text_is_told_whatever_accents_it_has(text: str, step: int) -> None:
    content = f"{text}\n".encode("cp1252") * 20
    found = encoding_of(content, step)
    assert found in ("latin-1", "cp1252")
    assert content.decode(found) == f"{text}\n" * 20


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r"])
@pytest.mark.parametrize("step", [1, 2, 3, 10**6])
def test_other_scripts_are_not_taken_for_western_text(encoding: str, step: int) -> None:
    assert encoding_of("опухоль желудка и карцинома".encode(encoding), step) == "utf-8"


@pytest.mark.parametrize(
    "content",
    [
        "Größe".encode() + b" caf\xe9",
        b"a byte \xff alone",
        b"a letter \xe2 between spaces",
        b"\xc3 left of a cut character",
        "Опухоль желудка".encode("cp1251"),
        "腺癌".encode("shift-jis"),
    ],
)
def test_what_is_neither_utf8_nor_western_stays_utf8(content: bytes, tmp_path: Path) -> None:
    surveyed = survey(written(tmp_path, content))
    assert surveyed.encoding == "utf-8"
    assert "refused" in surveyed.notes[0]


def test_a_person_is_told_that_a_file_was_read_as_latin_1(tmp_path: Path) -> None:
    surveyed = survey(written(tmp_path, WESTERN.encode("latin-1")))
    assert "Latin-1" in surveyed.notes[0]
    assert "encoding=" in surveyed.notes[0]


def test_the_encoding_a_person_names_is_used(tmp_path: Path) -> None:
    path = written(tmp_path, WESTERN.encode("latin-1"))
    assert survey(path, "ISO-8859-15").encoding == "iso8859-15"


@pytest.mark.parametrize(
    ("spelling", "named"), [("utf-8-sig", "UTF8"), ("utf-16", "utf-16-le"), ("utf-16", "UTF16")]
)
def test_a_byte_order_mark_is_kept(tmp_path: Path, spelling: str, named: str) -> None:
    assert survey(written(tmp_path, WESTERN.encode(spelling)), named).encoding == spelling


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13"])
def test_an_encoding_that_does_not_exist_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"no encoding '{name}'"):
        survey(written(tmp_path, b"a,b\n"), name)


def test_the_hash_is_that_of_the_content_packed_or_not(tmp_path: Path) -> None:
    content = WESTERN.encode() * 1000
    plain = survey(written(tmp_path, content))
    packed = survey(written(tmp_path, gzip.compress(content), "pairs.csv.gz"))
    assert plain.sha256 == packed.sha256 == hashlib.sha256(content).hexdigest()
    assert plain.size == len(content)
    assert packed.size == (tmp_path / "pairs.csv.gz").stat().st_size


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (WESTERN.encode("utf-16-le"), "UTF-16 without the mark"),
        (b"PK\x03\x04" + b"x" * 100, "Excel"),
        (b"%PDF-1.7", "a PDF"),
        (gzip.compress(b"a,b", mtime=0), "gzip"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        survey(written(tmp_path, content))


def test_a_gzip_file_that_was_cut_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(WESTERN.encode() * 100)
    with pytest.raises(InputError, match="not a whole gzip file"):
        survey(written(tmp_path, packed[:-12], "pairs.csv.gz"))


def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        survey(tmp_path)

"""JSON lines and JSON documents."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.tables.json_documents import open_json, open_json_lines
from histoeval.io.tables.records import RecordTable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=4), min_size=1, max_size=6)
ROW = {"reference": "a", "candidate": "b"}


Opener = Callable[[str | bytes], RecordTable]


def opener(path: Path, read: Callable[[Path, str], RecordTable]) -> Opener:
    def opened(content: str | bytes) -> RecordTable:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, "utf-8")

    return opened


@pytest.fixture
def document(tmp_path: Path) -> Opener:
    return opener(tmp_path / "pairs.json", open_json)


@pytest.fixture
def lines(tmp_path: Path) -> Opener:
    return opener(tmp_path / "pairs.jsonl", open_json_lines)


def values(table: RecordTable) -> list[Any]:
    return [record.values for record in table.read(())]


def codes(table: RecordTable) -> list[str]:
    return [record.problem.code if record.problem else "good" for record in table.read(())]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(OBJECTS, st.sampled_from([None, 0, 2]), st.booleans())
def test_objects_come_back(
    lines: Opener,
    document: Opener,
    objects: list[dict[str, Any]],
    indent: int | None,
    ascii_only: bool,
) -> None:
    written = "\n".join(json.dumps(each, ensure_ascii=ascii_only) for each in objects)
    assert values(lines(written)) == objects
    assert values(document(json.dumps(objects, indent=indent, ensure_ascii=ascii_only))) == objects


def test_blank_lines_are_no_rows(lines: Opener) -> None:
    found = list(lines(f"\n{json.dumps(ROW)}\n  \n\r\n{json.dumps(ROW)}").read(()))
    assert [(record.number, record.line) for record in found] == [(1, 2), (2, 5)]


def test_columns_are_all_that_the_first_rows_have(lines: Opener) -> None:
    assert lines('broken\n{"gt": "a"}\n{"candidate": "b"}').columns == ("gt", "candidate")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"reference": "a", "candidate": ', "broken_json"),
        (b"reference,candidate", "broken_json"),
        (b'{"n": ' + b"1" * 5000 + b"}", "broken_json"),
        (b"[" * 100_000, "broken_json"),
        (b'["reference"]', "not_an_object"),
        (b"17", "not_an_object"),
        (b"null", "not_an_object"),
        (b'{"reference": "caf\xe9"}', "not_utf8"),
        (b'{"reference": "a", "candidate": NaN, "candidate": "b"}', "repeated_key"),
        (b'{"reference": "a", "candidate": {"x": 1, "x": 2}}', "repeated_key"),
    ],
)
def test_a_broken_line_is_said_and_costs_no_other(lines: Opener, line: bytes, code: str) -> None:
    good = json.dumps(ROW).encode()
    assert codes(lines(b"\n".join([good, line, good]))) == ["good", code, "good"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"reference" "a"}', "row 2, line 2.*at character 14"),
        ('{"reference": "a', "Unterminated string starting at character 15;"),
    ],
)
def test_the_place_of_a_broken_line_is_said(lines: Opener, line: str, told: str) -> None:
    trouble = list(lines(f"{json.dumps(ROW)}\n{line}").read(()))[1].problem
    assert trouble is not None
    assert re.search(told, trouble.message)


def test_a_line_that_never_ends_is_refused(lines: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", 1000)
    monkeypatch.setattr("histoeval.io.tables.json_documents.RECORD_LIMIT", 1000)
    good = json.dumps(ROW)
    table = lines("\n".join([good, json.dumps({"reference": "x" * 5_000_000}), good]))
    assert codes(table) == ["good", "record_too_long", "good"]


@pytest.mark.parametrize("content", ["no\nno\n", "[1]\n[2]\n"])
def test_a_file_with_no_row_is_refused(lines: Opener, content: str) -> None:
    with pytest.raises(InputError, match="row 1, line 1"):
        lines(content)


def test_a_list_inside_an_object_is_found(document: Opener) -> None:
    content = {"version": 2, "tags": ["x"], "meta": {"a": 1}, "data": [ROW, ROW], "n": 2}
    assert values(document(json.dumps(content))) == [ROW, ROW]


def test_objects_by_their_ids_bring_their_ids(document: Opener) -> None:
    table = document(json.dumps({"case 1": ROW, "case 2": ROW, "case 3": "text"}))
    assert table.keyed
    assert [record.key for record in table.read(())] == ["case 1", "case 2", "case 3"]
    assert codes(table) == ["good", "good", "not_an_object"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\n".join([json.dumps(ROW)] * 3), "good good good"),
        (b'[{"a": 1}, {"a": "\xff"}, {"a": 2}]', "good not_utf8 good"),
        ('[{"a": 1}, {"a": 1, "a": 2}, {"a": 1}]', "good repeated_key good"),
        ('[{"a": "cut \\ud83d here"}]', "good"),
    ],
)
def test_a_fault_costs_its_row_only(document: Opener, content: str | bytes, expected: str) -> None:
    assert codes(document(content)) == expected.split()


@pytest.mark.parametrize(
    ("content", "good"),
    [
        (f"[{json.dumps(ROW)}, {json.dumps(ROW)}, {{", 2),
        (f'[{json.dumps(ROW)}, {{"reference" 1}}, {json.dumps(ROW)}]', 1),
        (f"[{json.dumps(ROW)}] and more", 1),
        (f"[{json.dumps(ROW)} {json.dumps(ROW)}]", 1),
        (f'{{"data": [{json.dumps(ROW)}, {json.dumps(ROW)}], "n": ', 2),
        (f'{{"a": {json.dumps(ROW)}, "b": {{"reference": "left op', 1),
    ],
)
def test_rows_before_a_break_are_delivered(document: Opener, content: str, good: int) -> None:
    assert codes(document(content)) == ["good"] * good + ["broken_json"]


def test_a_break_is_found_at_once_and_its_place_is_said(document: Opener) -> None:
    rows = ", ".join([json.dumps(ROW)] * 100_000)
    trouble = list(document(f'[{json.dumps(ROW)}, {{"reference" 1}}, {rows}]').read(()))[1].problem
    assert trouble is not None
    assert f"at character {len(json.dumps(ROW)) + 17}" in trouble.message


def test_a_row_that_is_too_long(document: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.json_documents.RECORD_LIMIT", 1000)
    table = document(json.dumps([ROW, {"reference": "x" * 100_000}, ROW]))
    assert codes(table) == ["good", "record_too_long", "good"]


def test_a_document_that_is_too_long(document: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.json_documents.LARGEST", 100)
    with pytest.raises(InputError, match=r"more than 100 characters.*\.jsonl"):
        document(json.dumps([ROW] * 10))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"text"', "neither a list"),
        ("   ", "neither a list"),
        ('{"a": 1}', "no list of objects"),
        (json.dumps({"train": [ROW], "test": [ROW]}), "several lists of objects: train, test"),
        ('{"a" 1}', "is not JSON"),
        ("[not json]", "no row of"),
    ],
)
def test_a_document_without_rows_is_refused(document: Opener, content: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        document(content)

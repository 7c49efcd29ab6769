"""Files of single reports: which column is the text, and what is no report at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from histoeval import InputError
from histoeval.io.reports import open_reports


def write(folder: Path, records: list[dict[str, object]]) -> Path:
    file = folder / "in.jsonl"
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return file


@pytest.mark.parametrize("content", ["", "\n \n", "id,text\n"])
def test_a_file_without_reports_is_said(content: str, tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"empty|blank|no rows"):
        open_reports(file)


def test_a_wrong_encoding_is_the_trouble_of_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    rows = ["id,text", "a,Café carcinoma", "b,naïve sarcoma", "c,breast"]
    file.write_bytes("\n".join([*rows[:2], ""]).encode() + "\n".join(rows[2:]).encode("latin-1"))
    codes = [row.problems[0].code if row.problems else "" for row in open_reports(file).rows()]
    assert codes == ["", "not_utf8", ""]
    file.write_bytes("\n".join(rows).encode("latin-1"))
    for encoding in ("latin-1", None):
        texts = [row.text for row in open_reports(file, encoding=encoding).rows()]
        assert texts == ["Café carcinoma", "naïve sarcoma", "breast"]
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        open_reports(file, encoding="klingon")


@pytest.mark.parametrize("name", ["text", "Report", "Pathology Report", "findings", "gt", "pred"])
def test_the_text_is_known_by_many_names(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, name: "carcinoma", "age": "60"}])
    assert open_reports(file).layout.text == name


def test_a_column_called_text_wins_over_other_names(tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, "report": "r1", "text": "carcinoma"}])
    assert open_reports(file).layout.text == "text"


def test_where_the_text_cannot_be_guessed_the_columns_are_said(tmp_path: Path) -> None:
    file = write(tmp_path, [{"reference": "a", "candidate_x": "b", "age": 1}])
    with pytest.raises(InputError, match=r"text='NAME'.*'reference', 'candidate_x'$"):
        open_reports(file)
    assert open_reports(file, text="candidate_x").layout.text == "candidate_x"
    write(tmp_path, [{"who": "a", "what": "b"}])
    with pytest.raises(InputError, match=r"no column for the text.*text='NAME'.*'who', 'what'"):
        open_reports(file)
    with pytest.raises(InputError, match=r"no column 'wat' \(did you mean 'what'\?\)"):
        open_reports(file, text="wat")


def test_columns_are_as_they_are_named(tmp_path: Path) -> None:
    file = write(tmp_path, [{"id": 1, "text": "a", "key": "k", "note": "b"}])
    source = open_reports(file, text="note", id_="key")
    assert [(row.id, row.text) for row in source.rows()] == [("k", "b")]
    with pytest.raises(InputError, match="no columns to name"):
        open_reports(tmp_path, text="note")


def test_what_cannot_be_read_is_said_with_what_can(tmp_path: Path) -> None:
    (tmp_path / "in.odt").write_text("x", "utf-8")
    with pytest.raises(InputError, match=r"\.csv.*one report per line, or a folder"):
        open_reports(tmp_path / "in.odt")
    with pytest.raises(InputError, match="does not exist"):
        open_reports(tmp_path / "none.csv")

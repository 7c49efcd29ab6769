"""Word documents as reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from histoeval.io.documents import texts
from histoeval.io.documents.texts import word_text
from histoeval.io.reports import open_reports
from histoeval.io.tables.records import Fault
from tests.support.documents import docx, paragraphs, zipped


def read(folder: Path, content: bytes) -> str | Fault:
    file = folder / "S1.docx"
    file.write_bytes(content)
    return word_text(file)


def kind_of(found: str | Fault) -> str:
    assert isinstance(found, Fault)
    return found.kind


def test_paragraphs_tabs_breaks_and_tables_are_read(tmp_path: Path) -> None:
    body = (
        paragraphs("Colon, biopsy:", "Tubular adenoma &lt; 1 cm ä 😀")
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
        + "<w:tbl><w:tr>"
        + "".join(f"<w:tc>{paragraphs(cell)}</w:tc>" for cell in ("ER", "90 %"))
        + "</w:tr></w:tbl>"
    )
    text = "Colon, biopsy:\nTubular adenoma < 1 cm ä 😀\na\tb\nc\nER\t90 %"
    assert read(tmp_path, docx(body)) == text


def test_deleted_text_and_second_versions_of_text_boxes_are_left_out(tmp_path: Path) -> None:
    body = (
        "<w:p><w:del><w:r><w:delText>malignant</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>benign</w:t></w:r></w:ins></w:p>"
        f"<mc:AlternateContent><mc:Choice>{paragraphs('box')}</mc:Choice>"
        f"<mc:Fallback>{paragraphs('box')}</mc:Fallback></mc:AlternateContent>"
    )
    assert read(tmp_path, docx(body)) == "benign\nbox"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "damaged_file"),
        (b"PK\3\4 rubbish", "damaged_file"),
        (docx(paragraphs("Colon."))[:-40], "damaged_file"),
        (docx(paragraphs("Colon."), name="other.xml"), "damaged_file"),
        (zipped({"word/document.xml": b"<w:document>"}), "damaged_file"),
        (
            zipped({"word/document.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}),
            "damaged_file",
        ),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "locked_file"),
    ],
)
def test_what_is_no_word_document_is_a_problem(tmp_path: Path, content: bytes, kind: str) -> None:
    assert kind_of(read(tmp_path, content)) == kind


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "RECORD_LIMIT", 100_000)
    assert kind_of(read(tmp_path, docx("a" * 10_000_000))) == "long_text"


def test_one_document_is_a_table_of_one_report(tmp_path: Path) -> None:
    file = tmp_path / "S1.docx"
    file.write_bytes(docx(paragraphs("Colon.")))
    (row,) = open_reports(file).rows()
    assert (row.id, row.text) == ("S1", "Colon.")


def test_documents_beside_texts_are_not_read_and_the_output_says_so(tmp_path: Path) -> None:
    (tmp_path / "S1.docx").write_bytes(docx(paragraphs("Skin.")))
    (tmp_path / "S1.txt").write_text("Colon.", "utf-8")
    source = open_reports(tmp_path)
    assert [(row.id, row.text) for row in source.rows()] == [("S1", "Colon.")]
    assert source.notes == (
        f"1 .docx and .pdf files of {tmp_path.name} were not read, as it has text files",
    )

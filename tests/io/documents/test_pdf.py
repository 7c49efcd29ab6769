"""The text layer of PDFs as reports."""

from __future__ import annotations

import base64
import builtins
import io
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import MissingDependency
from histoeval.io.documents import texts as reader
from histoeval.io.reports import open_reports
from tests.support.documents import oru, pdf

PAGES = (["Skin, excision:", "Compound nevus."], ["Margins free."])


def locked(password: str) -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(io.BytesIO(pdf(*PAGES)))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_folder_of_pdfs_is_read_and_what_cannot_be_is_a_problem_of_its_row(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pypdf")
    files = {
        "1": pdf(*PAGES),
        "2": pdf([]),
        "3": locked("secret"),
        "4": locked(""),
        "5": b"%PDF-1.4\nrubbish",
        "6": b"",
        "7": pdf(*PAGES)[:300],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.pdf").write_bytes(content)
    rows = list(open_reports(tmp_path).rows())
    text = "Skin, excision:\nCompound nevus.\nMargins free."
    assert {row.id: row.text for row in rows if row.text} == {"1": text, "4": text}
    codes = {row.id: row.problems[0].code for row in rows if row.problems}
    assert {name: codes[name] for name in "2356"} == {
        "2": "no_text_layer",
        "3": "locked_file",
        "5": "damaged_file",
        "6": "damaged_file",
    }
    assert codes["7"] in ("damaged_file", "no_text_layer")
    assert rows[1].problems[0].message.startswith("2.pdf has no text layer: it is a scan")


def test_a_pdf_of_too_many_pages_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdf")
    monkeypatch.setattr(reader, "MOST_PAGES", 1)
    found = reader.pdf_text(pdf(*PAGES), "book.pdf")
    assert not isinstance(found, str)
    assert found.kind == "many_pages"


def test_without_pypdf_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pypdf":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", importing)
    (tmp_path / "1.pdf").write_bytes(pdf(*PAGES))
    with pytest.raises(MissingDependency, match=r"read 1\.pdf: .*histoeval\[documents\]"):
        open_reports(tmp_path)
    inside = base64.b64encode(pdf(*PAGES)).decode()
    file = tmp_path / "export.hl7"
    file.write_text(oru("1", f"ED|^R||^AP^PDF^Base64^{inside}") + oru("2", "TX|^R||Skin."), "utf-8")
    lost, read = open_reports(file).rows()
    assert [problem.code for problem in lost.problems] == ["missing_package"]
    assert read.text == "Skin."

"""Documents and exports that were cut or made up: never a crash, always rows or a reason."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from histoeval.errors import HistoEvalError
from histoeval.io.reports import open_reports
from tests.support.documents import diagnostic_report, docx, oru, paragraphs, pdf, presented

quick = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def read(file: Path, content: bytes) -> None:
    """Every row has a text or a problem; a file that is no such thing is refused in words."""
    file.write_bytes(content)
    with suppress(HistoEvalError):
        rows = list(open_reports(file).rows())
        assert all((row.text is None) == bool(row.problems) for row in rows)


def mangled(content: bytes, draw: st.DataObject) -> bytes:
    """The content with a part replaced, doubled or cut off."""
    start = draw.draw(st.integers(0, len(content)))
    end = draw.draw(st.integers(start, min(len(content), start + 200)))
    return content[:start] + draw.draw(st.binary(max_size=20)) + content[end:]


WHOLE = {
    "a.hl7": oru("S1", "FT|^Report||Colon\\.br\\Adenoma \\X41\\", charset="8859/1").encode() * 3,
    "a.docx": docx(paragraphs("Colon.", "Adenoma.")),
    "a.json": json.dumps(
        [diagnostic_report(f"r{n}", presentedForm=presented("Colon.")) for n in range(3)]
    ).encode(),
    "a.ndjson": b"\n".join(
        json.dumps(diagnostic_report(f"r{n}", conclusion="Colon.")).encode() for n in range(3)
    ),
    "a.pdf": pdf(["Colon."], ["Adenoma."]),
}


@pytest.mark.parametrize("name", WHOLE)
@quick
@given(draw=st.data())
def test_mangled_files(tmp_path: Path, name: str, draw: st.DataObject) -> None:
    if name == "a.pdf":
        pytest.importorskip("pypdf")
    read(tmp_path / name, mangled(WHOLE[name], draw))


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "a.pdf"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 1000, b"\xff\xfeM\0S\0H\0", "MSH|^~\\&|😀".encode(), b"MSH", b"{" * 5_000],
)
def test_files_that_are_something_else(tmp_path: Path, name: str, content: bytes) -> None:
    read(tmp_path / name, content)


def test_a_text_of_a_megabyte_is_read_in_every_form(tmp_path: Path) -> None:
    text = "Colon. 😀 " * 100_000
    forms = {
        "a.hl7": oru("S1", f"TX|^R||{text}").encode(),
        "a.docx": docx(paragraphs(text)),
        "a.json": json.dumps(diagnostic_report("r", presentedForm=presented(text))).encode(),
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        (row,) = open_reports(tmp_path / name).rows()
        assert row.text is not None
        assert len(row.text) > 890_000

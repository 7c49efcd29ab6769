"""Text files, folders, Word documents and PDFs as reports."""

import base64
import builtins
import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, MissingDependency
from histoeval.io.documents import texts
from histoeval.io.documents import texts as reader
from histoeval.io.documents.texts import word_text
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.reports import open_reports
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.records import Fault
from tests.support.documents import docx, oru, paragraphs, pdf, zipped


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def opened(folder: Path, *names: str) -> PairSource:
    return open_source([folder / name for name in names])


def outcomes(rows: list[PairRow]) -> list[tuple[str, str | None, str]]:
    return [(row.id, row.system, row.problems[0].code if row.problems else "") for row in rows]


def test_the_same_line_of_each_file_is_the_same_case(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "a\r\nb\r\n", "ours.txt": "c\rc\nd", "theirs.txt": "e\x0c\nf\n\n"})
    source = opened(tmp_path, "refs.txt", "ours.txt", "theirs.txt")
    pairs = [row.pair for row in source.rows() if row.pair]
    assert [(p.id, p.system, p.reference, p.candidate) for p in pairs] == [
        ("0", "ours", "a", "c\rc"),
        ("0", "theirs", "a", "e\x0c"),
        ("1", "ours", "b", "d"),
        ("1", "theirs", "b", "f"),
    ]
    assert (source.format, source.name) == ("text", "refs.txt, ours.txt, theirs.txt")
    assert source.layout.candidates == ("ours", "theirs")


def test_a_file_that_ends_early_lacks_its_last_lines(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "a\nb\nc\n", "ours.txt": "d\n\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert [code for _, _, code in outcomes(rows)] == ["", "empty_text", "missing_value"]
    assert "ours ends before line 3" in rows[2].problems[0].message


def test_each_file_may_have_its_own_encoding(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "naïve\n".encode("latin-1"), "ours.txt": "naïve\n"})
    source = opened(tmp_path, "refs.txt", "ours.txt")
    pair = next(source.rows()).pair
    assert pair is not None
    assert pair.reference == pair.candidate == "naïve"
    assert source.encoding == "latin-1, utf-8"
    assert source.notes[0].startswith("refs.txt: not UTF-8")


def test_packed_files_are_read_and_their_systems_named_alike(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt.gz": gzip.compress(b"a\n"), "ours.txt.gz": gzip.compress(b"b\n")})
    pair = next(opened(tmp_path, "refs.txt.gz", "ours.txt.gz").rows()).pair
    assert pair is not None
    assert (pair.reference, pair.candidate, pair.system) == ("a", "b", "ours")


def test_a_bad_byte_costs_its_line_only(tmp_path: Path) -> None:
    write(tmp_path, {"refs.txt": "naïve\nb\n", "ours.txt": b"\xff\nna\xc3\xafve\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert outcomes(rows) == [("0", "ours", "not_utf8"), ("1", "ours", "")]


def test_a_line_that_never_ends_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.io.tables.encoding.RECORD_LIMIT", 1000)
    monkeypatch.setattr("histoeval.io.documents.texts.RECORD_LIMIT", 1000)
    write(tmp_path, {"refs.txt": "a\nb\n", "ours.txt": f"{'x' * 100_000}\nc\n"})
    rows = list(opened(tmp_path, "refs.txt", "ours.txt").rows())
    assert outcomes(rows) == [("0", "ours", "record_too_long"), ("1", "ours", "")]


def test_files_of_the_same_name_are_the_same_case(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "refs/b.txt": "Reference b\nin two lines\n",
            "refs/lung/a.txt": "Reference a",
            "refs/.DS_Store": b"\0\0",
            "ours/b.md": "Candidate b",
            "ours/lung/a.TXT": "Candidate a",
        },
    )
    source = opened(tmp_path, "refs", "ours")
    pairs = [row.pair for row in source.rows() if row.pair]
    assert [(p.id, p.system, p.reference, p.candidate) for p in pairs] == [
        ("b", "ours", "Reference b\nin two lines", "Candidate b"),
        ("lung/a", "ours", "Reference a", "Candidate a"),
    ]
    assert (source.format, source.name) == ("folder", "refs, ours")


@pytest.mark.parametrize("ending", [".txt", ".docx", ".hl7"])
def test_hidden_files_and_those_of_locks_are_no_reports(tmp_path: Path, ending: str) -> None:
    message = "MSH|^~\\&|L|L|E|H|2026||ORU^R01|1|P|2.5\rOBR|1||a\rOBX|1|TX|^||Skin."
    (tmp_path / "made" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in ("a", "._a", "~$a", ".ipynb_checkpoints/a"):
        (tmp_path / "made" / f"{name}{ending}").write_text(message, "utf-8")
    assert [row.id for row in open_reports(tmp_path / "made").rows()] == ["a"]


def test_a_file_on_one_side_only_is_missed_by_name(tmp_path: Path) -> None:
    write(tmp_path, {"refs/a.txt": "a", "refs/b.txt": "b", "ours/b.txt": "b", "ours/c.txt": "c"})
    rows = list(opened(tmp_path, "refs", "ours").rows())
    codes = {id_: code for id_, _, code in outcomes(rows)}
    assert codes == {"a": "missing_value", "b": "", "c": "missing_value"}
    assert "ours has no file for 'a'" in rows[0].problems[0].message
    assert "a.txt was expected" in rows[0].problems[0].message
    assert rows[2].problems[0].column == "reference"


def test_files_that_are_empty_binary_or_broken_cost_their_own_row(tmp_path: Path) -> None:
    contents: dict[str, str | bytes] = {
        "a": "",
        "b": b"\x00\x01" * 50,
        "c": b"\xff",
        "d": "fine",
        "e": "naïve".encode("cp1252"),
    }
    write(tmp_path, {f"refs/{name}.txt": "text" for name in contents})
    write(tmp_path, {f"ours/{name}.txt": content for name, content in contents.items()})
    rows = list(opened(tmp_path, "refs", "ours").rows())
    codes = [code for _, _, code in outcomes(rows)]
    assert codes == ["empty_text", "binary_text", "not_utf8", "", ""]


def test_the_hash_of_folders_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"refs/a.txt": "a", "refs/b.txt": "b", "ours/a.txt": "c"}
    write(tmp_path / "1", files)
    write(tmp_path / "2", dict(reversed(files.items())))
    hashes = [opened(tmp_path / n, "refs", "ours").sha256 for n in "12"]
    assert hashes[0] == hashes[1]
    write(tmp_path / "2", {"refs/b.txt": "changed"})
    assert opened(tmp_path / "2", "refs", "ours").sha256 != hashes[0]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["refs.txt"], "refs.txt cannot be read alone"),
        (["refs"], "two and more tables or folders"),
        (["refs", "refs.txt"], "refs.txt has a report in each line and no ids"),
        (["a.csv", "b.csv"], "no column for the text"),
        (["refs.txt", "reference.txt"], "references first"),
        (["refs.txt", "ours.txt", "x/ours.txt"], "two candidates are called ours"),
        (["refs", "void"], "void holds no reports"),
        (["refs", "double"], "two files for a"),
        (["refs.txt", "nowhere.txt"], "does not exist"),
        ([], "nothing cannot be read"),
    ],
)
def test_paths_that_do_not_fit_are_refused(tmp_path: Path, names: list[str], said: str) -> None:
    texts = ["refs.txt", "ours.txt", "x/ours.txt", "reference.txt", "refs/a.txt", "void/a.png"]
    tables = ["a.csv", "b.csv", "double/a.txt", "double/a.md"]
    write(tmp_path, dict.fromkeys([*texts, *tables], "a\n"))
    with pytest.raises(InputError, match=said):
        opened(tmp_path, *names)


def test_columns_cannot_be_named_where_there_are_none(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a", "b.txt": "b"})
    with pytest.raises(InputError, match="no columns"):
        open_source([tmp_path / "a.txt", tmp_path / "b.txt"], Columns(id="x"))


def test_a_stray_carriage_return_in_a_long_first_line_shifts_nothing(tmp_path: Path) -> None:
    long = "carcinoma\r" + "of the breast " * 40_000
    (tmp_path / "refs.txt").write_bytes(f"{long}\nbenign\n".encode())
    (tmp_path / "model.txt").write_bytes(b"carcinoma\nbenign\n")
    rows = list(open_source([tmp_path / "refs.txt", tmp_path / "model.txt"]).rows())
    assert [row.pair.candidate for row in rows if row.pair] == ["carcinoma", "benign"]


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
        (zipped({"word/document.xml": b'<!DOCTYPE a[<!ENTITY b "c">]><a>&b;</a>'}), "damaged_file"),
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
    assert f"1 .docx and .pdf files of {tmp_path.name} were not read" in source.notes[0]


PAGES = (["Skin, excision:", "Compound nevus."], ["Margins free."])


def locked(password: str) -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(io.BytesIO(pdf(*PAGES)))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_folder_of_pdfs(tmp_path: Path) -> None:
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


def test_a_missing_pypdf_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

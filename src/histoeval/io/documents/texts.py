"""Reports as texts: files with one report per line, folders with a file each, Word, PDF and HTML.

A .docx is a zip file with XML in it, and its text is in one place, so Python's own modules do: the
library for it would bring a compiled parser along. Deleted text, headers, footnotes and the numbers
that Word gives to the items of a list are not part of it.

PDF is read by pypdf, which is pure Python; extra [documents]. A page that is only a picture has no
text layer: a PDF of such pages is a scan, and needs text recognition (OCR) first.
"""

import base64
import binascii
import io
import logging
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path
from xml.etree import ElementTree

from histoeval.errors import InputError, MissingDependency, pip_install, reason_of
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.columns import Layout
from histoeval.io.tables.encoding import (
    BAD_BYTES,
    Survey,
    joined,
    open_lines,
    survey,
    survey_binary,
)
from histoeval.io.tables.records import RECORD_LIMIT, Fault, Record, RecordTable, shown

REFERENCE = "reference"

TEXT = "text"  # what the only column of text files, folders, documents and messages is called
TEXT_ENDINGS = (".txt", ".md")
DOCUMENT_ENDINGS = (".docx", ".pdf")


def text_layout(systems: Sequence[str]) -> Layout:
    """Layout whose first path is the reference, and each other path a system by its name."""
    if REFERENCE in systems:
        raise InputError(
            f"a candidate is called {REFERENCE!r}: give the references first, then the candidates"
        )
    if repeated := sorted({name for name in systems if systems.count(name) > 1}):
        raise InputError(f"two candidates are called {', '.join(repeated)}: rename one")
    return Layout(reference=REFERENCE, candidates=tuple(map(shown, systems)))


def table_of_lines(
    paths: Sequence[Path], columns: Sequence[str], encoding: str | None
) -> tuple[RecordTable, Survey]:
    """Open files with a row per line and a column per file; equal line numbers are one case."""
    surveys = {path: survey(path, encoding) for path in paths}
    encodings = {path: file_survey.encoding for path, file_survey in surveys.items()}
    joint_survey = joined((path.name, surveys[path]) for path in paths)
    reader = partial(_read_lines, paths, encodings, columns)
    return RecordTable(tuple(columns), reader, half_character="not_utf8"), joint_survey


def _read_lines(
    paths: Sequence[Path],
    encodings: Mapping[Path, str],
    columns: Sequence[str],
    _needed: Sequence[str],
) -> Iterator[Record]:
    with ExitStack() as stack:
        files = [stack.enter_context(open_lines(path, encodings[path])) for path in paths]
        for number, lines in enumerate(zip_longest(*files), start=1):
            if not any(line and not line.isspace() for line in lines):
                continue
            values: dict[str, object] = {}
            for column, line in zip(columns, lines, strict=True):
                if line is None:
                    values[column] = Fault("missing_line", {"line": number})
                elif len(line) > RECORD_LIMIT:
                    values[column] = Fault("long_text")
                else:
                    values[column] = line.removesuffix("\n").removesuffix("\r")
            position = sum(file.position() for file in files)
            yield Record(number, values, line=number, position=position)


def table_of_folders(
    folders: Sequence[Path], columns: Sequence[str], encoding: str | None
) -> tuple[RecordTable, Survey]:
    """Open folders with a row per file name and a column per folder; equal names are one case.

    A file that is empty or binary is the trouble of its row alone.
    """
    reports: list[dict[str, Path]] = []
    surveys: list[tuple[str, Survey]] = []
    notes: list[str] = []
    for folder in folders:
        files, unread_count = _reports_in(folder)
        reports.append(files)
        surveys += [
            (path.relative_to(folder).as_posix(), _survey(path, encoding))
            for path in files.values()
        ]
        if unread_count:
            notes.append(
                f"{unread_count:,} .docx and .pdf files of {folder.name} were not read, as it has "
                "text files"
            )
    joint_survey = joined(surveys)
    reader = partial(_read_files, reports, encoding, columns)
    table = RecordTable(tuple(columns), reader, keyed=True, half_character="not_utf8")
    return table, replace(joint_survey, notes=(*joint_survey.notes, *notes))


def table_of_document(path: Path) -> tuple[RecordTable, Survey]:
    if path.suffix.lower() == ".pdf":
        demand_pypdf(path.name)
    reader = partial(_read_files, [{path.stem: path}], None, [TEXT])
    return RecordTable((TEXT,), reader, keyed=True), survey_binary(path)


def _survey(path: Path, encoding: str | None) -> Survey:
    is_text = path.suffix.lower() in TEXT_ENDINGS
    return survey(path, encoding, any_content=True) if is_text else survey_binary(path)


def files_below(folder: Path) -> list[Path]:
    """List the files in and below a folder, in order, without hidden and lock files.

    macOS leaves `._report.txt` in archives, and Word `~$report.docx` beside an open document.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if not any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)
    ]


def _reports_in(folder: Path) -> tuple[dict[str, Path], int]:
    """Map names without endings to the reports in and below a folder, in order.

    Where there are plain texts, documents beside them are what those were made from: they are
    counted and not read.
    """
    files = files_below(folder)
    texts = [path for path in files if path.suffix.lower() in TEXT_ENDINGS]
    documents = [path for path in files if path.suffix.lower() in DOCUMENT_ENDINGS]
    reports: dict[str, Path] = {}
    for path in texts or documents:
        stem = path.relative_to(folder).with_suffix("").as_posix()
        if stem in reports:
            raise InputError(
                f"{folder} holds two files for {stem}: {reports[stem].name} and {path.name}; "
                "keep one"
            )
        reports[stem] = path
    if not reports:
        raise wrong_folder(
            folder, "holds no reports: no file in it ends in .txt, .md, .docx or .pdf"
        )
    # Without pypdf no PDF can be read, which is better known before work begins.
    if pdf := next((path for path in reports.values() if path.suffix.lower() == ".pdf"), None):
        demand_pypdf(pdf.name)
    return reports, len(documents) if texts else 0


def _read_files(
    reports: Sequence[dict[str, Path]],
    encoding: str | None,
    columns: Sequence[str],
    _needed: Sequence[str],
) -> Iterator[Record]:
    position = 0
    for number, key in enumerate(sorted(set().union(*reports)), start=1):
        expected = next(files[key].name for files in reports if key in files)
        values: dict[str, object] = {}
        for column, files in zip(columns, reports, strict=True):
            if path := files.get(key):
                values[column] = _text(path, encoding)
                position += path.stat().st_size
            else:
                values[column] = Fault("missing_file", {"key": key, "file": expected})
        yield Record(number, values, position=position, key=key)


def _text(path: Path, encoding: str | None) -> str | Fault:
    """Read a whole file, without the end of its last line."""
    if path.stat().st_size > RECORD_LIMIT:
        return Fault("long_text")
    if path.suffix.lower() == ".docx":
        return word_text(path)
    if path.suffix.lower() == ".pdf":
        return pdf_text(path.read_bytes(), path.name)
    file_encoding = _survey(path, encoding).encoding
    return path.read_bytes().decode(file_encoding, BAD_BYTES).removesuffix("\n").removesuffix("\r")


# --- Word, PDF and HTML --------------------------------------------------------------------------

BODY = "word/document.xml"
# How a file begins that is an old .doc, or a .docx with a password.
OLD_OFFICE = b"\xd0\xcf\x11\xe0"

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SIGNS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_SIGNS |= {f"{_WORD}p": "\n", f"{_WORD}tc": "\t", f"{_WORD}tr": "\n"}

MOST_PAGES = 500  # of one PDF report; a PDF of more is a book, or made to keep readers busy

_BLOCKS = frozenset(
    "address article blockquote br dd div dl dt footer h1 h2 h3 h4 h5 h6 header hr li ol p pre "
    "section table tr ul".split()
)
_CELLS = frozenset({"td", "th"})
_TEXT_KINDS = frozenset({"", "plain", "text", "txt", "markdown", "html", "xml", "xhtml+xml"})
_HIDDEN = frozenset({"script", "style", "head", "title", "template"})


def word_text(path: Path) -> str | Fault:
    raw = path.read_bytes()
    if raw.startswith(OLD_OFFICE):
        return Fault("locked_file", {"file": path.name})
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(BODY) as body:
            content = body.read(RECORD_LIMIT + 1)
        if len(content) > RECORD_LIMIT:
            return Fault("long_text")
        if b"<!DOCTYPE" not in content:
            return _parsed_body(content)
        # Word writes none, and entities can grow without bounds.
        reason = "it declares a document type"
    except KeyError:
        reason = f"there is no {BODY} in it"
    except Exception as error:  # noqa: BLE001 - damage raises whatever its place leads to
        reason = reason_of(error)
    return Fault("damaged_file", {"file": path.name, "kind": "Word", "reason": reason})


def _parsed_body(content: bytes) -> str:
    parts: list[str] = []
    skipped = 0
    for event, node in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        if node.tag == _FALLBACK:
            skipped += 1 if event == "start" else -1
        elif event == "end":
            if not skipped:
                is_text = node.tag == f"{_WORD}t"
                parts.append(node.text or "" if is_text else _SIGNS.get(node.tag, ""))
            node.clear()
    lines = "".join(parts).replace("\n\t", "\t").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def demand_pypdf(name: str) -> None:
    try:
        import pypdf  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            f"pypdf is needed to read {name}: {pip_install('documents')}"
        ) from error


def embedded_text(data: str, kind: str, place: str, decode: Callable[[bytes], str]) -> str | Fault:
    """Extract the text of a document that is embedded in a message as base64.

    Without pypdf only messages with a PDF are lost.
    """
    try:
        content = base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return Fault("bad_base64")
    if kind.lower().endswith("pdf") or content.startswith(b"%PDF"):
        try:
            return pdf_text(content, f"the PDF in {place}")
        except MissingDependency as error:
            return Fault("missing_package", {"reason": str(error)})
    if kind.lower().rpartition("/")[2] not in _TEXT_KINDS:
        return Fault("unknown_content", {"kind": kind})
    text = decode(content)
    return html_text(text) if kind.lower().endswith(("html", "xml")) else text


def pdf_text(content: bytes, name: str) -> str | Fault:
    demand_pypdf(name)
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    locked = Fault("locked_file", {"file": name})
    try:
        with _quiet():
            reader = PdfReader(io.BytesIO(content))
            if reader.is_encrypted and not reader.decrypt(""):
                return locked
            if len(reader.pages) > MOST_PAGES:
                return Fault("many_pages", {"file": name, "most": MOST_PAGES})
            parts: list[str] = []
            for page in reader.pages:
                parts.append(page.extract_text().strip())
                if sum(map(len, parts)) > RECORD_LIMIT:
                    return Fault("long_text")
            text = "\n".join(filter(None, parts))
            return text or Fault("no_text_layer", {"file": name})
    except (DependencyError, FileNotDecryptedError):  # some ciphers need another package
        return locked
    except Exception as error:  # noqa: BLE001 - damage raises whatever its place leads to
        return Fault("damaged_file", {"file": name, "kind": "PDF", "reason": reason_of(error)})


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence pypdf, which logs each repair; failed repairs are problems of the row."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


class _VisibleText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = self._kept = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser
        self._hidden += tag in _HIDDEN
        self._kept += tag == "pre"
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN))
        self._kept = max(0, self._kept - (tag == "pre"))
        self.parts.append("\n" if tag in _BLOCKS else "\t" if tag in _CELLS else "")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data if self._kept else data.replace("\n", " "))


def html_text(html: str) -> str:
    """Strip tags: blocks become lines, spaces are joined as in a browser."""
    parser = _VisibleText()
    parser.feed(html)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return "\n".join(filter(None, lines))

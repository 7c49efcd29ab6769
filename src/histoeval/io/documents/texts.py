"""Reports as texts: files with one report per line, or folders with one file per report.

A file in a folder may be plain text, a Word document or a PDF with a text layer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.documents.contents import demand_pypdf, pdf_text, word_text
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
    """The first path is the reference, and each other one is a system by its own name."""
    if REFERENCE in systems:
        raise InputError(
            f"a candidate is called {REFERENCE!r}: give the references first, then the candidates"
        )
    if twice := sorted({name for name in systems if systems.count(name) > 1}):
        raise InputError(f"two candidates are called {', '.join(twice)}: rename one")
    return Layout(reference=REFERENCE, candidates=tuple(map(shown, systems)))


def table_of_lines(
    paths: Sequence[Path], columns: Sequence[str], encoding: str | None
) -> tuple[RecordTable, Survey]:
    """A row for each line, and a column for each file; the same line in each is the same case."""
    surveys = {path: survey(path, encoding) for path in paths}
    encodings = {path: surveyed.encoding for path, surveyed in surveys.items()}
    whole = joined((path.name, surveys[path]) for path in paths)
    read = partial(_read_lines, paths, encodings, columns)
    return RecordTable(tuple(columns), read, half_character="not_utf8"), whole


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
    """A row for each name of a file, and a column for each folder: the same name is the same case.

    A file that is empty or binary is the trouble of its row alone.
    """
    reports: list[dict[str, Path]] = []
    surveys: list[tuple[str, Survey]] = []
    notes: list[str] = []
    for folder in folders:
        files, unread = _reports_in(folder)
        reports.append(files)
        surveys += [
            (path.relative_to(folder).as_posix(), _survey(path, encoding))
            for path in files.values()
        ]
        if unread:
            notes.append(
                f"{unread:,} .docx and .pdf files of {folder.name} were not read, as it has text "
                "files"
            )
    whole = joined(surveys)
    read = partial(_read_files, reports, encoding, columns)
    table = RecordTable(tuple(columns), read, keyed=True, half_character="not_utf8")
    return table, replace(whole, notes=(*whole.notes, *notes))


def table_of_document(path: Path) -> tuple[RecordTable, Survey]:
    if path.suffix.lower() == ".pdf":
        demand_pypdf(path.name)
    read = partial(_read_files, [{path.stem: path}], None, [TEXT])
    return RecordTable((TEXT,), read, keyed=True), survey_binary(path)


def _survey(path: Path, encoding: str | None) -> Survey:
    is_text = path.suffix.lower() in TEXT_ENDINGS
    return survey(path, encoding, any_content=True) if is_text else survey_binary(path)


def files_below(folder: Path) -> list[Path]:
    """The files of a folder and the folders in it, in order, without hidden and lock files.

    macOS leaves `._report.txt` in archives, and Word `~$report.docx` beside an open document.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        path
        for path in files
        if not any(part.startswith((".", "~$")) for part in path.relative_to(folder).parts)
    ]


def _reports_in(folder: Path) -> tuple[dict[str, Path], int]:
    """The reports of a folder and the folders in it, by name without ending, in order.

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
    """The whole file, but for the end of its last line."""
    if path.stat().st_size > RECORD_LIMIT:
        return Fault("long_text")
    if path.suffix.lower() == ".docx":
        return word_text(path)
    if path.suffix.lower() == ".pdf":
        return pdf_text(path.read_bytes(), path.name)
    settled = _survey(path, encoding).encoding
    return path.read_bytes().decode(settled, BAD_BYTES).removesuffix("\n").removesuffix("\r")

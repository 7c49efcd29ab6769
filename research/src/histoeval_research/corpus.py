"""Corpora of annotated passages, read and written in the formats that annotators use."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from histoeval.errors import InputError, OutputError, Problem, SettingError, did_you_mean
from histoeval.io.files import SeenNames, check_there
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.encoding import survey
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.json_documents import open_json, open_json_lines
from histoeval.io.writing import whole_file
from histoeval_research.annotation import formats, label_studio, webanno
from histoeval_research.annotation.archives import Document, documents, endings
from histoeval_research.annotation.passage import AnnotatedPassage, RefusedPassage, Vocabulary

__all__ = ["WRITTEN", "AnnotatedPassage", "Format", "Written", "read_corpus", "write_corpus"]

Format = Literal["ours", "hare", "label_studio", "webanno", "xmi", "brat"]
Written = Literal["ours", "hare", "label_studio"]
Labels = Mapping[str, str | None]

FORMATS: tuple[Format, ...] = get_args(Format)
WRITTEN: tuple[Written, ...] = get_args(Written)

_JSON = {
    "ours": formats.read_row,
    "hare": formats.read_example,
    "label_studio": label_studio.read_task,
}
_BY_ENDING: dict[str, Format] = {".tsv": "webanno", ".xmi": "xmi", ".ann": "brat"}
_ENDING = {kind: ending for ending, kind in _BY_ENDING.items()}

_TASK_COLUMNS = {"data", "annotations", "predictions", "completions", "annotation_id", "lead_time"}

Attempt = tuple[str, Callable[[], AnnotatedPassage]]


def refuse(problem: Problem) -> NoReturn:
    """Stop at a passage that cannot be read."""
    raise InputError(problem.message)


def read_corpus(
    path: Path,
    format: Format | None = None,  # noqa: A002
    *,
    labels: Labels | None = None,
    on_problem: Callable[[Problem], object] = refuse,
) -> Iterator[AnnotatedPassage]:
    """The passages of a file, folder or archive, one at a time.

    The format is guessed where none is named. `labels` says what labels mean that are not known.
    `on_problem` is called for a passage that cannot be read, and the others still come; by default
    the first one stops the reading.
    """
    check_there(path)
    seen = SeenNames()
    attempts = _attempts(path, format or guess_format(path), Vocabulary(labels))
    for number, (name, attempt) in enumerate(attempts, start=1):
        try:
            passage = attempt()
            if (earlier := seen.first(passage.id, number)) != number:
                raise RefusedPassage(
                    "duplicate_id", f"passage {earlier} has the same id, {passage.id!r}"
                )
        except RefusedPassage as refused:
            on_problem(Problem(code=refused.code, message=f"{name}: {refused}"))
        else:
            yield passage


def write_corpus(path: Path, passages: Iterable[AnnotatedPassage], format: Written = "ours") -> int:  # noqa: A002
    """Write all passages, or nothing if that fails; how many there were."""
    count = 0
    try:
        with whole_file(path) as file:
            for count, piece in enumerate(_pieces(passages, format), start=1):  # noqa: B007
                file.write(piece.encode())
            file.write(b"" if format == "ours" else b"\n]\n" if count else b"[]\n")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return count


def guess_format(path: Path) -> Format:
    """The format of a file, folder or archive, by its ending and by what it holds."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return _guess_json(path)
    within = endings(path) if path.is_dir() or name.endswith(".zip") else {path.suffix.lower()}
    found = [kind for ending, kind in _BY_ENDING.items() if ending in within]
    which = f"say which, of {', '.join(FORMATS)}"
    if not found:
        raise wrong_folder(path, f"is in no format that is known: {which}")
    if len(found) > 1:
        raise InputError(f"{path} may be {' or '.join(found)}: {which}")
    return found[0]


def _guess_json(path: Path) -> Format:
    columns = set(_open_table(path).columns)
    if "tokens" in columns:
        return "hare"
    if columns & _TASK_COLUMNS:
        return "label_studio"
    if {"text", "entities"} <= columns:
        return "ours"
    raise InputError(
        f"{path} is no corpus that is known: its rows have {', '.join(sorted(columns))}, and "
        "neither tokens (hare), nor data and annotations (label_studio), nor text and entities"
    )


def _open_table(path: Path) -> RecordTable:
    encoding = survey(path).encoding
    is_lines = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    return open_json_lines(path, encoding) if is_lines else open_json(path, encoding)


def _attempts(path: Path, kind: Format, vocabulary: Vocabulary) -> Iterator[Attempt]:
    """Each passage by the name of its place, and the way to read it."""
    if read := _JSON.get(kind):
        source = path.name.partition(".")[0]
        for record in _open_table(path).read(()):
            attempt = partial(_read_record, record, read, source, vocabulary)
            yield record.place, attempt
    elif kind in _ENDING:
        source = path.name if path.is_dir() else path.stem
        for document in documents(path, _ENDING[kind]):
            yield document.name, partial(_read_document, document, kind, path, source, vocabulary)
    else:
        guess = did_you_mean(kind, FORMATS)
        raise SettingError(f"there is no format {kind!r}{guess}: say one of {', '.join(FORMATS)}")


def _read_record(
    record: Record, read: Callable[..., AnnotatedPassage], source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    if record.values is None:
        assert record.problem is not None, "a record has values or a problem"
        raise RefusedPassage(record.problem.code, record.problem.message)
    return read(record.values, record.key or f"{source}-{record.number}", source, vocabulary)


def _read_document(
    document: Document, kind: Format, path: Path, source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    if kind == "brat":
        if document.text is None:
            raise RefusedPassage("missing_text", f"there is no {document.name}.txt beside it")
        text = _decoded(document.text)
        return formats.read_standoff(
            text, _decoded(document.content), document.name, source, vocabulary
        )
    if kind == "webanno":
        text = _decoded(document.content)
        return webanno.read_document(text, document.name, document.report, source, vocabulary)
    if document.typesystem is None:
        raise InputError(f"{path} has no TypeSystem.xml beside it, as XMI files need one")
    return formats.read_cas(
        document.content, document.typesystem, document.name, document.report, source, vocabulary
    )


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedPassage(
            "not_utf8", f"it is not UTF-8, from byte {error.start + 1} on"
        ) from error


def _pieces(passages: Iterable[AnnotatedPassage], kind: Written) -> Iterator[str]:
    """The parts of a file, each with what must stand before or after it."""
    if kind == "ours":
        yield from (f"{formats.write_row(passage)}\n" for passage in passages)
        return
    write: dict[str, Callable[[AnnotatedPassage], dict[str, Any]]] = {
        "hare": formats.write_example,
        "label_studio": label_studio.write_task,
    }
    if kind not in write:
        raise SettingError(f"{kind!r} cannot be written: say one of {', '.join(WRITTEN)}")
    for number, passage in enumerate(passages):
        opening = ",\n" if number else "[\n"
        yield opening + json.dumps(write[kind](passage), ensure_ascii=False)

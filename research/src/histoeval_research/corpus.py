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
from histoeval.io.tables.json_documents import open_json, open_json_lines
from histoeval.io.tables.records import Record, RecordTable
from histoeval.io.writing import whole_file
from histoeval_research.annotation import formats, label_studio, webanno
from histoeval_research.annotation.archives import Document, documents, endings
from histoeval_research.annotation.passage import (
    AnnotatedPassage,
    PassageDraft,
    RefusedPassage,
    Vocabulary,
)

__all__ = ["WRITTEN", "AnnotatedPassage", "Format", "Written", "read_corpus", "write_corpus"]

Format = Literal["ours", "hare", "label_studio", "webanno", "xmi", "brat"]
Written = Literal["ours", "hare", "label_studio"]

WRITTEN: tuple[Written, ...] = get_args(Written)

ENDINGS: dict[str, Format] = {".tsv": "webanno", ".xmi": "xmi", ".ann": "brat"}
TASK_COLUMNS = {"data", "annotations", "predictions", "completions", "annotation_id", "lead_time"}


def refuse(problem: Problem) -> NoReturn:
    """Stop at a passage that cannot be read."""
    raise InputError(problem.message)


def read_corpus(
    path: Path,
    format: Format | None = None,  # noqa: A002
    *,
    labels: Mapping[str, str | None] | None = None,
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


def guess_format(path: Path) -> Format:
    """The format of a file, folder or archive, by its ending and by what it holds."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson", ".json")):
        columns = set(_open_table(path).columns)
        if "tokens" in columns:
            return "hare"
        if columns & TASK_COLUMNS:
            return "label_studio"
        if {"text", "entities"} <= columns:
            return "ours"
        raise InputError(
            f"{path} is no corpus that is known: its rows have {', '.join(sorted(columns))}, and "
            "neither tokens (hare), nor data and annotations (label_studio), nor text and entities"
        )
    within = endings(path) if path.is_dir() or name.endswith(".zip") else {path.suffix.lower()}
    found = [kind for ending, kind in ENDINGS.items() if ending in within]
    which = f"say which, of {', '.join(get_args(Format))}"
    if not found:
        raise wrong_folder(path, f"is in no format that is known: {which}")
    if len(found) > 1:
        raise InputError(f"{path} may be {' or '.join(found)}: {which}")
    return found[0]


def _open_table(path: Path) -> RecordTable:
    encoding = survey(path).encoding
    is_lines = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson"))
    return open_json_lines(path, encoding) if is_lines else open_json(path, encoding)


def _attempts(
    path: Path, kind: Format, vocabulary: Vocabulary
) -> Iterator[tuple[str, Callable[[], AnnotatedPassage]]]:
    if kind in WRITTEN:
        source = path.name.partition(".")[0]
        for record in _open_table(path).read(()):
            yield record.place, partial(_read_record, record, kind, source, vocabulary)
    elif kind in ENDINGS.values():
        source = path.name if path.is_dir() else path.stem
        ending = next(ending for ending, format_ in ENDINGS.items() if format_ == kind)
        for document in documents(path, ending):
            draft = PassageDraft(document.name, source, document.report)
            yield document.name, partial(_read_document, document, kind, path, draft, vocabulary)
    else:
        known = get_args(Format)
        guess = did_you_mean(kind, known)
        raise SettingError(f"there is no format {kind!r}{guess}: say one of {', '.join(known)}")


def _read_record(
    record: Record, kind: Format, source: str, vocabulary: Vocabulary
) -> AnnotatedPassage:
    if record.values is None:
        assert record.problem is not None, "a record has values or a problem"
        raise RefusedPassage(record.problem.code, record.problem.message)
    name = record.key or f"{source}-{record.number}"
    if kind == "ours":
        return formats.read_row(record.values, name, source, vocabulary)
    draft = PassageDraft(name, source, name)
    read = formats.read_example if kind == "hare" else label_studio.read_task
    read(draft, record.values)
    return draft.finish(vocabulary)


def _read_document(
    document: Document, kind: Format, path: Path, draft: PassageDraft, vocabulary: Vocabulary
) -> AnnotatedPassage:
    if kind == "xmi":
        if document.typesystem is None:
            raise InputError(f"{path} has no TypeSystem.xml beside it, as XMI files need one")
        formats.read_cas(draft, document.content, document.typesystem)
    elif kind == "webanno":
        webanno.read_document(draft, _decoded(document.content))
    else:
        if document.text is None:
            raise RefusedPassage("missing_text", f"there is no {document.name}.txt beside it")
        draft.text, draft.report_id = _decoded(document.text), document.name
        formats.read_standoff(draft, _decoded(document.content))
    return draft.finish(vocabulary)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8, from byte {error.start + 1} on"
        raise RefusedPassage("not_utf8", reason) from error


def write_corpus(path: Path, passages: Iterable[AnnotatedPassage], format: Written = "ours") -> int:  # noqa: A002
    """Write all passages, or nothing if that fails; how many there were."""
    rows: dict[str, Callable[[AnnotatedPassage], dict[str, Any]]] = {
        "ours": AnnotatedPassage.model_dump,
        "hare": formats.write_example,
        "label_studio": label_studio.write_task,
    }
    if format not in rows:
        raise SettingError(f"{format!r} cannot be written: say one of {', '.join(WRITTEN)}")
    opening, between, closing = ("", "\n", "\n") if format == "ours" else ("[\n", ",\n", "\n]\n")
    count = 0
    try:
        with whole_file(path) as file:
            for count, passage in enumerate(passages, start=1):
                row = json.dumps(rows[format](passage), ensure_ascii=False)
                file.write(f"{between if count > 1 else opening}{row}".encode())
            empty = "" if format == "ours" else "[]\n"
            file.write((closing if count else empty).encode())
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from error
    return count

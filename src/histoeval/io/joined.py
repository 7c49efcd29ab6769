"""A table of references and one of each system, joined by their ids, as challenges keep them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.documents.texts import text_layout
from histoeval.io.files import OpenedTable
from histoeval.io.reports import open_reports
from histoeval.io.tables.cell_checks import name_of, text_of
from histoeval.io.tables.columns import Columns, Layout
from histoeval.io.tables.encoding import Survey, joined
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault

_NO_ID = Fault("missing_id")


class _Line(NamedTuple):
    """One row of a file: its id and its text, or what is wrong with it."""

    record: Record
    id: str | None
    text: str | Fault = ""
    problem: Problem | None = None


def open_joined(
    paths: Sequence[Path], columns: Columns, encoding: str | None
) -> tuple[RecordTable, Layout, Survey]:
    """The references first; each other table is a system, called like its file.

    What a system has no report for is an error of that system; what the references do not have is
    not scored, and said.
    """
    if len(columns.candidates) > 1 or columns.system is not None:
        raise InputError("a table of one system has one column of candidates, and no system column")
    layout = text_layout([Path(path.name.removesuffix(".gz")).stem for path in paths[1:]])
    names = [columns.reference, *[next(iter(columns.candidates), None)] * (len(paths) - 1)]
    sources = [
        open_reports(path, text=text, id_=columns.id, encoding=encoding)
        for path, text in zip(paths, names, strict=True)
    ]
    for path, source in zip(paths, sources, strict=True):
        if source.layout.id is None and not source.table.keyed:
            raise InputError(f"{path} has no column of ids, by which files are joined")
    truth, *others = [
        _lines(source.table, source.layout.text, source.layout.id) for source in sources
    ]
    texts = [{line.id: line.text for line in lines if line.problem is None} for lines in others]
    known = {line.id for line in truth}
    notes = [
        note
        for system, lines in zip(layout.candidates, others, strict=True)
        for note in _notes(system, lines, known)
    ]
    whole = joined((each.name, _survey(each)) for each in sources)
    table = RecordTable(layout.columns, partial(_read, truth, layout, texts), keyed=True)
    return table, layout, replace(whole, notes=(*whole.notes, *notes))


def _lines(table: RecordTable, text: str, id_: str | None) -> list[_Line]:
    """The rows of a file; a second row of an id is a problem."""
    found: dict[str, None] = {}
    lines = []
    for record in table.read([text] if id_ is None else [text, id_]):
        if record.values is None:
            lines.append(_Line(record, None, problem=record.problem))
            continue
        name = name_of(record.key if id_ is None else record.values.get(id_), _NO_ID)
        if isinstance(name, str) and name in found:
            name = Fault("duplicate_id", {"id": name})
        if isinstance(name, Fault):
            lines.append(_Line(record, None, problem=name.problem(record.place, id_ or "id")))
            continue
        found[name] = None
        cell = text_of(record.values.get(text))
        lines.append(_Line(record, name, table.named(cell) if isinstance(cell, Fault) else cell))
    return lines


def _notes(system: str, lines: Sequence[_Line], known: set[str | None]) -> Iterator[str]:
    strangers = [line.id for line in lines if line.id is not None and line.id not in known]
    broken = [line.problem.message for line in lines if line.problem is not None]
    for what, found in (("ids that the references lack", strangers), ("unusable rows", broken)):
        if found:
            yield f"{system}: {len(found):,} {what} are not scored, for example: {found[0]}"


def _read(
    truth: Sequence[_Line],
    layout: Layout,
    texts: Sequence[dict[str | None, str | Fault]],
    _needed: Sequence[str],
) -> Iterator[Record]:
    for record, name, text, problem in truth:
        if name is None:
            yield record._replace(values=None, problem=problem, key=None)
            continue
        missing = Fault("missing_report", {"key": name})
        cells = zip(layout.candidates, texts, strict=True)
        values = {system: found.get(name, missing) for system, found in cells}
        yield record._replace(values={layout.reference: text, **values}, key=name)


def _survey(source: OpenedTable) -> Survey:
    return Survey(source.size, source.sha256, source.encoding, source.notes)

"""References and candidates in files of their own, joined by their ids, as challenges keep them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import field_validator

from histoeval.callers import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.documents.texts import text_layout
from histoeval.io.files import OpenedTable
from histoeval.io.reports import TextSource, open_reports
from histoeval.io.submissions import (
    Matched,
    ReportLine,
    demand_ids,
    match_ids,
    missing_report,
    report_lines,
    unknown_id,
)
from histoeval.io.tables.columns import Columns, Layout
from histoeval.io.tables.encoding import Survey, joined
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.references import ReferenceMode, how_to_take
from histoeval.io.tables.row_faults import Fault
from histoeval.report import Noun


class Joining(Noun):
    """How what belongs to one case is brought together.

    `loose_ids` accepts ids that differ only in ending, case, spaces or zeros; `references` is what
    counts where a case has several.
    """

    loose_ids: bool = False
    references: ReferenceMode | None = None

    @field_validator("references", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        if given not in (None, *get_args(ReferenceMode)):
            way = argument("several_references", given)
            raise SettingError(f"{way or given}: of several references 'best' or 'mean' can count")
        return given

    def identity(self) -> dict[str, object]:
        """What results depend on; nothing where everything is as usual."""
        return self.model_dump(exclude_defaults=True)


AS_WRITTEN = Joining()
"""Ids must be the same, and a case has one reference."""


class OutsideRow(NamedTuple):
    """A row of a system that is no report on a case of the truth, and why."""

    number: int
    id: str
    system: str
    problem: Problem


class Join(NamedTuple):
    """The cases of the truth with what each system has for them, and what fits none of them."""

    table: RecordTable
    layout: Layout
    survey: Survey
    outside: tuple[OutsideRow, ...]


def open_joined(
    paths: Sequence[Path], columns: Columns, encoding: str | None, joining: Joining
) -> Join:
    """The references first; each other file or folder is a system, called like it."""
    if len(columns.candidates) > 1 or columns.system is not None:
        raise InputError("a table of one system has one column of candidates, and no system column")
    several = joining.references is not None
    candidate = next(iter(columns.candidates), None)
    names = system_names(paths[1:])
    truth, *systems = [
        open_reports(
            path,
            text=None if path.is_dir() else text,
            id_=None if path.is_dir() else columns.id,
            encoding=encoding,
            several=several and path is paths[0],
        )
        for path, text in zip(paths, [columns.reference, *[candidate] * len(names)], strict=True)
    ]
    return join(truth, dict(zip(names, systems, strict=True)), joining)


def system_names(paths: Sequence[Path], what: str = "systems") -> list[str]:
    """What systems are called: like their files, with the folder where two are called the same."""
    stems = [
        path.resolve().name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
        for path in paths
    ]
    names = [
        f"{path.resolve().parent.name}/{stem}" if stems.count(stem) > 1 else stem
        for path, stem in zip(paths, stems, strict=True)
    ]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"two {what} would be called {', '.join(twice)}: rename one of the files, or put each "
            "into a folder of its own"
        )
    return names


def join(truth: TextSource, systems: Mapping[str, TextSource], joining: Joining) -> Join:
    """Join references with the reports of each system.

    What a system has no report for is an error of that system; what the references do not have,
    what comes twice and what cannot be read is outside: listed, and not scored.
    """
    layout = text_layout(list(systems))
    lines = _merged(report_lines(demand_ids(truth), several=joining.references is not None))
    known = [line.id for line in lines if line.id is not None and line.problem is None]
    found = [
        match_ids(report_lines(demand_ids(source)), known, loose=joining.loose_ids)
        for source in systems.values()
    ]
    notes = [n for name, each in zip(systems, found, strict=True) for n in _notes(name, each)]
    if several := sum(not isinstance(each.texts, Fault) and len(each.texts) > 1 for each in lines):
        notes.append(f"cases with several references: {several:,}; the {joining.references} counts")
    whole = joined((each.name, _survey(each)) for each in (truth, *systems.values()))
    table = RecordTable(layout.columns, partial(_read, lines, layout, found), keyed=True)
    outside = tuple(
        row
        for system, each in zip(layout.candidates, found, strict=True)
        for row in _outside(system, each)
    )
    return Join(table, layout, replace(whole, notes=(*whole.notes, *notes)), outside)


def _merged(lines: Sequence[ReportLine]) -> list[ReportLine]:
    """The references of an id together, where its first is; a second one may be a problem."""
    found: dict[object, ReportLine] = {}
    for line in lines:
        if line.problem is not None:
            found[line.record.number] = _second(line) if line.kind == "duplicate_id" else line
        elif (first := found.get(line.id)) is None:
            found[line.id] = line
        elif not isinstance(first.texts, Fault):
            together = line.texts if isinstance(line.texts, Fault) else first.texts + line.texts
            found[line.id] = first._replace(texts=together)
    return list(found.values())


def _second(line: ReportLine) -> ReportLine:
    fault = Fault("second_reference", {"id": line.id, "way": how_to_take()})
    return line._replace(problem=fault.problem(line.record.place, "id"))


def _outside(system: str, found: Matched) -> Iterator[OutsideRow]:
    rows = [(line, _reason(system, line, found)) for line in (*found.strangers, *found.broken)]
    for line, problem in sorted(rows, key=lambda row: row[0].record.number):
        number = line.record.number
        yield OutsideRow(number, line.id or f"row {number}", system, problem)


def _reason(system: str, line: ReportLine, found: Matched) -> Problem:
    if line.problem is None:
        fault = unknown_id(line, found.near)
    elif line.kind == "duplicate_id":
        fault = Fault("repeated_report", {"id": line.id})
    else:
        fault = Fault("unusable_row", {"reason": line.problem.message})
    return fault.problem(line.record.place, system)


def _notes(system: str, found: Matched) -> Iterator[str]:
    example = next(iter(found.near.items()), ("", ""))
    about = f"{len(found.near):,}, for example {example[0]!r} for {example[1]!r}"
    strangers = [line.id for line in found.strangers if line.id not in found.near]
    broken = [line.problem.message for line in found.broken if line.problem is not None]
    if found.renamed:
        yield f"{system}: ids taken for those of the truth: {about}"
    elif found.near:
        accept = argument("loose_ids")
        yield (
            f"{system}: ids that differ from those of the truth only in ending, case, spaces or "
            f"zeros, and are not scored: {about}" + (accept and f"; to accept them: {accept}")
        )
    for what, some in (("ids that the references lack", strangers), ("unusable rows", broken)):
        if some:
            yield f"{system}: {what}, which are not scored: {len(some):,}, for example: {some[0]}"


def _read(
    truth: Sequence[ReportLine],
    layout: Layout,
    found: Sequence[Matched],
    _needed: Sequence[str],
) -> Iterator[Record]:
    written = [{other: name for name, other in each.near.items()} for each in found]
    for record, name, texts, problem, _ in truth:
        if name is None or problem is not None:
            yield record._replace(values=None, problem=problem, key=None)
            continue
        cells = {
            system: _cell(name, system, each, near)
            for system, each, near in zip(layout.candidates, found, written, strict=True)
        }
        reference = texts if isinstance(texts, Fault) or len(texts) > 1 else texts[0]
        yield record._replace(values={layout.reference: reference, **cells}, key=name)


def _cell(name: str, system: str, found: Matched, near: Mapping[str, str]) -> str | Fault:
    line = found.reports.get(name)
    if line is None:
        return missing_report(name, near)
    return _of_system(line.texts, system, line) if isinstance(line.texts, Fault) else line.texts[0]


def _of_system(fault: Fault, system: str, line: ReportLine) -> Fault:
    """What is wrong with a report, by its row in the file of the system."""
    named = {
        "column": f"the report of {system}",
        "where": f"{line.record.place} of its file",
        "way": "",  # only references can be several
    }
    return fault._replace(details={**fault.details, **named})


def _survey(source: OpenedTable) -> Survey:
    return Survey(source.size, source.sha256, source.encoding, source.notes)

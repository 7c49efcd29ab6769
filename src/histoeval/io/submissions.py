"""Reports by id: the truth of a study, what a system hands in for it, and both joined.

References and candidates lie in files of their own, as challenges keep them. A file that cannot be
read as reports with ids at all is an `InputError`; whatever is wrong with one row or one id is a
`SubmissionProblem` or a row outside of the cases, and the other reports are there.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from pydantic import field_validator

from histoeval.callers import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.documents.texts import text_layout
from histoeval.io.reports import TextSource, open_reports
from histoeval.io.tables.columns import (
    Columns,
    Layout,
    ReferenceMode,
    how_to_take,
    reference_texts,
)
from histoeval.io.tables.encoding import Survey, joined
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault, name_of
from histoeval.report import Noun

ID_ENDINGS = tuple(
    ".tiff .tif .svs .ndpi .mrxs .scn .bif .vms .vmu .qptiff .isyntax .czi .dcm .png .jpg .jpeg "
    ".ome .txt .md .json .xml .docx .pdf .hl7".split()
)
"""Endings of files that one side of a study leaves in its ids and the other does not."""

REFERENCES = "the references"
"""What a truth is called where whoever reads of it has it before them."""

_NO_ID = Fault("missing_id")
_NUMBER = re.compile(r"(\d+)(?:\.0+)?", re.ASCII)


class ReportLine(NamedTuple):
    """One row of a file of reports: its id and its texts, or what is wrong with them.

    A truth may have several texts for an id. `problem` is why the row as a whole cannot be used,
    and then `id` is only what is known of it.
    """

    record: Record
    id: str | None
    texts: tuple[str, ...] | Fault = ()
    problem: Problem | None = None
    kind: str = ""
    """What sort of problem it is."""


class SubmissionProblem(NamedTuple):
    """What is wrong with one row or one id of a file, and what to do about it.

    `row` counts from 1, and is None for a report that is not there at all. `code` is one of
    not_an_object, repeated_key, broken_json, missing_id, not_a_name (an id that is no text or
    number), duplicate_id, missing_value (no report), not_text, empty_text, placeholder (such as
    N/A), refusal (of a language model), too_long, binary_text,
    lone_surrogate, not_utf8, unknown_id, near_id (unknown, but for its ending or spelling) and
    missing_report, or another code of a row that cannot be read (docs/input.md).
    """

    id: str | None
    row: int | None
    code: str
    reason: str
    meant: str | None = None
    """The id that a near one may mean."""


@dataclass(frozen=True)
class Truth:
    """The references by id, in the order of their file; mostly one for each id."""

    name: str
    references: Mapping[str, tuple[str, ...]] = field(repr=False)
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """What a system has handed in: the reports by the ids of the truth, in its order.

    `renamed` has the ids that were written differently and were accepted, as they were written.
    """

    name: str
    reports: Mapping[str, str] = field(repr=False)
    problems: tuple[SubmissionProblem, ...] = ()
    sha256: str = ""
    notes: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IdMatches:
    """How the rows of one system fit the ids of the truth."""

    reports: Mapping[str, ReportLine]
    strangers: Sequence[ReportLine]
    broken: Sequence[ReportLine]
    near: Mapping[str, str]
    """Ids that are not in the truth, by the one of the truth that each may mean."""
    renamed: Mapping[str, str]
    """Such ids that were accepted."""


def read_truth(
    path: Path,
    *,
    text: str | None = None,
    id_: str | None = None,
    encoding: str | None = None,
    several: bool = False,
) -> Truth:
    """The references of a file or folder by id; `several` allows more than one for an id."""
    source = open_reports(path, text=text, id_=id_, encoding=encoding, several=several)
    lines = report_lines(demand_ids(source), several=several)
    references: dict[str, tuple[str, ...]] = {}
    for line in lines:
        if line.id is not None and line.problem is None and not isinstance(line.texts, Fault):
            references[line.id] = references.get(line.id, ()) + line.texts
    if not references:
        first = next(_row_problems(lines, source), None)
        why = f". The first problem: {first.reason}" if first else ""
        raise InputError(f"{path} has no reference that can be used{why}")
    problems = tuple(_row_problems(lines, source))
    return Truth(source.name, references, problems, source.sha256, source.notes)


def read_submission(
    path: Path,
    truth: Truth,
    *,
    text: str | None = None,
    id_: str | None = None,
    encoding: str | None = None,
    loose_ids: bool = False,
    longest: int | None = None,
) -> Submission:
    """The reports of a file or folder, checked against the ids of the truth.

    Args:
        path: a table, or a folder with a file for each report.
        truth: what `read_truth` has read.
        text: the column of the report, where it cannot be guessed.
        id_: the column of the id.
        encoding: of text files, where it cannot be detected.
        loose_ids: accept ids that differ from those of the truth only as `plain_id` says.
        longest: the most characters that a report may have.
    """
    source = open_reports(path, text=text, id_=id_, encoding=encoding)
    lines = report_lines(demand_ids(source))
    for number, line in enumerate(lines):
        length = 0 if isinstance(line.texts, Fault) else max(map(len, line.texts), default=0)
        if longest is not None and length > longest:
            fault = Fault("too_long", {"length": length, "most": longest})
            lines[number] = line._replace(texts=fault)
    matched = match_ids(lines, truth.references, loose=loose_ids)
    reports = {
        name: report.texts[0]
        for name in truth.references
        if (report := matched.reports.get(name)) and not isinstance(report.texts, Fault)
    }
    problems = [*_row_problems(lines, source), *_id_problems(matched, source.name, truth)]
    problems.sort(key=lambda problem: problem.row or len(lines) + 1)
    return Submission(
        source.name, reports, tuple(problems), source.sha256, source.notes, matched.renamed
    )


def demand_ids(source: TextSource) -> TextSource:
    """A file or folder of reports must name them, for others to be joined with it."""
    if source.layout.id is not None or source.table.keyed:
        return source
    if source.format == "text":
        raise InputError(
            f"{source.name} has a report in each line and no ids, by which files are joined: give "
            "text files on both sides, or a table with ids, or a folder with a file for each report"
        )
    way = argument("id_column", "NAME")
    name = f"; name it: {way}" if way else ""
    raise InputError(f"{source.name} has no column of ids, by which files are joined{name}")


def report_lines(source: TextSource, *, several: bool = False) -> list[ReportLine]:
    """The rows of a file; a second row of an id is a problem unless there may be several."""
    seen: dict[str, str] = {}
    lines = []
    for record in source.table.read(source.layout.columns):
        line = _line(source, record, several=several)
        if line.id is not None and line.problem is None:
            earlier = seen.setdefault(line.id, record.place)
            if earlier != record.place and not several:
                repeated = Fault("duplicate_id", {"id": line.id, "earlier": earlier})
                line = _unusable(source, record, line.id, repeated)
        lines.append(line)
    return lines


def match_ids(
    lines: Sequence[ReportLine], truth: Iterable[str], *, loose: bool = False
) -> IdMatches:
    """The rows of a system by the ids of the truth, and those that fit none."""
    known = set(truth)
    usable = [line for line in lines if line.problem is None and line.id is not None]
    reports = {line.id: line for line in usable if line.id in known}
    strangers = [line for line in usable if line.id not in known]
    near = _near([line.id for line in strangers if line.id], known - reports.keys())
    renamed = near if loose else {}
    if loose:
        reports |= {near[line.id]: line for line in strangers if line.id in near}
        strangers = [line for line in strangers if line.id not in near]
    return IdMatches(
        reports={name: line for name, line in reports.items() if name is not None},
        strangers=strangers,
        broken=[line for line in lines if line.problem is not None],
        near=near,
        renamed=renamed,
    )


def plain_id(name: str) -> str:
    """An id without what two files of one study write differently.

    That is its case and outer spaces, the folders and the ending of a file's path, and the zeros
    that spreadsheets and data frames take from or give to a number, as in 007 and 7.0.
    """
    plain = unicodedata.normalize("NFKC", name).strip().casefold()
    if plain.endswith(ID_ENDINGS):
        plain = re.split(r"[/\\]", plain)[-1]
    while plain.endswith(ID_ENDINGS):
        plain = plain.rpartition(".")[0]
    number = _NUMBER.fullmatch(plain)
    return (number[1].lstrip("0") or "0") if number else plain


def near_hint(other: str) -> str:
    """What to do about an id that is almost one of the truth."""
    accept = argument("loose_ids")
    return f"correct the id to {other!r}" + (accept and f", or accept such ids: {accept}")


def how_ids_differ(meant: Mapping[str, str]) -> str:
    """What ids lack or have too much of the ones that they may mean, if it is the same for all."""
    for verb, pairs in (("lack", meant.items()), ("have", [(b, a) for a, b in meant.items()])):
        ends = {long.removeprefix(short) if long.startswith(short) else "" for short, long in pairs}
        starts = {long.removesuffix(short) if long.endswith(short) else "" for short, long in pairs}
        for where, parts in (("at the end", ends), ("at the start", starts)):
            if len(parts) == 1 and (part := parts.pop()):
                return f"{verb} {part!r} {where}"
    if all(written.casefold() == id_.casefold() for written, id_ in meant.items()):
        return "are written in another case"
    return "are written otherwise"


def unknown_id(line: ReportLine, near: Mapping[str, str], truth: str = REFERENCES) -> Fault:
    """Why a row of a system is not scored: its id is not one of what is called `truth`."""
    other = near.get(line.id or "")
    details = {"id": line.id, "truth": truth}
    if other is None:
        return Fault("unknown_id", details)
    return Fault("near_id", {**details, "other": other, "hint": near_hint(other)})


def _line(source: TextSource, record: Record, *, several: bool) -> ReportLine:
    column = source.layout.id
    if record.values is None:
        assert record.problem is not None, "a record has values or a problem"
        return ReportLine(record, None, problem=record.problem, kind=record.problem.code)
    name = name_of(record.key if column is None else record.values.get(column), _NO_ID)
    layout = source.layout
    if isinstance(name, Fault):
        cell = record.values.get(layout.text)
        return _unusable(source, record, None, cell if isinstance(cell, Fault) else name)
    texts = reference_texts(record.values, layout.text, layout, several=several)
    named = source.table.named(texts) if isinstance(texts, Fault) else texts
    return ReportLine(record, name, named)


def _unusable(source: TextSource, record: Record, name: str | None, fault: Fault) -> ReportLine:
    named = source.table.named(fault)
    problem = named.problem(record.place, source.layout.id or "id")
    return ReportLine(record, name, problem=problem, kind=named.kind)


def _near(strangers: Sequence[str], free: Iterable[str]) -> dict[str, str]:
    """Ids by the one free id that each may mean; none where there is more than one to choose."""
    plain = {name: plain_id(name) for name in strangers}
    written = Counter(plain.values())
    meant: dict[str, list[str]] = {}
    for name in free:
        meant.setdefault(plain_id(name), []).append(name)
    return {
        name: meant[key][0]
        for name, key in plain.items()
        if written[key] == 1 and len(meant.get(key, ())) == 1
    }


def _row_problems(lines: Iterable[ReportLine], source: TextSource) -> Iterator[SubmissionProblem]:
    for line in lines:
        row = line.record.number
        if line.problem is not None:
            yield SubmissionProblem(line.id, row, line.kind, line.problem.message)
        elif isinstance(line.texts, Fault):
            why = line.texts.problem(line.record.place, source.layout.text).message
            yield SubmissionProblem(line.id, row, line.texts.kind, why)


def _id_problems(matched: IdMatches, name: str, truth: Truth) -> Iterator[SubmissionProblem]:
    for line in matched.strangers:
        fault = unknown_id(line, matched.near, truth.name)
        why = fault.problem(line.record.place, name).message
        meant = matched.near.get(line.id or "")
        yield SubmissionProblem(line.id, line.record.number, fault.kind, why, meant)
    covered = {*matched.reports, *matched.near.values()}
    for missing in truth.references:
        if missing not in covered:
            why = Fault("not_handed_in", {"key": missing}).problem(truth.name).message
            yield SubmissionProblem(missing, None, "missing_report", why)


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
    ids = [line.id for line in lines if line.id is not None and line.problem is None]
    matches = {
        name: match_ids(report_lines(demand_ids(source)), ids, loose=joining.loose_ids)
        for name, source in systems.items()
    }
    notes = [note for name, matched in matches.items() for note in _notes(name, matched)]
    if several := sum(not isinstance(line.texts, Fault) and len(line.texts) > 1 for line in lines):
        notes.append(f"cases with several references: {several:,}; the {joining.references} counts")
    whole = joined((source.name, source) for source in (truth, *systems.values()))
    by_column = dict(zip(layout.candidates, matches.values(), strict=True))
    table = RecordTable(layout.columns, partial(_read, lines, layout, by_column), keyed=True)
    outside = tuple(row for name, matched in by_column.items() for row in _outside(name, matched))
    return Join(table, layout, replace(whole, notes=(*whole.notes, *notes)), outside)


def _merged(lines: Sequence[ReportLine]) -> list[ReportLine]:
    """The references of an id together, where its first is; a second one may be a problem."""
    merged: dict[object, ReportLine] = {}
    for line in lines:
        if line.kind == "duplicate_id":
            fault = Fault("second_reference", {"id": line.id, "way": how_to_take()})
            problem = fault.problem(line.record.place, "id")
            merged[line.record.number] = line._replace(problem=problem)
        elif line.problem is not None:
            merged[line.record.number] = line
        elif (first := merged.get(line.id)) is None:
            merged[line.id] = line
        elif not isinstance(first.texts, Fault):
            together = line.texts if isinstance(line.texts, Fault) else first.texts + line.texts
            merged[line.id] = first._replace(texts=together)
    return list(merged.values())


def _outside(system: str, matched: IdMatches) -> Iterator[OutsideRow]:
    lines = sorted((*matched.strangers, *matched.broken), key=lambda line: line.record.number)
    for line in lines:
        if line.problem is None:
            fault = unknown_id(line, matched.near)
        elif line.kind == "duplicate_id":
            fault = Fault("repeated_report", {"id": line.id})
        else:
            fault = Fault("unusable_row", {"reason": line.problem.message})
        number = line.record.number
        problem = fault.problem(line.record.place, system)
        yield OutsideRow(number, line.id or f"row {number}", system, problem)


def _notes(system: str, matched: IdMatches) -> Iterator[str]:
    example = next(iter(matched.near.items()), ("", ""))
    about = f"{len(matched.near):,}, for example {example[0]!r} for {example[1]!r}"
    strangers = [line.id for line in matched.strangers if line.id not in matched.near]
    broken = [line.problem.message for line in matched.broken if line.problem is not None]
    if matched.renamed:
        yield f"{system}: ids taken for those of the truth: {about}"
    elif matched.near:
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
    matches: Mapping[str, IdMatches],
    _needed: Sequence[str],
) -> Iterator[Record]:
    written = {
        system: {name: near for near, name in matched.near.items()}
        for system, matched in matches.items()
    }
    for record, name, texts, problem, _ in truth:
        if name is None or problem is not None:
            yield record._replace(values=None, problem=problem, key=None)
            continue
        values: dict[str, object] = {layout.reference: texts}
        if not isinstance(texts, Fault) and len(texts) == 1:
            values[layout.reference] = texts[0]
        for system, matched in matches.items():
            values[system] = _candidate(name, system, matched, written[system])
        yield record._replace(values=values, key=name)


def _candidate(
    name: str, system: str, matched: IdMatches, written: Mapping[str, str]
) -> str | Fault:
    """The report of a system, or what is wrong with it, by its row in the file of the system."""
    line = matched.reports.get(name)
    if line is None:
        details = {"key": name, "truth": REFERENCES}
        if (near := written.get(name)) is None:
            return Fault("missing_report", details)
        return Fault("nearly_there", {**details, "written": near, "hint": near_hint(name)})
    if not isinstance(line.texts, Fault):
        return line.texts[0]
    place = {
        "column": f"the report of {system}",
        "where": f"{line.record.place} of its file",
        "way": "",  # only references can be several
    }
    return line.texts._replace(details={**line.texts.details, **place})

"""From files to pairs: what the rest of the package calls to read its input."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import field_validator

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.documents.texts import table_of_folders, table_of_lines, text_layout
from histoeval.io.files import (
    GUESS,
    NO_VALUE,
    ONE_TABLE,
    RECORDS,
    TABLES,
    OpenedTable,
    SeenNames,
    TableSource,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.reports import TextSource, exports_in, open_reports
from histoeval.io.submissions import (
    REFERENCES,
    IdMatches,
    ReportLine,
    match_ids,
    near_hint,
    report_lines,
    system_names,
    unknown_id,
)
from histoeval.io.tables.columns import (
    Columns,
    Layout,
    ReferenceMode,
    how_to_take,
    layout_of,
    notes_on,
    reference_texts,
)
from histoeval.io.tables.encoding import joined
from histoeval.io.tables.records import Fault, Record, RecordTable, name_of, text_of
from histoeval.report import Noun, Pair, PairWithReferences

ACCEPTED = (
    f"{ONE_TABLE}, two and more tables or folders with the same ids, or two and more .txt files "
    "with one report per line, the references first"
)


class Joining(Noun):
    """Rules for bringing the reports of one case together."""

    loose_ids: bool = False  # ids may differ in ending, case, outer spaces or zeros
    references: ReferenceMode | None = None

    @field_validator("references", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        if given not in (None, *get_args(ReferenceMode)):
            way = argument("several_references", given)
            raise SettingError(f"{way or given}: of several references 'best' or 'mean' can count")
        return given

    def identity(self) -> dict[str, object]:
        return self.model_dump(exclude_defaults=True)


AS_WRITTEN = Joining()  # ids must be the same, and a case has one reference


class PairRow(NamedTuple):
    """One pair, or the problems that stand in its place; never both."""

    number: int
    id: str
    system: str | None
    pair: Pair | None
    problems: tuple[Problem, ...]
    position: int = 0

    @property
    def characters(self) -> int:
        return 0 if self.pair is None else len(self.pair.reference) + len(self.pair.candidate)


@dataclass(frozen=True, kw_only=True)
class PairSource(TableSource[Layout, PairRow]):
    """An opened table and its pairs: of each record, one row per system."""

    joining: Joining = AS_WRITTEN
    # Rows that systems have beside the cases of a truth; they come last.
    outside: tuple[PairRow, ...] = field(default=(), repr=False)

    def identity(self) -> dict[str, Any]:
        return super().identity() | self.joining.identity()

    def rows(self) -> Iterator[PairRow]:
        yield from super().rows()
        yield from self.outside

    def rows_of(
        self, record: Record, values: Mapping[str, object], seen: SeenNames
    ) -> Iterator[PairRow]:
        """A row for each system; one alone where the record cannot be read."""
        layout = self.layout
        named = None if layout.system is None else name_of(values.get(layout.system), NO_VALUE)
        label, id_fault = self.name_of(record, seen, named if isinstance(named, str) else "")
        several = self.joining.references is not None
        references = reference_texts(values, layout.reference, layout, several=several)
        for column in layout.candidates if record.values is not None else layout.candidates[:1]:
            candidate = text_of(values.get(column))
            system = column if named is None else named
            problems = self.problems_in(
                record,
                (layout.id or "id", id_fault),
                (layout.system or "system", system),
                (layout.reference, references),
                (column, candidate),
            )
            pair = None
            if not problems and isinstance(candidate, str) and not isinstance(references, Fault):
                pair = Pair(
                    id=label, reference=references[0], candidate=candidate, system=str(system)
                )
                if more := references[1:]:
                    pair = PairWithReferences(**dict(pair), more_references=more)
            known = system if isinstance(system, str) and record.values is not None else None
            yield PairRow(record.number, label, known, pair, problems, record.position)


def open_source(
    paths: Sequence[Path],
    columns: Columns = GUESS,
    encoding: str | None = None,
    *,
    truth: Path | None = None,
    joining: Joining = AS_WRITTEN,
) -> PairSource:
    """Open one table, or the references and then each system.

    With a `truth` all paths are systems, and cases are joined by id; otherwise the references come
    first, and lines of text files and files of folders belong together as they are.
    """
    given = [*([] if truth is None else [truth]), *paths]
    kinds = [format_of(path, ACCEPTED) for path in given]
    if len(given) == 1 and kinds[0] in TABLES:
        table = open_table(given[0], columns, encoding)
        source = _source_of_table(table, columns, joining, str(given[0]))
        demand_rows(table.table, source.layout.columns, given[0])
        return source
    if len(given) < 2:
        problem = f"cannot be read alone. What can be read: {ACCEPTED}"
        raise wrong_folder(given[0], problem) if given else InputError(f"nothing {problem}")
    name = ", ".join(path.resolve().name for path in given)
    kind = kinds[0] if len(set(kinds)) == 1 else "files"
    is_usual = truth is None and joining == AS_WRITTEN
    # Lines, or files of the same name, belong together without ids.
    is_parallel = kind == "text" or (
        kind == "folder" and is_usual and not any(map(exports_in, given))
    )
    if not is_parallel:
        return _open_joined(given, columns, encoding, joining, name, kind)
    if columns != GUESS or joining != AS_WRITTEN:
        raise InputError("text files and folders have no columns to name, and one reference each")
    layout = text_layout(
        [
            path.resolve().name if kind == "folder" else Path(path.name.removesuffix(".gz")).stem
            for path in given[1:]
        ]
    )
    read = table_of_folders if kind == "folder" else table_of_lines
    texts = opened(name, kind, *read(given, layout.columns, encoding))
    return PairSource(**vars(texts), layout=layout)


def source_of_records(
    records: Iterable[Mapping[str, object]], columns: Columns = GUESS, joining: Joining = AS_WRITTEN
) -> PairSource:
    return _source_of_table(open_records(records), columns, joining, RECORDS)


def _source_of_table(table: OpenedTable, named: Columns, joining: Joining, file: str) -> PairSource:
    several = joining.references is not None
    layout = layout_of(table.table, named, file, several=several)
    notes = (*table.notes, *notes_on(layout, named, keyed=table.table.keyed))
    return PairSource(**{**vars(table), "notes": notes}, layout=layout, joining=joining)


# --- references and systems, joined by id --------------------------------------------------------


def _open_joined(
    paths: Sequence[Path],
    columns: Columns,
    encoding: str | None,
    joining: Joining,
    name: str,
    kind: str,
) -> PairSource:
    """The references first; each other file or folder is a system, called like it."""
    if len(columns.candidates) > 1 or columns.system is not None:
        raise InputError("a table of one system has one column of candidates, and no system column")
    names = system_names(paths[1:])
    texts = [columns.reference, *[next(iter(columns.candidates), None)] * len(names)]
    truth, *systems = [
        open_reports(
            path,
            text=None if path.is_dir() else text,
            id_=None if path.is_dir() else columns.id,
            encoding=encoding,
            several=joining.references is not None and path is paths[0],
        )
        for path, text in zip(paths, texts, strict=True)
    ]
    joined_source = source_of_systems(truth, dict(zip(names, systems, strict=True)), joining)
    return replace(joined_source, name=name, format=kind)


def source_of_systems(
    truth: TextSource, systems: Mapping[str, TextSource], joining: Joining = AS_WRITTEN
) -> PairSource:
    """Join references with the reports of each system, which are all open already.

    What a system has no report for is an error of that system; what the references do not have,
    what comes twice and what cannot be read is outside: listed, and not scored.
    """
    layout = text_layout(list(systems))
    lines = _merged(report_lines(truth, several=joining.references is not None))
    ids = [line.id for line in lines if line.id is not None and line.problem is None]
    matches = {
        name: match_ids(report_lines(source), ids, loose=joining.loose_ids)
        for name, source in systems.items()
    }
    notes = [note for name, matched in matches.items() for note in _notes(name, matched)]
    if several := sum(not isinstance(line.texts, Fault) and len(line.texts) > 1 for line in lines):
        notes.append(f"cases with several references: {several:,}; the {joining.references} counts")
    surveyed = joined((source.name, source) for source in (truth, *systems.values()))
    by_column = dict(zip(layout.candidates, matches.values(), strict=True))
    table = RecordTable(layout.columns, partial(_read, lines, layout, by_column), keyed=True)
    opened_table = opened(
        ", ".join([truth.name, *systems]),
        "joined",
        table,
        replace(surveyed, notes=(*surveyed.notes, *notes)),
    )
    outside = [
        row for name, matched in by_column.items() for row in _outside(name, matched, surveyed.size)
    ]
    return PairSource(**vars(opened_table), layout=layout, joining=joining, outside=tuple(outside))


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


def _outside(system: str, matched: IdMatches, position: int) -> Iterator[PairRow]:
    lines = sorted((*matched.strangers, *matched.broken), key=lambda line: line.record.number)
    for line in lines:
        if line.problem is None:
            fault = unknown_id(line, matched.near)
        elif line.kind == "duplicate_id":
            fault = Fault("repeated_report", {"id": line.id})
        else:
            fault = Fault("unusable_row", {"reason": line.problem.message})
        number, problem = line.record.number, fault.problem(line.record.place, system)
        yield PairRow(number, line.id or f"row {number}", system, None, (problem,), position)


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
        system: {meant: near for near, meant in matched.near.items()}
        for system, matched in matches.items()
    }
    for record, name, texts, problem, _ in truth:
        if name is None or problem is not None:
            yield record._replace(values=None, problem=problem, key=None)
            continue
        is_single = not isinstance(texts, Fault) and len(texts) == 1
        values: dict[str, object] = {layout.reference: texts[0] if is_single else texts}
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
        if name not in written:
            return Fault("missing_report", details)
        details |= {"written": written[name], "hint": near_hint(name)}
        return Fault("nearly_there", details)
    if not isinstance(line.texts, Fault):
        return line.texts[0]
    place = {
        "column": f"the report of {system}",
        "where": f"{line.record.place} of its file",
        "way": "",  # only references can be several
    }
    return line.texts._replace(details={**line.texts.details, **place})

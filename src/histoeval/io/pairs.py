"""Reading pairs from files: the input of the rest of the package."""

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
    def _known(cls, mode: object) -> object:
        if mode not in (None, *get_args(ReferenceMode)):
            option = argument("several_references", mode)
            raise SettingError(
                f"{option or mode}: of several references 'best' or 'mean' can count"
            )
        return mode

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
        """Yield a row for each system, or a single one if the record cannot be read."""
        layout = self.layout
        system_cell = (
            None if layout.system is None else name_of(values.get(layout.system), NO_VALUE)
        )
        label, id_fault = self.name_of(
            record, seen, system_cell if isinstance(system_cell, str) else ""
        )
        has_several = self.joining.references is not None
        references = reference_texts(values, layout.reference, layout, several=has_several)
        for column in layout.candidates if record.values is not None else layout.candidates[:1]:
            candidate = text_of(values.get(column))
            system = column if system_cell is None else system_cell
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
                if more_references := references[1:]:
                    pair = PairWithReferences(**dict(pair), more_references=more_references)
            known_system = system if isinstance(system, str) and record.values is not None else None
            yield PairRow(record.number, label, known_system, pair, problems, record.position)


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
    all_paths = [*([] if truth is None else [truth]), *paths]
    kinds = [format_of(path, ACCEPTED) for path in all_paths]
    if len(all_paths) == 1 and kinds[0] in TABLES:
        table = open_table(all_paths[0], columns, encoding)
        source = _source_of_table(table, columns, joining, str(all_paths[0]))
        demand_rows(table.table, source.layout.columns, all_paths[0])
        return source
    if len(all_paths) < 2:
        problem = f"cannot be read alone. What can be read: {ACCEPTED}"
        raise wrong_folder(all_paths[0], problem) if all_paths else InputError(f"nothing {problem}")
    name = ", ".join(path.resolve().name for path in all_paths)
    kind = kinds[0] if len(set(kinds)) == 1 else "files"
    is_plain = truth is None and joining == AS_WRITTEN
    # Lines, or files of the same name, belong together without ids.
    is_parallel = kind == "text" or (
        kind == "folder" and is_plain and not any(map(exports_in, all_paths))
    )
    if not is_parallel:
        return _open_joined(all_paths, columns, encoding, joining, name, kind)
    if columns != GUESS or joining != AS_WRITTEN:
        raise InputError("text files and folders have no columns to name, and one reference each")
    layout = text_layout(
        [
            path.resolve().name if kind == "folder" else Path(path.name.removesuffix(".gz")).stem
            for path in all_paths[1:]
        ]
    )
    read_table = table_of_folders if kind == "folder" else table_of_lines
    texts = opened(name, kind, *read_table(all_paths, layout.columns, encoding))
    return PairSource(**vars(texts), layout=layout)


def source_of_records(
    records: Iterable[Mapping[str, object]], columns: Columns = GUESS, joining: Joining = AS_WRITTEN
) -> PairSource:
    return _source_of_table(open_records(records), columns, joining, RECORDS)


def _source_of_table(
    table: OpenedTable, columns: Columns, joining: Joining, file: str
) -> PairSource:
    has_several = joining.references is not None
    layout = layout_of(table.table, columns, file, several=has_several)
    notes = (*table.notes, *notes_on(layout, columns, keyed=table.table.keyed))
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
    """Open the references, then each other file or folder as a system of its name."""
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
    notes = [note for name, id_matches in matches.items() for note in _notes(name, id_matches)]
    if several_count := sum(
        not isinstance(line.texts, Fault) and len(line.texts) > 1 for line in lines
    ):
        notes.append(
            f"cases with several references: {several_count:,}; the {joining.references} counts"
        )
    joint_survey = joined((source.name, source) for source in (truth, *systems.values()))
    matches_by_column = dict(zip(layout.candidates, matches.values(), strict=True))
    table = RecordTable(
        layout.columns, partial(_read, lines, layout, matches_by_column), keyed=True
    )
    opened_table = opened(
        ", ".join([truth.name, *systems]),
        "joined",
        table,
        replace(joint_survey, notes=(*joint_survey.notes, *notes)),
    )
    outside = [
        row
        for name, id_matches in matches_by_column.items()
        for row in _outside(name, id_matches, joint_survey.size)
    ]
    return PairSource(**vars(opened_table), layout=layout, joining=joining, outside=tuple(outside))


def _merged(lines: Sequence[ReportLine]) -> list[ReportLine]:
    """Merge references of one id at its first position; a second one may be a problem."""
    merged: dict[object, ReportLine] = {}
    for line in lines:
        if line.kind == "duplicate_id":
            fault = Fault("second_reference", {"id": line.id, "way": how_to_take()})
            problem = fault.problem(line.record.place, "id")
            merged[line.record.number] = line._replace(problem=problem)
        elif line.problem is not None:
            merged[line.record.number] = line
        elif (first_line := merged.get(line.id)) is None:
            merged[line.id] = line
        elif not isinstance(first_line.texts, Fault):
            texts = line.texts if isinstance(line.texts, Fault) else first_line.texts + line.texts
            merged[line.id] = first_line._replace(texts=texts)
    return list(merged.values())


def _outside(system: str, matches: IdMatches, position: int) -> Iterator[PairRow]:
    lines = sorted((*matches.strangers, *matches.broken), key=lambda line: line.record.number)
    for line in lines:
        if line.problem is None:
            fault = unknown_id(line, matches.near)
        elif line.kind == "duplicate_id":
            fault = Fault("repeated_report", {"id": line.id})
        else:
            fault = Fault("unusable_row", {"reason": line.problem.message})
        number, problem = line.record.number, fault.problem(line.record.place, system)
        yield PairRow(number, line.id or f"row {number}", system, None, (problem,), position)


def _notes(system: str, matches: IdMatches) -> Iterator[str]:
    example = next(iter(matches.near.items()), ("", ""))
    renamings = f"{len(matches.near):,}, for example {example[0]!r} for {example[1]!r}"
    strangers = [line.id for line in matches.strangers if line.id not in matches.near]
    unusable_rows = [line.problem.message for line in matches.broken if line.problem is not None]
    if matches.renamed:
        yield f"{system}: ids taken for those of the truth: {renamings}"
    elif matches.near:
        option = argument("loose_ids")
        yield (
            f"{system}: ids that differ from those of the truth only in ending, case, spaces or "
            f"zeros, and are not scored: {renamings}" + (option and f"; to accept them: {option}")
        )
    for title, examples in (
        ("ids that the references lack", strangers),
        ("unusable rows", unusable_rows),
    ):
        if examples:
            yield (
                f"{system}: {title}, which are not scored: {len(examples):,}, for example: "
                f"{examples[0]}"
            )


def _read(
    truth: Sequence[ReportLine],
    layout: Layout,
    matches: Mapping[str, IdMatches],
    _needed: Sequence[str],
) -> Iterator[Record]:
    written_ids = {
        system: {true_id: written_id for written_id, true_id in system_matches.near.items()}
        for system, system_matches in matches.items()
    }
    for record, name, texts, problem, _ in truth:
        if name is None or problem is not None:
            yield record._replace(values=None, problem=problem, key=None)
            continue
        is_single = not isinstance(texts, Fault) and len(texts) == 1
        values: dict[str, object] = {layout.reference: texts[0] if is_single else texts}
        for system, system_matches in matches.items():
            values[system] = _candidate(name, system, system_matches, written_ids[system])
        yield record._replace(values=values, key=name)


def _candidate(
    name: str, system: str, matches: IdMatches, written_ids: Mapping[str, str]
) -> str | Fault:
    """Return the report of a system, or its fault with the row in the file of the system."""
    line = matches.reports.get(name)
    if line is None:
        details = {"key": name, "truth": REFERENCES}
        if name not in written_ids:
            return Fault("missing_report", details)
        details |= {"written": written_ids[name], "hint": near_hint(name)}
        return Fault("nearly_there", details)
    if not isinstance(line.texts, Fault):
        return line.texts[0]
    place_details = {
        "column": f"the report of {system}",
        "where": f"{line.record.place} of its file",
        "way": "",  # only references can be several
    }
    return line.texts._replace(details={**line.texts.details, **place_details})

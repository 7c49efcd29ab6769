"""From files to pairs: what the rest of the package calls to read its input."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.callers import argument
from histoeval.errors import InputError, Problem, SettingError, did_you_mean
from histoeval.io.documents.texts import table_of_folders, table_of_lines, text_layout
from histoeval.io.files import (
    GUESS,
    ONE_TABLE,
    TABLES,
    Cells,
    OpenedTable,
    RowNaming,
    TableSource,
    check_there,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.reports import TextSource, exports_in
from histoeval.io.submissions import AS_WRITTEN, Join, Joining, OutsideRow, join, open_joined
from histoeval.io.tables.columns import (
    Columns,
    Layout,
    ReferenceMode,
    layout_of,
    notes_on,
    reference_texts,
)
from histoeval.io.tables.formats import Record
from histoeval.io.tables.row_faults import Fault, name_of, text_of
from histoeval.report import Pair, PairWithReferences

__all__ = [
    "Columns",
    "Joining",
    "PairRow",
    "PairSource",
    "open_source",
    "source_of_records",
    "source_of_systems",
]

ACCEPTED = (
    f"{ONE_TABLE}, two and more tables or folders with the same ids, or two and more .txt files "
    "with one report per line, the references first"
)

MAX_SUGGESTIONS = 3
"""How many ids are suggested for one that does not exist."""

_NO_SYSTEM = Fault("missing_value")


class PairRow(NamedTuple):
    """One pair, or the problems that stand in its place; never both.

    `number` counts the rows of the source from 1. `system` is None where the row is too broken to
    have one. `position` is how many bytes of the source have been read, for progress.
    """

    number: int
    id: str
    system: str | None
    pair: Pair | None
    problems: tuple[Problem, ...]
    position: int = 0

    @property
    def characters(self) -> int:
        """The length of both texts."""
        return 0 if self.pair is None else len(self.pair.reference) + len(self.pair.candidate)


@dataclass(frozen=True, kw_only=True)
class PairSource(TableSource[Layout, PairRow]):
    """What was opened, and the pairs in it: of each record, one row per system.

    Rows that systems have `outside` of the cases of a truth come last.
    """

    joining: Joining = AS_WRITTEN
    outside: tuple[OutsideRow, ...] = field(default=(), repr=False)

    @property
    def references(self) -> ReferenceMode | None:
        """What counts where a case has several references; None where it has one."""
        return self.joining.references

    def identity(self) -> dict[str, Any]:
        """What makes two inputs the same."""
        return super().identity() | self.joining.identity()

    def rows(self) -> Iterator[PairRow]:
        """Every row, from the start, however often it is called."""
        yield from super().rows()
        for number, name, system, problem in self.outside:
            yield PairRow(number, name, system, None, (problem,), self.size)

    def _unreadable(self, record: Record, label: str, problems: tuple[Problem, ...]) -> PairRow:
        return PairRow(record.number, label, None, None, problems, record.position)

    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> list[PairRow]:
        layout = self.layout
        named = None if layout.system is None else name_of(values.get(layout.system), _NO_SYSTEM)
        label, id_fault = naming.name(record, values, named if isinstance(named, str) else "")
        several = self.references is not None
        references = reference_texts(values, layout.reference, layout, several=several)
        rows = []
        for column in layout.candidates:
            candidate = text_of(values.get(column))
            system = column if named is None else named
            if (
                id_fault is None
                and isinstance(system, str)
                and not isinstance(references, Fault)
                and isinstance(candidate, str)
            ):
                first, *more = references
                pair = Pair(id=label, reference=first, candidate=candidate, system=system)
                if more:
                    pair = PairWithReferences(**dict(pair), more_references=tuple(more))
                rows.append(PairRow(record.number, label, system, pair, (), record.position))
                continue
            cells: Cells = [
                (layout.id or "id", id_fault),
                (layout.system or "system", system),
                (layout.reference, references if isinstance(references, Fault) else None),
                (column, candidate),
            ]
            problems = self.problems_in(record, cells)
            known = system if isinstance(system, str) else None
            rows.append(PairRow(record.number, label, known, None, problems, record.position))
        return rows


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
    for path in given:
        check_there(path)
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
        return _joined(name, kind, open_joined(given, columns, encoding, joining), joining)
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


def source_of_systems(
    truth: TextSource, systems: Mapping[str, TextSource], joining: Joining = AS_WRITTEN
) -> PairSource:
    """Reports of systems that are open already, joined with the references by id."""
    return _joined(
        ", ".join([truth.name, *systems]), "joined", join(truth, systems, joining), joining
    )


def source_of_records(
    records: Iterable[Mapping[str, object]],
    columns: Columns = GUESS,
    joining: Joining = AS_WRITTEN,
) -> PairSource:
    """The pairs of records that are in memory, such as the rows of a data frame."""
    return _source_of_table(open_records(records), columns, joining, "the list of records")


def _source_of_table(table: OpenedTable, named: Columns, joining: Joining, file: str) -> PairSource:
    """The pairs of one table, with notes on the columns that were guessed."""
    several = joining.references is not None
    layout = layout_of(table.table, named, file, several=several)
    notes = (*table.notes, *notes_on(layout, named, keyed=table.table.keyed))
    return PairSource(**{**vars(table), "notes": notes}, layout=layout, joining=joining)


def _joined(name: str, kind: str, cases: Join, joining: Joining) -> PairSource:
    table = opened(name, kind, cases.table, cases.survey)
    return PairSource(**vars(table), layout=cases.layout, joining=joining, outside=cases.outside)


def chosen_pair(
    name: str, rows: Callable[[], Iterable[PairRow]], pair_id: str | None, system: str | None
) -> Pair:
    """The one pair of rows with an id, and of a system where several have it."""
    if pair_id is None:
        asked = argument("id", "ID")
        raise SettingError(
            f"which pair of {name} should be explained? Give {asked}{_first_ids(rows())}"
        )
    named = [row for row in rows() if row.id == pair_id]
    if not named:
        hint = _similar_ids(rows(), pair_id) or _first_ids(rows())
        raise InputError(f"{name} has no pair {pair_id!r}{hint}")
    systems = list(dict.fromkeys(row.system for row in named if row.system is not None))
    names = ", ".join(map(repr, systems))
    if system is not None and system not in systems:
        guess = did_you_mean(system, systems)
        raise InputError(f"{pair_id!r} has no candidate of {system!r}{guess}; there are: {names}")
    if system is None and len(systems) > 1:
        raise SettingError(
            f"{pair_id!r} has candidates of {names}: choose one with {argument('system', 'NAME')}"
        )
    chosen = [row for row in named if system is None or row.system == system]
    for row in chosen:
        if row.pair is not None:
            return row.pair
    raise InputError("; ".join(problem.message for problem in chosen[0].problems))


def _similar_ids(rows: Iterable[PairRow], pair_id: str) -> str:
    """Ids that are spelt almost like this one."""
    from rapidfuzz import fuzz, process

    ids = list(dict.fromkeys(row.id for row in rows))
    matches = process.extract(
        pair_id,
        ids,
        scorer=fuzz.ratio,
        processor=str.casefold,
        limit=MAX_SUGGESTIONS,
        score_cutoff=60,
    )
    return f"; did you mean {' or '.join(repr(near) for near, *_ in matches)}?" if matches else ""


def _first_ids(rows: Iterable[PairRow]) -> str:
    ids: dict[str, None] = {}
    for row in rows:
        ids[row.id] = None
        if len(ids) > MAX_SUGGESTIONS:
            break
    more = " …" if len(ids) > MAX_SUGGESTIONS else ""
    return f". Its ids: {', '.join(map(repr, list(ids)[:MAX_SUGGESTIONS]))}{more}"

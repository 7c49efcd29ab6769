"""From files to cases: a report, the image it is about, and what was written under attack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.io.files import RowNaming, TableSource, demand_rows, open_records
from histoeval.io.reports import open_report_table
from histoeval.io.tables.columns import (
    ATTACKED,
    AUGMENTED,
    CaseLayout,
    Columns,
    case_layout_of,
    normalised,
    taken_note,
)
from histoeval.io.tables.formats import Record
from histoeval.io.tables.row_faults import Fault, name_of, text_of

_NO_CELL = Fault("missing_value")


class AttackedReport(NamedTuple):
    """A report that was written under an attack."""

    attack: str
    text: str


class TrustCase(NamedTuple):
    """One row: its report or the problems in its place; the rest where the row has it.

    `number` counts the rows from 1; `image` is a problem where the name cannot be read;
    `troubled` are cells of attacks that cannot; `position` is how many bytes of the source have
    been read, for progress.
    """

    number: int
    id: str
    report: str | None
    problems: tuple[Problem, ...]
    image: str | Problem | None = None
    augmented: tuple[AttackedReport, ...] = ()
    attacked: tuple[AttackedReport, ...] = ()
    troubled: tuple[Problem, ...] = ()
    specimen: str = ""
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class CaseSource(TableSource[CaseLayout, TrustCase]):
    """What was opened, and the cases in it; images are named relative to `folder`."""

    folder: Path = field(repr=False, default=Path())

    def _unreadable(self, record: Record, label: str, problems: tuple[Problem, ...]) -> TrustCase:
        return TrustCase(record.number, label, None, problems, position=record.position)

    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> list[TrustCase]:
        layout = self.layout
        label, id_fault = naming.name(record, values)
        text = text_of(values.get(layout.report))
        cells = [(layout.id or "id", id_fault), (layout.report, text)]
        augmented, broken_augmented = self._attacks(record, values, layout.augmented, AUGMENTED)
        attacked, broken_attacked = self._attacks(record, values, layout.attacked, ATTACKED)
        specimen = values.get(layout.specimen or "")
        case = TrustCase(
            number=record.number,
            id=label,
            report=text if id_fault is None and isinstance(text, str) else None,
            problems=self.problems_in(record, cells),
            image=self._image(record, values),
            augmented=augmented,
            attacked=attacked,
            troubled=(*broken_augmented, *broken_attacked),
            specimen=specimen.strip() if layout.specimen and isinstance(specimen, str) else "",
            position=record.position,
        )
        return [case]

    def _image(self, record: Record, values: Mapping[str, object]) -> str | Problem | None:
        """What a row names its image, if it does."""
        column = self.layout.image
        name = _NO_CELL if column is None else name_of(values.get(column), _NO_CELL)
        if column is None or name == _NO_CELL:
            return None
        if isinstance(name, str):
            return name.strip()
        return self.problems_in(record, [(column, name)])[0]

    def _attacks(
        self, record: Record, values: Mapping[str, object], columns: Sequence[str], kind: str
    ) -> tuple[tuple[AttackedReport, ...], tuple[Problem, ...]]:
        """The reports of one kind of attack, and the cells of it that hold what is no report.

        Some attacks may well be missing in a row. An attack is called by what stands behind the
        kind in the name of its column.
        """
        usual = {AUGMENTED: "stain", ATTACKED: "prompt"}[kind]
        reports: list[AttackedReport] = []
        problems: list[Problem] = []
        for column in columns:
            cell = text_of(values.get(column))
            if isinstance(cell, str):
                attack = normalised(column).removeprefix(kind).strip("_") or usual
                reports.append(AttackedReport(attack, cell))
            elif cell.kind not in ("missing_value", "empty_text"):
                problems += self.problems_in(record, [(column, cell)])
        return tuple(reports), tuple(problems)


def open_cases(
    path: Path,
    *,
    text: str | None = None,
    image: str | None = None,
    id_: str | None = None,
    images: Path | None = None,
    encoding: str | None = None,
) -> CaseSource:
    """Open a table of cases; columns that are not named are guessed."""
    table = open_report_table(path, Columns(reference=text, id=id_), encoding)
    layout = case_layout_of(table.table, text, image, id_, str(path))
    demand_rows(table.table, layout.columns, path)
    guessed: dict[str, Sequence[str | None]] = {
        "id": [] if id_ else [layout.id],
        "report": [] if text else [layout.report],
        "image": [] if image else [layout.image],
    }
    notes = (*table.notes, *taken_note(guessed))
    return CaseSource(
        **{**vars(table), "notes": notes}, layout=layout, folder=images or path.parent
    )


def cases_of_records(
    records: Iterable[Mapping[str, object]],
    *,
    text: str | None = None,
    image: str | None = None,
    id_: str | None = None,
    images: Path | None = None,
) -> CaseSource:
    """The cases of records that are in memory, such as the rows of a data frame."""
    table = open_records(records)
    layout = case_layout_of(table.table, text, image, id_, "the list of records")
    return CaseSource(**vars(table), layout=layout, folder=images or Path())

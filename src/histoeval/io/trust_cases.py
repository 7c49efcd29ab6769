"""From files to cases: a report, the image it is about, and what was written under attack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.io.files import demand_rows, open_records
from histoeval.io.reports import open_report_table
from histoeval.io.source import RowNaming, TableSource, problems_in
from histoeval.io.tables.cell_checks import name_of, text_of
from histoeval.io.tables.columns import (
    Columns,
    TableLayout,
    demand_columns,
    normalised,
    taken_note,
    text_layout_of,
)
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault

REPORT = ("report",)
"""The preferred name of the column of reports, also where a reference stands beside it."""

IMAGE = ("image", "image_path", "slide", "slide_path", "image_file", "file_name", "filename")
"""Names by which the column of images is known, the preferred first."""

AUGMENTED, ATTACKED = "report_augmented", "report_attacked"
"""Columns of reports under attack; with `_NAME` behind it a column is the attack NAME."""

SPECIMEN = ("specimen",)
"""What the model knew of the specimen, as `histoeval generate` writes it."""

_NO_CELL = Fault("missing_value")


class AttackedReport(NamedTuple):
    """A report that was written under an attack."""

    attack: str
    text: str


class CaseLayout(TableLayout):
    """The columns of a table of cases."""

    report: str
    image: str | None = None
    augmented: tuple[str, ...] = ()
    attacked: tuple[str, ...] = ()
    specimen: str | None = None


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


@dataclass(frozen=True)
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
        case = TrustCase(
            number=record.number,
            id=label,
            report=text if id_fault is None and isinstance(text, str) else None,
            problems=problems_in(self.table, record, cells),
            image=self._image(record, values),
            augmented=augmented,
            attacked=attacked,
            troubled=(*broken_augmented, *broken_attacked),
            specimen=_filling(values, layout.specimen),
            position=record.position,
        )
        return [case]

    def _image(self, record: Record, values: Mapping[str, object]) -> str | Problem | None:
        """What a row names its image, if it does."""
        column = self.layout.image
        if column is None:
            return None
        named = name_of(values.get(column), _NO_CELL)
        if isinstance(named, str):
            return named.strip()
        if named == _NO_CELL:
            return None
        return problems_in(self.table, record, [(column, named)])[0]

    def _attacks(
        self, record: Record, values: Mapping[str, object], columns: Sequence[str], kind: str
    ) -> tuple[tuple[AttackedReport, ...], tuple[Problem, ...]]:
        """The reports of one kind of attack, and the cells of it that hold what is no report."""
        cells = [(name, text_of(values.get(name))) for name in columns if _is_filled(values, name)]
        written = [
            AttackedReport(_attack(name, kind), cell)
            for name, cell in cells
            if isinstance(cell, str)
        ]
        return tuple(written), problems_in(self.table, record, cells)


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
    layout = _layout_of(table.table, text, image, id_, str(path))
    demand_rows(table.table, layout.columns, path)
    guessed = {
        "id": () if id_ or layout.id is None else (layout.id,),
        "report": () if text else (layout.report,),
        "image": () if image or layout.image is None else (layout.image,),
    }
    table = replace(table, notes=(*table.notes, *taken_note(guessed)))
    return CaseSource(**vars(table), layout=layout, folder=images or path.parent)


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
    layout = _layout_of(table.table, text, image, id_, "the list of records")
    return CaseSource(**vars(table), layout=layout, folder=images or Path())


def _layout_of(
    table: RecordTable, text: str | None, image: str | None, id_: str | None, file: str
) -> CaseLayout:
    demand_columns((image,), table.columns, file)
    image = image or _first(table.columns, IMAGE)
    attacks = {
        kind: tuple(name for name in table.columns if normalised(name).startswith(kind))
        for kind in (AUGMENTED, ATTACKED)
    }
    specimen = _first(table.columns, SPECIMEN)
    taken = {image, specimen, *attacks[AUGMENTED], *attacks[ATTACKED]} - {text, id_}
    free = [name for name in table.columns if name not in taken]
    wanted = text or _first(free, REPORT)
    layout = text_layout_of(table, wanted, id_, file, tuple(taken))
    return CaseLayout(
        report=layout.text,
        id=layout.id,
        image=image,
        augmented=attacks[AUGMENTED],
        attacked=attacks[ATTACKED],
        specimen=specimen,
    )


def _first(found: Sequence[str], known: Sequence[str]) -> str | None:
    return next((name for alias in known for name in found if normalised(name) == alias), None)


def _filling(values: Mapping[str, object], column: str | None) -> str:
    """What a cell holds as text, or nothing."""
    text = None if column is None else values.get(column)
    return text.strip() if isinstance(text, str) else ""


def _is_filled(values: Mapping[str, object], column: str) -> bool:
    """Whether a cell holds anything; one kind of attack may well be missing in a row."""
    value = values.get(column)
    return not (isinstance(value, str) and not value.strip()) and text_of(value) != _NO_CELL


def _attack(column: str, kind: str) -> str:
    """The name of an attack: what stands behind the kind, or the kind itself."""
    rest = normalised(column).removeprefix(kind).strip("_")
    return rest or {AUGMENTED: "stain", ATTACKED: "prompt"}[kind]

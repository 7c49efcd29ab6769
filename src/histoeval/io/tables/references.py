"""Tables with several references for a case: in columns that are numbered, or in lists."""

from collections.abc import Mapping, Sequence
from typing import Literal

from histoeval.callers import argument
from histoeval.io.tables.cell_checks import text_of
from histoeval.io.tables.columns import Columns, Layout, TextLayout, layout_of, text_layout_of
from histoeval.io.tables.columns import numbered_columns as numbered
from histoeval.io.tables.formats import RecordTable
from histoeval.io.tables.row_faults import Fault

ReferenceMode = Literal["best", "mean"]
"""What the score of a candidate is where its case has several references."""


class NumberedReferences(Layout):
    """The columns of a table of pairs that has further references beside the first."""

    more_references: tuple[str, ...]


class NumberedTexts(TextLayout):
    """The columns of a table of references that has several of them in each row."""

    more_references: tuple[str, ...]


def pair_layout(table: RecordTable, named: Columns, file: str, *, several: bool) -> Layout:
    """The layout of a table of pairs; `several` takes numbered columns of references together."""
    found = numbered(table.columns, "reference") if several and named.reference is None else ()
    if len(found) < 2:
        return layout_of(table, named, file)
    first, *more = found
    layout = layout_of(table, named.model_copy(update={"reference": first}), file)
    return NumberedReferences(**dict(layout), more_references=tuple(more))


def reference_layout(
    table: RecordTable, text: str | None, id_: str | None, file: str, *, several: bool
) -> TextLayout:
    """The layout of a table of references, likewise."""
    found = numbered(table.columns, "reference", "text") if several and text is None else ()
    if len(found) < 2:
        return text_layout_of(table, text, id_, file)
    first, *more = found
    layout = text_layout_of(table, first, id_, file, more)
    return NumberedTexts(**dict(layout), more_references=tuple(more))


def reference_texts(
    values: Mapping[str, object], column: str, layout: Layout | TextLayout, *, several: bool
) -> tuple[str, ...] | Fault:
    """The references of a row, or what is wrong with one of them.

    A list of texts is that many references where `several` says so. Of numbered columns those that
    are empty are passed over, as long as one is not.
    """
    cell = values.get(column)
    if not several:
        text = text_of(cell)
        return several_fault(cell) if _items(cell) else _one(text)
    more = [values.get(name) for name in getattr(layout, "more_references", ())]
    cells = [each for each in (cell, *more) if not (more and _is_nothing(each))]
    listed = [text for each in cells for text in (_items(each) or [each])]
    texts = [text_of(text) for text in listed or [cell]]
    faults = [text for text in texts if isinstance(text, Fault)]
    return faults[0] if faults else tuple(text for text in texts if isinstance(text, str))


def how_to_take() -> str:
    """How several references are taken together, where the caller has a way to say so."""
    way = argument("several_references", "best") or argument("references", "best")
    return way and f", or take several together: {way}"


def several_fault(cell: object) -> Fault:
    """A list of references where one was expected."""
    return Fault("reference_list", {"count": len(_items(cell)), "way": how_to_take()})


_NOTHING = ("missing_value", "empty_text", "placeholder")


def _is_nothing(cell: object) -> bool:
    found = text_of(cell)
    return isinstance(found, Fault) and found.kind in _NOTHING


def _items(cell: object) -> Sequence[object]:
    """The texts of a list; nothing where a cell is no list."""
    return cell if isinstance(cell, list | tuple) and not isinstance(cell, Fault) else ()


def _one(text: str | Fault) -> tuple[str, ...] | Fault:
    return text if isinstance(text, Fault) else (text,)

"""Which columns of a table hold the reference, the candidates, the id, the system, or the text."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from string import digits
from typing import Annotated, Literal, TypeVar

from histoeval.argument_names import argument
from histoeval.errors import InputError, did_you_mean
from histoeval.io.tables.records import Fault, RecordTable, save_as_utf8, shown, text_of
from histoeval.report import Noun
from histoeval.resources import load_toml
from histoeval.settings import COLUMNS, Option

# What the score of a candidate is where its case has several references.
ReferenceMode = Literal["best", "mean"]

ROWS_LOOKED_AT = 200  # how many rows show what a column holds
# A report shares at least so many of its words with the reference, and is so long beside it.
SHARED = 0.2

# Roles whose names tell that a line is a header.
HEADINGS = ("reference", "candidate", "id", "system", "text", "not_a_system")

# Columns of reports under attack; with `_NAME` behind it a column is the attack NAME.
AUGMENTED, ATTACKED = "report_augmented", "report_attacked"

_WORD = re.compile(r"[^\W\d_]{3,}")
_NOTHING = ("missing_value", "empty_text", "placeholder")


CANDIDATE = Option(
    "Column with a candidate; repeat it for each system.",
    COLUMNS,
    name="--candidate",
    shell=list[str] | None,
    python="the column or columns of candidates.",
)
ReferenceColumn = Annotated[str | None, Option("Column with the reference.", COLUMNS)]
IdColumn = Annotated[str | None, Option("Column with the row id.", COLUMNS)]
SystemColumn = Annotated[str | None, Option("Column with the name of the system.", COLUMNS)]


class Columns(Noun):
    """The columns that the user named; the others are guessed."""

    reference: ReferenceColumn = None
    candidates: Annotated[tuple[str, ...], CANDIDATE] = ()
    id: IdColumn = None
    system: SystemColumn = None


class TableLayout(Noun):
    id: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        roles = dict(self).values()
        named = [name for role in roles for name in (role if isinstance(role, tuple) else (role,))]
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def identity(self) -> dict[str, object]:
        """The columns as results depend on them; further references only where there are any."""
        unused = set() if getattr(self, "more_references", ()) else {"more_references"}
        return self.model_dump(mode="json", exclude=unused)


L = TypeVar("L", bound=TableLayout)


class Layout(TableLayout):
    """The columns of a table of pairs, which may have further references beside the first."""

    reference: str
    candidates: tuple[str, ...]
    system: str | None = None
    more_references: tuple[str, ...] = ()


class TextLayout(TableLayout):
    text: str
    more_references: tuple[str, ...] = ()


class CaseLayout(TableLayout):
    report: str
    image: str | None = None
    augmented: tuple[str, ...] = ()
    attacked: tuple[str, ...] = ()
    specimen: str | None = None


def layout_of(table: RecordTable, named: Columns, file: str, *, several: bool = False) -> Layout:
    """Settle the columns of a table of pairs: those that were named, and a guess at the others.

    Rows that bring their id with them need no column for it. `several` takes numbered columns of
    references together.
    """
    columns = table.columns
    references = _numbered_references(columns, named.reference, "reference") if several else ()
    if references:
        named = named.model_copy(update={"reference": references[0]})
    taken = [named.reference, *named.candidates, named.id, named.system]
    demand_columns(taken, columns, file)
    if len(set(named.candidates)) < len(named.candidates):
        raise InputError(f"a candidate column is named twice: {', '.join(named.candidates)}")
    reference = named.reference or _preferred("reference", columns, taken)
    if reference is None:
        raise _no_reference(file, columns)
    id_ = named.id or _preferred("id", columns, [*taken, reference])
    free = [name for name in columns if name not in (*taken, reference, id_)]
    by_name = columns_by_name(columns)
    rated = tuple(name for name in free if f"scoring_{normalised(name)}" in by_name)
    called = tuple(name for name in free if _is_candidate(normalised(name)))
    candidates = named.candidates or rated or called
    candidates = candidates or _like_reports(table, reference, free, file)
    system = named.system
    if system is None and len(candidates) == 1:
        system = _preferred("system", free, candidates)
    if table.keyed:
        id_ = named.id
    elif id_ is None:
        id_ = _naming(table, free, (*candidates, system), system)
    if system is not None and len(candidates) > 1:
        raise InputError(
            f"in {file}, {system!r} is to name the system of each row, and there are "
            f"{len(candidates)} candidate columns ({', '.join(candidates)}): "
            f"the one that holds the texts: {_name_it('candidate')}"
        )
    layout = Layout(
        reference=reference,
        candidates=candidates,
        id=id_,
        system=system,
        more_references=references[1:],
    )
    return _readable(layout, file)


def text_layout_of(
    table: RecordTable,
    text: str | None,
    id_: str | None,
    file: str,
    taken: Sequence[str | None] = (),
    *,
    several: bool = False,
) -> TextLayout:
    """Settle the columns of a table of single texts, guessing those that were not named."""
    columns = table.columns
    references = _numbered_references(columns, text, "reference", "text") if several else ()
    if references:
        text, *taken = references
    demand_columns((text, id_), columns, file)
    text = text or _guessed_text(columns, (id_, *taken), file)
    if id_ is None and not table.keyed:
        taken = (text, *taken)
        id_ = _preferred("id", columns, taken) or _naming(table, columns, taken, None)
    return _readable(TextLayout(text=text, id=id_, more_references=references[1:]), file)


def case_layout_of(
    table: RecordTable, text: str | None, image: str | None, id_: str | None, file: str
) -> CaseLayout:
    columns = table.columns
    demand_columns((image,), columns, file)
    image = image or _preferred("image", columns)
    specimen = _preferred("specimen", columns)
    augmented, attacked = (
        tuple(name for name in columns if normalised(name).startswith(kind))
        for kind in (AUGMENTED, ATTACKED)
    )
    taken = {image, specimen, *augmented, *attacked} - {text, id_}
    text = text or _preferred("report", columns, tuple(taken))
    layout = text_layout_of(table, text, id_, file, tuple(taken))
    return CaseLayout(
        report=layout.text,
        id=layout.id,
        image=image,
        augmented=augmented,
        attacked=attacked,
        specimen=specimen,
    )


def reference_texts(
    values: Mapping[str, object], column: str, layout: Layout | TextLayout, *, several: bool
) -> tuple[str, ...] | Fault:
    """The references of a row, or what is wrong with one of them.

    A list of texts is that many references where `several` says so. Of numbered columns those that
    are empty are passed over, as long as one is not.
    """
    cells = [values.get(column)]
    if not several and (count := len(_items(cells[0]))):
        return Fault("reference_list", {"count": count, "way": how_to_take()})
    if several and layout.more_references:
        cells += [values.get(name) for name in layout.more_references]
        kinds = [getattr(text_of(cell), "kind", "") for cell in cells]
        filled = [cell for cell, kind in zip(cells, kinds, strict=True) if kind not in _NOTHING]
        cells = filled or cells[:1]
    texts = [text_of(text) for cell in cells for text in (_items(cell) or [cell])]
    fault = next((text for text in texts if isinstance(text, Fault)), None)
    return fault or tuple(text for text in texts if isinstance(text, str))


def how_to_take() -> str:
    """The option that takes several references together, where the caller has one."""
    way = argument("several_references", "best") or argument("references", "best")
    return way and f", or take several together: {way}"


def _items(cell: object) -> Sequence[object]:
    return cell if isinstance(cell, list | tuple) and not isinstance(cell, Fault) else ()


def notes_on(layout: Layout, named: Columns, *, keyed: bool) -> tuple[str, ...]:
    """Which columns were guessed, and that rows are numbered where none names them."""
    roles: dict[str, Sequence[str | None]] = {
        "id": [] if named.id else [layout.id],
        "reference": [] if named.reference else [layout.reference],
        "candidate": [] if named.candidates else layout.candidates,
        "system": [] if named.system else [layout.system],
    }
    several = " (a system each)" if len(roles["candidate"]) > 1 else ""
    notes = [note + several for note in taken_note(roles)]
    if layout.id is None and not keyed:
        way = argument("id_column", "NAME")
        notes.append("no column of ids: rows are numbered from 0" + (way and f"; name one: {way}"))
    return tuple(notes)


def taken_note(guessed: Mapping[str, Sequence[str | None]]) -> list[str]:
    taken = [
        f"{', '.join(map(repr, names))} as {role}"
        for role, names in guessed.items()
        if names and names[0] is not None
    ]
    return [shown(f"columns used: {', '.join(taken)}")] if taken else []


def demand_columns(named: Sequence[str | None], columns: Sequence[str], file: str | Path) -> None:
    for name in named:
        if name is not None and name not in columns:
            near = did_you_mean(name, columns)
            raise InputError(f"{file} has no column {name!r}{near}{columns_found(columns)}")


def columns_by_name(columns: Sequence[str]) -> dict[str, str]:
    """Columns by their names as these are compared; of two equal ones, the left."""
    return {normalised(name): name for name in reversed(columns)}


def recognised(columns: Sequence[str], named: Columns) -> int:
    """Count the names that are known or were named: a measure of being a header."""
    wanted = {named.reference, *named.candidates, named.id, named.system}
    known = _names_of(*HEADINGS)
    return sum(name in wanted or normalised(name) in known for name in columns)


def numbered_columns(columns: Sequence[str], *roles: str) -> tuple[str, ...]:
    """Columns of a role that are numbered, as `reference_1`, with the one that has no number."""
    known = _names_of(*roles)
    return tuple(name for name in columns if normalised(name).rstrip(digits).rstrip("_") in known)


def _numbered_references(columns: Sequence[str], named: str | None, *roles: str) -> tuple[str, ...]:
    """Columns of several references, where nobody has named one column."""
    numbered = numbered_columns(columns, *roles) if named is None else ()
    return numbered if len(numbered) > 1 else ()


def normalised(name: str) -> str:
    """A column name as it is compared: `Ground Truth` and `ground-truth` are the same."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _names_of(*roles: str) -> list[str]:
    names = load_toml("io/tables/columns.toml")
    return [name for role in roles for name in names[role]]


def _preferred(role: str, columns: Sequence[str], taken: Sequence[str | None] = ()) -> str | None:
    """The column with the most preferred name for a role; of two equal ones, the left."""
    by_name = columns_by_name([name for name in columns if name not in taken])
    return next((by_name[name] for name in _names_of(role) if name in by_name), None)


def _is_candidate(name: str) -> bool:
    """True for the name of a candidate, with or without that of a system behind it."""
    known = _names_of("candidate")
    rests = [name.removeprefix(f"{each}_") for each in known if name.startswith(f"{each}_")]
    last_words = {rest.rpartition("_")[2] for rest in rests}
    is_said_of_one = not last_words.isdisjoint(_names_of("not_a_system"))
    return name in known or (bool(rests) and not is_said_of_one)


def _like_reports(
    table: RecordTable, reference: str, free: Sequence[str], file: str
) -> tuple[str, ...]:
    """Columns that hold reports by what stands in them, where no name says which do.

    A column counts if its texts share words with the references beside them and are not much
    shorter. Where another column of texts could be meant as well, the user must say which.
    """
    other_roles = _names_of("id", "system", "name")
    words = set(_names_of("not_a_report"))
    open_ = [
        name
        for name in free
        if normalised(name) not in other_roles and words.isdisjoint(normalised(name).split("_"))
    ]
    rows = [
        record.values
        for record in islice(table.read((reference, *open_)), ROWS_LOOKED_AT)
        if record.values is not None
    ]
    is_like: dict[str, bool] = {}
    for name in open_:
        pairs = [(row.get(reference), row.get(name)) for row in rows]
        texts = [(a, b) for a, b in pairs if isinstance(a, str) and isinstance(b, str)]
        if 2 * sum(len(text.split()) > 1 for _, text in texts) <= len(rows):
            continue  # most cells hold no text of at least two words, and so no report
        words_of = [[set(_WORD.findall(text.casefold())) for text in both] for both in texts]
        shared = median(len(a & b) / max(1, min(len(a), len(b))) for a, b in words_of)
        lengths = [median(len(text.split()) for text in side) for side in zip(*texts, strict=True)]
        is_like[name] = shared >= SHARED and lengths[1] >= SHARED * lengths[0]
    if not is_like or not all(is_like.values()):
        raise _no_column(file, "candidate", table.columns, tuple(is_like))
    return tuple(is_like)


def _naming(
    table: RecordTable, columns: Sequence[str], taken: Sequence[str | None], system: str | None
) -> str | None:
    """A column that names rows: called so, with a different name in each row of a system."""
    free = [name for name in columns if name not in taken]
    called = [name for usual in _names_of("name") for name in free if normalised(name) == usual]
    called += [name for name in free if normalised(name).rpartition("_")[2] in ("id", "uid")]
    for column in dict.fromkeys(called):
        rows = table.read((column, *([system] if system else ())))
        names = [
            (record.values.get(column), record.values.get(system or ""))
            for record in rows
            if record.values is not None
        ]
        if all(isinstance(name, str | int) for name, _ in names) and len(set(names)) == len(names):
            return column
    return None


def _guessed_text(columns: Sequence[str], taken: Sequence[str | None], file: str) -> str:
    """The column called text, or the only one that has one of the other usual names."""
    usual = _names_of("text", "reference")
    plain = {name: normalised(name) for name in columns if name not in taken}
    named = [name for name, n in plain.items() if n in usual or _is_candidate(n)]
    guesses = [name for name in named if plain[name] == "text"] or named
    if len(guesses) == 1:
        return guesses[0]
    if len(numbered_columns(guesses or columns, "reference")) > 1:
        raise _no_reference(file, columns)
    what = "more than one column that may hold the text" if guesses else "no column for the text"
    raise InputError(f"{file} has {what}; {_name_it('text')}{columns_found(guesses or columns)}")


def _readable(layout: L, file: str) -> L:
    for name in layout.columns:
        if shown(name) != name:
            raise InputError(
                f"the column name {shown(name)!r} of {file} cannot be read: {save_as_utf8()}"
            )
    return layout


def _no_reference(file: str, columns: Sequence[str]) -> InputError:
    several = numbered_columns(columns, "reference")
    if len(several) < 2:
        return _no_column(file, "reference", columns)
    return InputError(
        f"{file} has several columns of references ({', '.join(map(shown, several))}); "
        f"{_name_it('reference')}{how_to_take()}"
    )


def _no_column(
    file: str, role: str, columns: Sequence[str], likely: Sequence[str] = ()
) -> InputError:
    meant = f" (perhaps {' or '.join(map(repr, likely))})" if likely else ""
    return InputError(
        f"{file} has no column for the {role}{meant}; {_name_it(role)}{columns_found(columns)}"
    )


def _name_it(role: str) -> str:
    """Advice: the argument that names the column, or else the name that it should have."""
    way = argument(f"{role}_column", "NAME")
    usual = "report" if role == "text" else role
    return f"name it: {way}" if way else f"call it {usual!r}"


def columns_found(columns: Sequence[str]) -> str:
    """The columns there are, for whoever has named one that is not."""
    names = [shown(name if len(name) <= 40 else f"{name[:40]}…") for name in columns[:20]]
    return f". Columns found: {', '.join(map(repr, names))}{' …' if len(columns) > 20 else ''}"

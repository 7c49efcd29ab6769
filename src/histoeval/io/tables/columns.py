"""Roles of the columns of a table: reference, candidates, id, system, or text."""

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
        names = [name for role in roles for name in (role if isinstance(role, tuple) else (role,))]
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def identity(self) -> dict[str, object]:
        """Return the columns that results depend on; further references only if there are any."""
        excluded = set() if getattr(self, "more_references", ()) else {"more_references"}
        return self.model_dump(mode="json", exclude=excluded)


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
    """Choose the columns of a table of pairs: those that were named, and a guess at the others.

    Rows that bring their id with them need no column for it. `several` takes numbered columns of
    references together.
    """
    columns = table.columns
    references = _numbered_references(columns, named.reference, "reference") if several else ()
    if references:
        named = named.model_copy(update={"reference": references[0]})
    taken_columns = [named.reference, *named.candidates, named.id, named.system]
    demand_columns(taken_columns, columns, file)
    if len(set(named.candidates)) < len(named.candidates):
        raise InputError(f"a candidate column is named twice: {', '.join(named.candidates)}")
    reference = named.reference or _preferred("reference", columns, taken_columns)
    if reference is None:
        raise _no_reference(file, columns)
    id_ = named.id or _preferred("id", columns, [*taken_columns, reference])
    free_columns = [name for name in columns if name not in (*taken_columns, reference, id_)]
    by_name = columns_by_name(columns)
    rated_columns = tuple(name for name in free_columns if f"scoring_{normalised(name)}" in by_name)
    named_candidates = tuple(name for name in free_columns if _is_candidate(normalised(name)))
    candidates = named.candidates or rated_columns or named_candidates
    candidates = candidates or _like_reports(table, reference, free_columns, file)
    system = named.system
    if system is None and len(candidates) == 1:
        system = _preferred("system", free_columns, candidates)
    if table.keyed:
        id_ = named.id
    elif id_ is None:
        id_ = _naming(table, free_columns, (*candidates, system), system)
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
    """Choose the columns of a table of single texts, guessing those that were not named."""
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
    taken_columns = {image, specimen, *augmented, *attacked} - {text, id_}
    text = text or _preferred("report", columns, tuple(taken_columns))
    layout = text_layout_of(table, text, id_, file, tuple(taken_columns))
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
    """Return the references of a row, or the fault of one of them.

    A list of texts is that many references where `several` says so. Of numbered columns those that
    are empty are passed over, as long as one is not.
    """
    cells = [values.get(column)]
    if not several and (count := len(_items(cells[0]))):
        return Fault("reference_list", {"count": count, "way": how_to_take()})
    if several and layout.more_references:
        cells += [values.get(name) for name in layout.more_references]
        kinds = [getattr(text_of(cell), "kind", "") for cell in cells]
        filled_cells = [
            cell for cell, kind in zip(cells, kinds, strict=True) if kind not in _NOTHING
        ]
        cells = filled_cells or cells[:1]
    texts = [text_of(text) for cell in cells for text in (_items(cell) or [cell])]
    fault = next((text for text in texts if isinstance(text, Fault)), None)
    return fault or tuple(text for text in texts if isinstance(text, str))


def how_to_take() -> str:
    """Advise the option for several references, if the caller has one."""
    option = argument("several_references", "best") or argument("references", "best")
    return option and f", or take several together: {option}"


def _items(cell: object) -> Sequence[object]:
    return cell if isinstance(cell, list | tuple) and not isinstance(cell, Fault) else ()


def notes_on(layout: Layout, named: Columns, *, keyed: bool) -> tuple[str, ...]:
    """Note the guessed columns, and that rows are numbered if no column names them."""
    roles: dict[str, Sequence[str | None]] = {
        "id": [] if named.id else [layout.id],
        "reference": [] if named.reference else [layout.reference],
        "candidate": [] if named.candidates else layout.candidates,
        "system": [] if named.system else [layout.system],
    }
    several_note = " (a system each)" if len(roles["candidate"]) > 1 else ""
    notes = [note + several_note for note in taken_note(roles)]
    if layout.id is None and not keyed:
        option = argument("id_column", "NAME")
        notes.append(
            "no column of ids: rows are numbered from 0" + (option and f"; name one: {option}")
        )
    return tuple(notes)


def taken_note(guessed: Mapping[str, Sequence[str | None]]) -> list[str]:
    taken_columns = [
        f"{', '.join(map(repr, names))} as {role}"
        for role, names in guessed.items()
        if names and names[0] is not None
    ]
    return [shown(f"columns used: {', '.join(taken_columns)}")] if taken_columns else []


def demand_columns(named: Sequence[str | None], columns: Sequence[str], file: str | Path) -> None:
    for name in named:
        if name is not None and name not in columns:
            hint = did_you_mean(name, columns)
            raise InputError(f"{file} has no column {name!r}{hint}{columns_found(columns)}")


def columns_by_name(columns: Sequence[str]) -> dict[str, str]:
    """Map normalised names to columns; of two equal ones, the left."""
    return {normalised(name): name for name in reversed(columns)}


def recognised(columns: Sequence[str], named: Columns) -> int:
    """Count the names that are known or were named: a measure of being a header."""
    named_columns = {named.reference, *named.candidates, named.id, named.system}
    known_names = _names_of(*HEADINGS)
    return sum(name in named_columns or normalised(name) in known_names for name in columns)


def numbered_columns(columns: Sequence[str], *roles: str) -> tuple[str, ...]:
    """List the numbered columns of a role, as `reference_1`, with the one without a number."""
    known_names = _names_of(*roles)
    return tuple(
        name for name in columns if normalised(name).rstrip(digits).rstrip("_") in known_names
    )


def _numbered_references(
    columns: Sequence[str], requested: str | None, *roles: str
) -> tuple[str, ...]:
    """List the columns of several references, unless one column was named."""
    numbered = numbered_columns(columns, *roles) if requested is None else ()
    return numbered if len(numbered) > 1 else ()


def normalised(name: str) -> str:
    """Normalise a column name: `Ground Truth` and `ground-truth` are the same."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _names_of(*roles: str) -> list[str]:
    names = load_toml("io/tables/columns.toml")
    return [name for role in roles for name in names[role]]


def _preferred(
    role: str, columns: Sequence[str], taken_columns: Sequence[str | None] = ()
) -> str | None:
    """Return the column with the most preferred name for a role; of equal ones, the left."""
    by_name = columns_by_name([name for name in columns if name not in taken_columns])
    return next((by_name[name] for name in _names_of(role) if name in by_name), None)


def _is_candidate(name: str) -> bool:
    """True for the name of a candidate, with or without a system behind it."""
    known_names = _names_of("candidate")
    suffixes = [
        name.removeprefix(f"{known_name}_")
        for known_name in known_names
        if name.startswith(f"{known_name}_")
    ]
    last_words = {suffix.rpartition("_")[2] for suffix in suffixes}
    has_excluded_word = not last_words.isdisjoint(_names_of("not_a_system"))
    return name in known_names or (bool(suffixes) and not has_excluded_word)


def _like_reports(
    table: RecordTable, reference: str, free_columns: Sequence[str], file: str
) -> tuple[str, ...]:
    """List columns whose content looks like reports, if no name tells them.

    A column counts if its texts share words with the references beside them and are not much
    shorter. Where another column of texts could be meant as well, the user must say which.
    """
    other_roles = _names_of("id", "system", "name")
    words = set(_names_of("not_a_report"))
    possible_columns = [
        name
        for name in free_columns
        if normalised(name) not in other_roles and words.isdisjoint(normalised(name).split("_"))
    ]
    rows = [
        record.values
        for record in islice(table.read((reference, *possible_columns)), ROWS_LOOKED_AT)
        if record.values is not None
    ]
    is_like: dict[str, bool] = {}
    for name in possible_columns:
        pairs = [(row.get(reference), row.get(name)) for row in rows]
        texts = [
            (reference_text, candidate_text)
            for reference_text, candidate_text in pairs
            if isinstance(reference_text, str) and isinstance(candidate_text, str)
        ]
        if 2 * sum(len(text.split()) > 1 for _, text in texts) <= len(rows):
            continue  # most cells hold no text of at least two words, and so no report
        word_sets = [[set(_WORD.findall(text.casefold())) for text in pair] for pair in texts]
        overlap = median(
            len(reference_words & candidate_words)
            / max(1, min(len(reference_words), len(candidate_words)))
            for reference_words, candidate_words in word_sets
        )
        lengths = [
            median(len(text.split()) for text in column_texts)
            for column_texts in zip(*texts, strict=True)
        ]
        is_like[name] = overlap >= SHARED and lengths[1] >= SHARED * lengths[0]
    if not is_like or not all(is_like.values()):
        raise _no_column(file, "candidate", table.columns, tuple(is_like))
    return tuple(is_like)


def _naming(
    table: RecordTable,
    columns: Sequence[str],
    taken_columns: Sequence[str | None],
    system: str | None,
) -> str | None:
    """Find a column that names rows: called so, and unique for each system."""
    free_columns = [name for name in columns if name not in taken_columns]
    id_columns = [
        name
        for usual_name in _names_of("name")
        for name in free_columns
        if normalised(name) == usual_name
    ]
    id_columns += [
        name for name in free_columns if normalised(name).rpartition("_")[2] in ("id", "uid")
    ]
    for column in dict.fromkeys(id_columns):
        rows = table.read((column, *([system] if system else ())))
        names = [
            (record.values.get(column), record.values.get(system or ""))
            for record in rows
            if record.values is not None
        ]
        if all(isinstance(name, str | int) for name, _ in names) and len(set(names)) == len(names):
            return column
    return None


def _guessed_text(columns: Sequence[str], taken_columns: Sequence[str | None], file: str) -> str:
    """Return the column called text, or the only one with another usual name."""
    usual_names = _names_of("text", "reference")
    plain_names = {name: normalised(name) for name in columns if name not in taken_columns}
    text_columns = [
        name
        for name, plain_name in plain_names.items()
        if plain_name in usual_names or _is_candidate(plain_name)
    ]
    guesses = [name for name in text_columns if plain_names[name] == "text"] or text_columns
    if len(guesses) == 1:
        return guesses[0]
    if len(numbered_columns(guesses or columns, "reference")) > 1:
        raise _no_reference(file, columns)
    problem = "more than one column that may hold the text" if guesses else "no column for the text"
    raise InputError(f"{file} has {problem}; {_name_it('text')}{columns_found(guesses or columns)}")


def _readable(layout: L, file: str) -> L:
    for name in layout.columns:
        if shown(name) != name:
            raise InputError(
                f"the column name {shown(name)!r} of {file} cannot be read: {save_as_utf8()}"
            )
    return layout


def _no_reference(file: str, columns: Sequence[str]) -> InputError:
    numbered = numbered_columns(columns, "reference")
    if len(numbered) < 2:
        return _no_column(file, "reference", columns)
    return InputError(
        f"{file} has several columns of references ({', '.join(map(shown, numbered))}); "
        f"{_name_it('reference')}{how_to_take()}"
    )


def _no_column(
    file: str, role: str, columns: Sequence[str], likely: Sequence[str] = ()
) -> InputError:
    suggestion = f" (perhaps {' or '.join(map(repr, likely))})" if likely else ""
    return InputError(
        f"{file} has no column for the {role}{suggestion}; {_name_it(role)}{columns_found(columns)}"
    )


def _name_it(role: str) -> str:
    """Advise the argument that names the column, or else the name that it should have."""
    option = argument(f"{role}_column", "NAME")
    default_name = "report" if role == "text" else role
    return f"name it: {option}" if option else f"call it {default_name!r}"


def columns_found(columns: Sequence[str]) -> str:
    """List the existing columns, for a message about a missing one."""
    names = [shown(name if len(name) <= 40 else f"{name[:40]}…") for name in columns[:20]]
    return f". Columns found: {', '.join(map(repr, names))}{' …' if len(columns) > 20 else ''}"

"""Which columns of a table hold the reference, the candidates, the id, the system, or the text."""

import difflib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.tables.formats import RecordTable
from histoeval.io.tables.row_faults import shown
from histoeval.report import Noun
from histoeval.resources import load_toml


class Columns(Noun):
    """The columns that the user named; the others are guessed."""

    reference: str | None = None
    candidates: tuple[str, ...] = ()
    id: str | None = None
    system: str | None = None


class TableLayout(Noun):
    """The columns of one table, settled, by what they hold."""

    id: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that must be read."""
        roles = dict(self).values()
        named = [name for role in roles for name in (role if isinstance(role, tuple) else (role,))]
        return tuple(dict.fromkeys(name for name in named if name is not None))


class Layout(TableLayout):
    """The columns of a table of pairs.

    Each candidate column is a system and gives it its name, unless a column of its own names the
    system of each row.
    """

    reference: str
    candidates: tuple[str, ...]
    system: str | None = None


class TextLayout(TableLayout):
    """The columns of a table with one text in each row."""

    text: str


def layout_of(table: RecordTable, named: Columns, file: str) -> Layout:
    """Settle the columns of a table: those that were named, and a guess at the others.

    Rows that bring their id with them need no column for it.
    """
    found = table.columns
    explicit = (named.reference, *named.candidates, named.id, named.system)
    demand_columns(explicit, found, file)
    if len(set(named.candidates)) < len(named.candidates):
        raise InputError(f"a candidate column is named twice: {', '.join(named.candidates)}")
    reference = named.reference or _first("reference", _besides(found, explicit))
    if reference is None:
        raise _no_column(file, "the reference", "--reference NAME", found)
    id_ = named.id or _first("id", _besides(found, (*explicit, reference)))
    others = _besides(found, (*explicit, reference, id_))
    candidates = named.candidates or _rated(found, others) or _candidates(others)
    if not candidates:
        raise _no_column(file, "the candidate", "--candidate NAME", found)
    system = named.system or _guessed_system(_besides(others, candidates), candidates)
    id_ = named.id if table.keyed else id_
    layout = Layout(reference=reference, candidates=candidates, id=id_, system=system)
    _check(layout, file)
    return layout


def text_layout_of(
    table: RecordTable,
    text: str | None,
    id_: str | None,
    file: str,
    taken: Sequence[str | None] = (),
) -> TextLayout:
    """Settle the columns of a table of single texts, guessing those that were not named.

    Columns that are taken by something else are not guessed at.
    """
    found = table.columns
    demand_columns((text, id_), found, file)
    text = text or _guessed_text(_besides(found, (id_, *taken)), found, file)
    guessed = None if table.keyed else _first("id", _besides(found, (text, *taken)))
    layout = TextLayout(text=text, id=id_ or guessed)
    _check_spelling(layout.columns, file)
    return layout


def demand_columns(named: Sequence[str | None], found: Sequence[str], file: str | Path) -> None:
    """Every column that was named must be there."""
    for name in named:
        if name is not None and name not in found:
            near = _nearest(name, found)
            raise InputError(f"{file} has no column {name!r}{near}{columns_found(found)}")


def columns_by_name(found: Sequence[str]) -> dict[str, str]:
    """Columns by their names as these are compared; of two equal ones, the left."""
    return {normalised(name): name for name in reversed(found)}


def recognised(found: Sequence[str], named: Columns) -> int:
    """How many of these names are known or were named: a measure of being a header."""
    wanted = {named.reference, *named.candidates, named.id, named.system}
    known = {alias for names in _aliases().values() for alias in names}
    return sum(name in wanted or normalised(name) in known for name in found)


def normalised(name: str) -> str:
    """A column name as it is compared: `Ground Truth` and `ground-truth` are the same."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _first(role: str, found: Sequence[str]) -> str | None:
    """The column with the most preferred name for a role; of two equal ones, the left."""
    for alias in _aliases()[role]:
        for name in found:
            if normalised(name) == alias:
                return name
    return None


def _candidates(found: Sequence[str]) -> tuple[str, ...]:
    """Every column called a candidate, with or without the name of a system behind it."""
    return tuple(name for name in found if _is_candidate(normalised(name)))


def _is_candidate(name: str) -> bool:
    aliases = _aliases()["candidate"]
    if name in aliases:
        return True
    rests = [name.removeprefix(f"{alias}_") for alias in aliases if name.startswith(f"{alias}_")]
    last_words = {rest.rpartition("_")[2] for rest in rests}
    return bool(rests) and last_words.isdisjoint(_aliases()["not_a_system"])


def _rated(found: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The candidate columns of an expert sheet: those with a column `Scoring NAME` beside them."""
    names = {normalised(name) for name in found}
    return tuple(name for name in others if f"scoring_{normalised(name)}" in names)


def _guessed_system(found: Sequence[str], candidates: Sequence[str]) -> str | None:
    """A column that names the system of each row makes sense with one candidate column only."""
    return _first("system", found) if len(candidates) == 1 else None


def _guessed_text(free: Sequence[str], found: Sequence[str], file: str) -> str:
    """The column called text, or the only one that has one of the other usual names."""
    usual = {*_aliases()["text"], *_aliases()["reference"]}
    named = [n for n in free if normalised(n) in usual or _is_candidate(normalised(n))]
    plain = [n for n in named if normalised(n) == "text"]
    guesses = plain or named
    if len(guesses) == 1:
        return guesses[0]
    what = "more than one column that may hold the text" if guesses else "no column for the text"
    raise InputError(f"{file} has {what}; name it: --text NAME{columns_found(guesses or found)}")


def _check(layout: Layout, file: str) -> None:
    if layout.system is not None and len(layout.candidates) > 1:
        raise InputError(
            f"in {file}, {layout.system!r} is to name the system of each row, and there are "
            f"{len(layout.candidates)} candidate columns ({', '.join(layout.candidates)}): "
            "name the one that holds the texts with --candidate NAME"
        )
    _check_spelling(layout.columns, file)


def _check_spelling(columns: Sequence[str], file: str) -> None:
    for name in columns:
        if shown(name) != name:
            raise InputError(
                f"the column name {shown(name)!r} of {file} cannot be read: save the file as "
                "UTF-8, or say how it is encoded, for example --encoding latin-1"
            )


def _no_column(file: str, role: str, option: str, found: Sequence[str]) -> InputError:
    return InputError(f"{file} has no column for {role}; name it: {option}{columns_found(found)}")


def _besides(found: Sequence[str], taken: Sequence[str | None]) -> list[str]:
    return [name for name in found if name not in taken]


def _nearest(name: str, found: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, found, n=1)
    return f" (did you mean {shown(near[0])!r}?)" if near else ""


def columns_found(found: Sequence[str]) -> str:
    """The columns there are, for whoever has named one that is not."""
    names = [shown(name if len(name) <= 40 else f"{name[:40]}…") for name in found[:20]]
    return f". Columns found: {', '.join(map(repr, names))}{' …' if len(found) > 20 else ''}"


@cache
def _aliases() -> dict[str, list[str]]:
    return load_toml("io/tables/columns.toml")

"""What was read in a report, shown in its text: in colours, or in brackets where there are none."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from histoeval.io.results import ReadRow
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.resources import resource_text

BEFORE = {Assertion.ABSENT: "¬"}
AFTER = {Assertion.UNCERTAIN: "?"}
MARKS = "¬ absent, ? uncertain"

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_C1 = dict.fromkeys(range(0x80, 0xA0), "\N{REPLACEMENT CHARACTER}")
_VISIBLE = {**_PICTURES, **_C1, ord("\n"): "\n", ord("\t"): "\t", ord("\r"): "", ord("\f"): "\n"}
"""Control characters can do anything to a terminal: a picture of each is shown in its place."""


class _Piece(NamedTuple):
    """A stretch of the text between two borders of entities, and the entities over it."""

    text: str
    over: tuple[Entity, ...]
    starting: tuple[Entity, ...]
    ending: tuple[Entity, ...]


_ENOUGH_COLOURS = {"256", "truecolor"}
"""With sixteen colours some types would look alike, and others could not be read."""


def show_rows(console: Console, rows: Iterable[ReadRow]) -> None:
    """Print reports below each other, and once what the colours and marks mean."""
    in_colour = console.color_system in _ENOUGH_COLOURS and not console.no_color
    console.print(_legend() if in_colour else Text(f"[text](type), {MARKS}"))
    for row in rows:
        console.print()
        console.print(Text(_visible(row.id), style="bold"))
        if row.report is None:
            for error in row.errors:
                console.print(Text(_visible(error.message), style="red"))
        else:
            body = coloured(row.report) if in_colour else bracketed(row.report)
            console.print(body, soft_wrap=not console.is_terminal)
            for line in relation_lines(row.report):
                console.print(line, soft_wrap=True)


def coloured(report: Report) -> Text:
    """The text with each entity in the colour of its type; of nested ones the inner is seen."""
    shown = Text()
    for piece in _pieces(report):
        inner = min(piece.over, key=lambda e: e.end - e.start, default=None)
        style = Style() if inner is None else _style(inner)
        for entity in piece.starting:
            shown.append(BEFORE.get(entity.assertion, ""), _style(entity))
        shown.append(_visible(piece.text), style)
        for entity in piece.ending:
            shown.append(AFTER.get(entity.assertion, ""), _style(entity))
    return shown


def bracketed(report: Report) -> Text:
    """The text with each entity as ``[text](type)``."""
    shown = Text()
    for piece in _pieces(report):
        for entity in piece.starting:
            shown.append(f"[{BEFORE.get(entity.assertion, '')}")
        shown.append(_visible(piece.text))
        for entity in piece.ending:
            shown.append(f"{AFTER.get(entity.assertion, '')}]({entity.type})")
    return shown


def relation_lines(report: Report) -> Iterator[Text]:
    """A line for each relation, in the order of the text: ``HER2 → negative 0.97``."""
    ends = [(report.entities[r.head], report.entities[r.tail], r.score) for r in report.relations]
    for head, tail, score in sorted(ends, key=lambda end: (end[0].start, end[1].start)):
        yield Text(f"  {_named(head)} → {_named(tail)} {score:.2f}")


def _legend() -> Text:
    names = [Text(kind, _type_style(kind)) for kind in EntityType]
    return Text(" ").join([*names, Text(MARKS)])


def _named(entity: Entity) -> str:
    """An entity on one line, with the mark of its assertion."""
    text = " ".join(_visible(entity.text).split())
    return f"{BEFORE.get(entity.assertion, '')}{text}{AFTER.get(entity.assertion, '')}"


def _pieces(report: Report) -> Iterator[_Piece]:
    """The text cut at every border of an entity, the outer of two entities opening first."""
    starts: dict[int, list[Entity]] = {}
    for entity in sorted(report.entities, key=lambda e: -e.end):
        starts.setdefault(entity.start, []).append(entity)
    ends = {entity.end for entity in report.entities}
    over: list[Entity] = []
    for start, end in pairwise(sorted({0, len(report.text), *starts, *ends})):
        starting = starts.get(start, [])
        over += starting
        ending = [entity for entity in reversed(over) if entity.end == end]
        yield _Piece(report.text[start:end], tuple(over), tuple(starting), tuple(ending))
        over = [entity for entity in over if entity.end > end]


def _visible(text: str) -> str:
    return text.translate(_VISIBLE)


def _style(entity: Entity) -> Style:
    struck = Style(strike=True) if entity.assertion is Assertion.ABSENT else Style()
    return _type_style(entity.type) + struck


@cache
def _type_style(kind: EntityType) -> Style:
    """The colour that the type has in Label Studio too, under letters that can be read on it."""
    table = resource_text("io/annotation/label_studio.toml")
    ground = Color.parse(tomllib.loads(table)[kind])
    red, green, blue = ground.get_truecolor()
    light = 0.299 * red + 0.587 * green + 0.114 * blue
    return Style(bgcolor=ground.name, color="black" if light > 128 else "white")

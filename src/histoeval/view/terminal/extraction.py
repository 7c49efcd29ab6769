"""Extracted entities in a terminal: highlighted in the report text, and counted."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from rich.color import Color
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from histoeval.io.results import ReadRow
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.resources import load_toml
from histoeval.table import ResultTable
from histoeval.view import highlight

BEFORE = {Assertion.ABSENT: "¬"}
AFTER = {Assertion.UNCERTAIN: "?"}
MARKS = "¬ absent, ? uncertain"
# how an entity is marked on a page
KINDS = {Assertion.PRESENT: "matched", Assertion.ABSENT: "denied", Assertion.UNCERTAIN: "unknown"}


def show_rows(console: Console, rows: Iterable[ReadRow]) -> None:
    in_colour = highlight.has_colours(console)
    names = [Text(kind, _type_style(kind)) for kind in EntityType]
    legend = Text(" ").join([*names, Text(MARKS)])
    console.print(legend if in_colour else Text(f"[text](type), {MARKS}"))
    for row in rows:
        console.print()
        console.print(Text(highlight.legible(row.id), style="bold"))
        if row.report is None:
            for error in row.errors:
                console.print(Text(highlight.legible(error.message), style="red"))
        else:
            spans = entity_spans(row.report)
            if in_colour:  # which tells the types
                spans = [span._replace(label="") for span in spans]
            draw = highlight.coloured if in_colour else highlight.in_brackets
            console.print(draw(row.report.text, spans), soft_wrap=not console.is_terminal)
            for line in relation_lines(row.report):
                console.print(Text(line), soft_wrap=True)


def relation_lines(report: Report) -> list[str]:
    """Return a line for each relation in the order of the text: ``HER2 → negative 0.97``."""
    ends = [(report.entities[r.head], report.entities[r.tail], r.score) for r in report.relations]
    return [
        f"  {marked_entity(head)} → {marked_entity(tail)} {score:.2f}"
        for head, tail, score in sorted(ends, key=lambda end: (end[0].start, end[1].start))
    ]


def marked_entity(entity: Entity) -> str:
    before, after = BEFORE.get(entity.assertion, ""), AFTER.get(entity.assertion, "")
    return f"{before}{highlight.one_line(entity.text)}{after}"


def extraction_table(summary: dict[str, Any], rows_read: int, seconds: float) -> RenderableType:
    counts = {
        "rows": summary["rows"],
        "rows with errors": summary["rows_with_errors"],
        **summary["entities"],
        "all entities": sum(summary["entities"].values()),
        **summary["relations"],
        "all relations": sum(summary["relations"].values()),
    }
    table = ResultTable(
        f"{summary['input']['name']}: extracted",
        ["", "found"],
        [(name, f"{count:,}") for name, count in counts.items()],
    )
    speed = "Nothing was left to read"
    if rows_read:
        rate = rows_read / max(seconds, 1e-9)
        speed = f"{rows_read:,} rows in {seconds:.1f} s, {rate:,.1f} reports per second"
    if before := summary["rows"] - rows_read:
        speed += f"; {before:,} rows were there already"
    return Group(table, *map(Text, [*summary["input"]["notes"], speed]))


def entity_spans(report: Report) -> list[highlight.HighlightSpan]:
    """Return the span of every entity: coloured by type, and on a page marked by assertion."""
    return [
        highlight.HighlightSpan(
            entity.start,
            entity.end,
            label=entity.type,
            style=_type_style(entity.type)
            + Style(strike=entity.assertion is Assertion.ABSENT or None),
            before=BEFORE.get(entity.assertion, ""),
            after=AFTER.get(entity.assertion, ""),
            kind=KINDS[entity.assertion],
            mark=f"n{n}",
        )
        for n, entity in enumerate(report.entities, start=1)
    ]


@cache
def _type_style(kind: EntityType) -> Style:
    """Return the colour of the type in Label Studio, under legible letters."""
    ground = Color.parse(load_toml("view/entity_colours.toml")[kind])
    red, green, blue = ground.get_truecolor()
    light = 0.299 * red + 0.587 * green + 0.114 * blue
    return Style(bgcolor=ground.name, color="black" if light > 128 else "white")

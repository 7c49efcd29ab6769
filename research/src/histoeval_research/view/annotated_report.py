"""An extracted report as a figure: its words, entities and relations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.view.figures.canvas import (
    DARK_YELLOW,
    FAINT,
    INK,
    LARGE,
    NORMAL,
    PALETTE,
    PAPER,
    SMALL,
    Canvas,
    drawable,
    drawing,
    finished,
    mix,
    page,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE, MARGIN, LEADING = 520.0, 24.0, 27.0
FIRST_LINE = 52.0
SPACE = 3.0
"""Between words, in points."""

TYPE_COLOURS = dict(
    zip(
        EntityType,
        (*PALETTE[:6], PALETTE[7], DARK_YELLOW, "#7f7f7f", "#b2dfdb"),
        strict=True,
    )
)


@dataclass(frozen=True)
class _Word:
    """A word and its place; `kind` is the label below the first word of an entity."""

    text: str
    x: float
    y: float
    width: float
    entity: Entity | None
    kind: str


@drawing
def annotated(report: Report, title: str) -> Canvas:
    """A report with entities on their colour and the type below, then relations."""
    words = list(_placed(report))
    bottom = max((word.y for word in words), default=FIRST_LINE) + LEADING
    lines = _relations(report)
    figure, axes = page(PAGE, bottom + 20 + 12 * len(lines) + MARGIN)
    axes.text(MARGIN, 22, drawable(title), size=LARGE)
    for word in words:
        _write(axes, word)
    if lines:
        axes.plot([MARGIN, PAGE - MARGIN], [bottom, bottom], color=FAINT, linewidth=0.5)
    for place, line in enumerate(lines):
        axes.text(MARGIN, bottom + 16 + 12 * place, drawable(line), size=SMALL, color=FAINT)
    return finished(figure, title, report.text)


def _placed(report: Report) -> Iterator[_Word]:
    """The words of a report from left to right; labels do not overlap."""
    x, y, free = MARGIN, FIRST_LINE, MARGIN
    named: set[Entity] = set()
    for start, end in _word_spans(report.text):
        if start < 0:
            x, y, free = MARGIN, y + LEADING, MARGIN
            continue
        entity = _innermost(report, start, end)
        kind = "" if entity is None or entity in named else _kind(entity)
        x = max(x, free) if kind else x
        text = drawable(report.text[start:end])
        wide = width_of(text, NORMAL)
        if x + max(wide, width_of(kind, SMALL)) > PAGE - MARGIN and x > MARGIN:
            x, y, free = MARGIN, y + LEADING, MARGIN
        if entity is not None and kind:
            named.add(entity)
            free = x + width_of(kind, SMALL) + SPACE
        yield _Word(text, x, y, wide, entity, kind)
        x += wide + SPACE


def _innermost(report: Report, start: int, end: int) -> Entity | None:
    """The shortest entity over any of these characters."""
    over = [each for each in report.entities if each.start < end and start < each.end]
    return min(over, key=lambda each: each.end - each.start, default=None)


def _write(axes: Axes, word: _Word) -> None:
    """Draw a word, on a colour if it is of an entity."""
    x, y = word.x, word.y
    if word.entity is not None:
        right = x + word.width + SPACE
        tint = mix(TYPE_COLOURS[word.entity.type], PAPER, 0.6)
        axes.fill([x - 1, right, right, x - 1], [y - 9, y - 9, y + 3, y + 3], color=tint)
        axes.text(x, y + 11.5, word.kind, size=SMALL, color=INK)
    axes.text(x, y, word.text, size=NORMAL)


def _word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each word; -1 for a new line."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        place = at
        for word in line.split():
            place = text.index(word, place)
            spans.append((place, place + len(word)))
            place += len(word)
        spans.append((-1, -1))
        at += len(line)
    return spans


def _kind(entity: Entity) -> str:
    assertion = "" if entity.assertion is Assertion.PRESENT else f", {entity.assertion}"
    return f"{entity.type}{assertion}"


def _relations(report: Report) -> list[str]:
    return [
        f"{_one_line(report.entities[r.head].text)} → {_one_line(report.entities[r.tail].text)}"
        for r in report.relations
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())

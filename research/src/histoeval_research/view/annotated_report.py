"""An extracted report as a figure: its words, entities and relations."""

from __future__ import annotations

import re
from collections.abc import Iterator

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

PAGE, MARGIN, LEADING = 520.0, 24.0, 27.0
FIRST_LINE = 52.0
SPACE = 3.0  # between words, in points

COLOURS = (*PALETTE[:6], PALETTE[7], DARK_YELLOW, "#7f7f7f", "#b2dfdb")
TYPE_COLOURS = dict(zip(EntityType, COLOURS, strict=True))

# A word, its place, its entity, and the label below the first word of that
Word = tuple[str, float, float, Entity | None, str]


@drawing
def annotated(report: Report, title: str) -> Canvas:
    words = list(_placed(report))
    bottom = max((y for _, _, y, _, _ in words), default=FIRST_LINE) + LEADING
    texts = [" ".join(entity.text.split()) for entity in report.entities]
    lines = [f"{texts[r.head]} → {texts[r.tail]}" for r in report.relations]
    figure, axes = page(PAGE, bottom + 20 + 12 * len(lines) + MARGIN)
    axes.text(MARGIN, 22, drawable(title), size=LARGE)
    for text, x, y, entity, label in words:
        if entity is not None:
            right = x + width_of(text, NORMAL) + SPACE
            tint = mix(TYPE_COLOURS[entity.type], PAPER, 0.6)
            axes.fill([x - 1, right, right, x - 1], [y - 9, y - 9, y + 3, y + 3], color=tint)
            axes.text(x, y + 11.5, label, size=SMALL, color=INK)
        axes.text(x, y, text, size=NORMAL)
    if lines:
        axes.plot([MARGIN, PAGE - MARGIN], [bottom, bottom], color=FAINT, linewidth=0.5)
    for place, line in enumerate(lines):
        axes.text(MARGIN, bottom + 16 + 12 * place, drawable(line), size=SMALL, color=FAINT)
    return finished(figure, title, report.text)


def _placed(report: Report) -> Iterator[Word]:
    """The words of a report from left to right; labels do not overlap."""
    y, at = FIRST_LINE - LEADING, 0
    named: set[Entity] = set()
    for line in report.text.splitlines(keepends=True):
        x, y, free = MARGIN, y + LEADING, MARGIN
        for word in re.finditer(r"\S+", line):
            start, end = at + word.start(), at + word.end()
            over = [e for e in report.entities if e.start < end and start < e.end]
            entity = min(over, key=lambda e: e.end - e.start, default=None)
            label = ""
            if entity is not None and entity not in named:
                is_present = entity.assertion is Assertion.PRESENT
                label = f"{entity.type}{'' if is_present else f', {entity.assertion}'}"
            x = max(x, free) if label else x
            text = drawable(word[0])
            wide = width_of(text, NORMAL)
            if x + max(wide, width_of(label, SMALL)) > PAGE - MARGIN and x > MARGIN:
                x, y, free = MARGIN, y + LEADING, MARGIN
            if entity is not None and label:
                named.add(entity)
                free = x + width_of(label, SMALL) + SPACE
            yield text, x, y, entity, label
            x += wide + SPACE
        at += len(line)

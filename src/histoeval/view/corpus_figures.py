"""Figures of corpora: what their words are, how far apart they lie, and a report as it was read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.view.axes import LARGE, NORMAL, SMALL, Axes, spread, steps
from histoeval.view.drawing import (
    FAINT,
    INK,
    PALETTE,
    PAPER,
    Area,
    Drawing,
    Label,
    Line,
    box,
    mix,
)
from histoeval.view.letters import width_of
from histoeval.view.words import Vectors, density

CLOUD = (480.0, 300.0)
LARGEST, SMALLEST = 44.0, 7.5
MOST_WORDS = 90
FILLED = 0.5
GRID = 56
LEVELS = (0.15, 0.4, 0.7)
"""Shares of the highest density at which a colour grows stronger."""

PAGE, MARGIN, LEADING = 520.0, 24.0, 21.0


@cache
def stopwords() -> frozenset[str]:
    """Words that say nothing of what a report is about."""
    lines = files(__package__).joinpath("stopwords.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


def word_cloud(counts: Mapping[str, int], title: str) -> Drawing:
    """The most frequent words, larger where they are more so; none covers another."""
    width, height = CLOUD
    drawing = Drawing(width, height + 30, title)
    drawing.add(Label(width / 2, 20, title, LARGE, "middle"))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]
    taken: list[tuple[float, float, float, float]] = []
    largest = _largest(ordered)
    shown = []
    for place, (word, often) in enumerate(ordered):
        size = max(SMALLEST, largest * math.sqrt(often / ordered[0][1]))
        if (spot := _free_spot(width_of(word, size), size, taken)) is not None:
            taken.append(spot)
            colour = PALETTE[place % 5] if PALETTE[place % 5] != "#e69f00" else "#8a5f00"
            drawing.add(Label(spot[0], spot[1] + 0.78 * size + 30, word, size, "start", colour))
            shown.append(f"{word} {often}")
    drawing.description = f"Most frequent words: {', '.join(shown)}"
    return drawing


def _largest(ordered: Sequence[tuple[str, int]]) -> float:
    """The size of the first word with which all together fill about half of the cloud."""
    shares = [(width_of(word, 1.0), often / ordered[0][1]) for word, often in ordered]
    needed = sum(wide * share for wide, share in shares)
    return min(LARGEST, math.sqrt(FILLED * CLOUD[0] * CLOUD[1] / needed)) if needed else LARGEST


def _free_spot(
    wide: float, size: float, taken: Sequence[tuple[float, float, float, float]]
) -> tuple[float, float, float, float] | None:
    """Left, top, width and height of the first free place on a spiral from the middle."""
    width, height = CLOUD
    for step in range(3000):
        angle, reach = step * 0.35, 0.42 * step**0.85
        left = width / 2 + reach * math.cos(angle) - wide / 2
        top = height / 2 + 0.62 * reach * math.sin(angle) - size / 2
        if left < 4 or top < 4 or left + wide > width - 4 or top + size > height - 4:
            continue
        if not any(
            left < x + w and x < left + wide and top < y + h and y < top + size
            for x, y, w, h in taken
        ):
            return left, top, wide, size
    return None


def word_map(
    points: Vectors, words: Sequence[str], often: Mapping[str, Sequence[int]], title: str
) -> Drawing:
    """Words of two corpora in two dimensions, and where the words of each are dense.

    `often` says for each corpus how often it has each word.
    """
    drawing = Drawing(470, 420, title, f"Word embeddings of {' and '.join(often)}")
    drawing.add(Label(drawing.width / 2, 18, title, LARGE, "middle"))
    axes = Axes(
        drawing, 60, 46, 380, 320, spread(points[:, 0].tolist()), spread(points[:, 1].tolist())
    )
    axes.ticks_below(steps(*axes.x))
    axes.ticks_beside(steps(*axes.y))
    colours = dict(zip(often, (PALETTE[4], PALETTE[0]), strict=True))
    for name, counts in often.items():
        _shade(axes, points, np.array(counts, dtype=np.float64), colours[name])
    shares = {name: np.array(counts) / max(1, sum(counts)) for name, counts in often.items()}
    first, second = often
    for at in range(len(words)):
        mine = first if shares[first][at] >= shares[second][at] else second
        axes.dot(float(points[at, 0]), float(points[at, 1]), colours[mine], 1.5, 0.8)
    _name_some(axes, points, words, shares)
    axes.frame("", "first principal component", "second principal component")
    x = axes.left
    for name, colour in colours.items():
        label = Label(x + 11, 38, name, SMALL)
        drawing.add(Area(box(x, 32, 8, 6), colour), label)
        x += label.width + 30
    return drawing


def _shade(axes: Axes, points: Vectors, weights: Vectors, colour: str) -> None:
    """Cells of a grid, darker in steps where words are denser."""
    across, down = (np.linspace(*span, GRID) for span in (axes.x, axes.y))
    found = density(points, weights, across, down)
    found /= found.max()
    wide, high = across[1] - across[0], down[1] - down[0]
    for row, column in zip(*np.nonzero(found >= LEVELS[0]), strict=True):
        level = sum(found[row, column] >= least for least in LEVELS)
        sides = np.clip(across[column] + np.array([-0.5, 0.5]) * wide, *axes.x).tolist()
        ends = np.clip(down[row] + np.array([-0.5, 0.5]) * high, *axes.y).tolist()
        corners = [(sides[i], ends[j]) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]
        axes.area(corners, colour, 0.13 * level)


def _name_some(
    axes: Axes, points: Vectors, words: Sequence[str], shares: Mapping[str, Vectors]
) -> None:
    """Names beside the most frequent words, where there is room."""
    most = np.max(list(shares.values()), axis=0)
    taken: list[tuple[float, float, float]] = []
    for at in np.argsort(-most, kind="stable")[:60]:
        x, y = axes.at(float(points[at, 0]), float(points[at, 1]))
        label = Label(x + 3, y + 2.5, words[at], 6.5)
        clear = all(abs(y - b) > 7 or x + label.width < a or a + wide < x for a, b, wide in taken)
        if clear and x + label.width < axes.left + axes.width:
            taken.append((x, y, label.width))
            axes.drawing.add(label)


TYPE_COLOURS = dict(
    zip(
        EntityType,
        (*PALETTE[:6], PALETTE[7], "#8a5f00", "#7f7f7f", "#b2dfdb"),
        strict=True,
    )
)


def annotated(report: Report, title: str) -> Drawing:
    """A report as it was read: entities on their colour with the type below, then relations."""
    marks, bottom = _written(report)
    lines = _relations(report)
    height = bottom + 20 + 12 * len(lines) + MARGIN
    drawing = Drawing(PAGE, height, title, report.text)
    drawing.add(Label(MARGIN, 22, title, LARGE), *marks)
    if lines:
        drawing.add(Line([(MARGIN, bottom), (PAGE - MARGIN, bottom)], FAINT, 0.5))
    for place, line in enumerate(lines):
        drawing.add(Label(MARGIN, bottom + 16 + 12 * place, line, SMALL, colour=FAINT))
    return drawing


def _written(report: Report) -> tuple[list[Area | Label], float]:
    """The words of a report from left to right, and how far down they come."""
    x, y = MARGIN, 52.0
    marks: list[Area | Label] = []
    named: set[Entity] = set()
    for start, end in _word_spans(report.text):
        if start < 0:
            x, y = MARGIN, y + LEADING
            continue
        word = report.text[start:end]
        wide = width_of(word, NORMAL)
        if x + wide > PAGE - MARGIN and x > MARGIN:
            x, y = MARGIN, y + LEADING
        over = [e for e in report.entities if e.start < end and start < e.end]
        if over:
            inner = min(over, key=lambda e: e.end - e.start)
            tint = mix(TYPE_COLOURS[inner.type], PAPER, 0.6)
            marks.append(Area(box(x - 1, y - 9, wide + 4, 12), tint))
            if inner not in named:
                named.add(inner)
                marks.append(Label(x, y + 9, _kind(inner), 5.5, colour=INK))
        marks.append(Label(x, y, word, NORMAL))
        x += wide + width_of(" ", NORMAL)
    return marks, y + LEADING


def _word_spans(text: str) -> list[tuple[int, int]]:
    """Where words begin and end; -1 for a new line."""
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
    told = "" if entity.assertion is Assertion.PRESENT else f", {entity.assertion}"
    return f"{entity.type}{told}"


def _relations(report: Report) -> list[str]:
    return [
        f"{_one_line(report.entities[r.head].text)} → {_one_line(report.entities[r.tail].text)}"
        for r in report.relations
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())

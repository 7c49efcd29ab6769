"""Figures of corpora: what their words are, and how far apart they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from histoeval.resources import resource_text
from histoeval.view.figures.canvas import (
    DARK_YELLOW,
    LARGE,
    PALETTE,
    POINTS,
    SMALL,
    Canvas,
    blank,
    drawable,
    drawing,
    finished,
    page,
    width_of,
)
from histoeval.view.figures.words import Vectors, density

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOUD = (480.0, 300.0)
HEAD = 30.0
"""Room for the title above a cloud."""

LARGEST, SMALLEST = 44.0, SMALL
MOST_WORDS = 90
FILLED = 0.5
GRID = 56
LEVELS = (0.15, 0.4, 0.7)
"""Shares of the highest density at which a colour grows stronger."""

MOST_NAMED = 60
CLOUD_COLOURS = (*PALETTE[:4], DARK_YELLOW)


@cache
def stopwords() -> frozenset[str]:
    """Words that say nothing of what a report is about."""
    lines = resource_text("view/figures/data/stopwords.txt").splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


@drawing
def word_cloud(counts: Mapping[str, int], title: str) -> Canvas:
    """The most frequent words, larger where they are more so; none covers another."""
    width, height = CLOUD
    figure, axes = page(width, height + HEAD)
    axes.text(width / 2, 20, drawable(title), size=LARGE, ha="center")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_WORDS]
    taken: list[tuple[float, float, float, float]] = []
    largest = _largest(ordered)
    shown = []
    for place, (word, often) in enumerate(ordered):
        size = max(SMALLEST, largest * math.sqrt(often / ordered[0][1]))
        if (spot := _free_spot(width_of(word, size), size, taken)) is not None:
            taken.append(spot)
            colour = CLOUD_COLOURS[place % len(CLOUD_COLOURS)]
            foot = spot[1] + 0.78 * size + HEAD
            axes.text(spot[0], foot, drawable(word), size=size, color=colour)
            shown.append(f"{word} {often}")
    return finished(figure, title, f"Most frequent words: {', '.join(shown)}")


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


@drawing
def word_map(
    points: Vectors, words: Sequence[str], often: Mapping[str, Sequence[int]], title: str
) -> Canvas:
    """Words of two corpora in two dimensions, and where the words of each are dense.

    `often` says for each corpus how often it has each word.
    """
    figure = blank(470, 420, title)
    axes = figure.add_subplot()
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.set(xlim=_spread(points[:, 0]), ylim=_spread(points[:, 1]))
    colours = dict(zip(often, (PALETTE[4], PALETTE[0]), strict=True))
    shares = {name: np.array(counts) / max(1, sum(counts)) for name, counts in often.items()}
    for name, counts in often.items():
        _shade(axes, points, np.array(counts, dtype=np.float64), colours[name])
    first, second = often
    more = shares[first] >= shares[second]
    for name, mine in ((first, more), (second, ~more)):
        x, y = points[mine].T
        colour, label = colours[name], drawable(name)
        axes.scatter(x, y, s=9, color=colour, alpha=0.8, linewidths=0, label=label)
    figure.legend(loc="outside lower center", ncols=2, markerscale=2)
    picture = finished(figure, title, f"Word embeddings of {' and '.join(often)}")
    _name_some(axes, points, words, np.max(list(shares.values()), axis=0))
    return picture


def _spread(values: Vectors) -> tuple[float, float]:
    """From the least to the most, with some room; never from a number to itself."""
    low, high = float(values.min()), float(values.max())
    rest = (high - low) * 0.05 or 0.5
    return low - rest, high + rest


def _shade(axes: Axes, points: Vectors, weights: Vectors, colour: str) -> None:
    """Areas that are darker in steps where words are denser."""
    across, down = (np.linspace(*span, GRID) for span in (axes.get_xlim(), axes.get_ylim()))
    found = density(points, weights, across, down)
    for least in LEVELS:
        levels = [least, 2.0]
        axes.contourf(across, down, found / found.max(), levels, colors=[colour], alpha=0.15)


def _name_some(axes: Axes, points: Vectors, words: Sequence[str], most: Vectors) -> None:
    """Names beside the most frequent words, where there is room."""
    inch = axes.figure.dpi
    places = axes.transData.transform(points) * POINTS / inch
    edge = axes.bbox.x1 * POINTS / inch
    taken: list[tuple[float, float, float]] = []
    for at in np.argsort(-most, kind="stable")[:MOST_NAMED]:
        x, y = places[at]
        width = width_of(words[at], SMALL) + 3
        clear = all(abs(y - b) > SMALL or x + width < a or a + wide < x for a, b, wide in taken)
        if clear and x + width < edge:
            taken.append((x, y, width))
            axes.annotate(
                drawable(words[at]),
                tuple(points[at]),
                (3, 0),
                textcoords="offset points",
                size=SMALL,
                va="center_baseline",
            )

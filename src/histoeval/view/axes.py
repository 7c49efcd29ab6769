"""A frame with two scales, and marks placed by what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from histoeval.view.drawing import FAINT, GRID, INK, Area, Dot, Drawing, Label, Line, box

Span = tuple[float, float]

SMALL, NORMAL, LARGE = 7.5, 9.0, 11.0
"""Sizes of letters that can still be read in print."""


@dataclass(frozen=True)
class Axes:
    """A rectangle of a drawing, and the numbers that its edges stand for."""

    drawing: Drawing
    left: float
    top: float
    width: float
    height: float
    x: Span
    y: Span

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where two numbers are on the paper."""
        return (
            self.left + self.width * (x - self.x[0]) / (self.x[1] - self.x[0]),
            self.top + self.height * (self.y[1] - y) / (self.y[1] - self.y[0]),
        )

    def frame(self, title: str, below: str, beside: str) -> None:
        """The frame with its title and what the scales are of."""
        corners = box(self.left, self.top, self.width, self.height)
        middle = self.left + self.width / 2
        self.drawing.add(
            Line([*corners, corners[0]], INK, 0.8),
            Label(middle, self.top - 6, fitted(title, NORMAL, self.width), NORMAL, "middle"),
            Label(middle, self.top + self.height + 26, below, SMALL, "middle"),
            Label(self.left - 28, self.top + self.height / 2, beside, SMALL, "middle", turned=True),
        )

    def ticks_below(self, values: Sequence[float], names: Sequence[str] | None = None) -> None:
        """Numbers or names along the lower edge."""
        for value, name in zip(values, names or number_names(values), strict=True):
            x, y = self.at(value, self.y[0])
            self.drawing.add(Line([(x, y), (x, y + 3)], INK, 0.8))
            self.drawing.add(Label(x, y + 12, name, SMALL, "middle", FAINT))

    def ticks_beside(self, values: Sequence[float], names: Sequence[str] | None = None) -> None:
        """Numbers or names along the left edge, with faint lines across."""
        for value, name in zip(values, names or number_names(values), strict=True):
            x, y = self.at(self.x[0], value)
            self.drawing.add(Line([(x, y), (x + self.width, y)], GRID, 0.5))
            self.drawing.add(Label(x - 5, y + 2.5, name, SMALL, "end", FAINT))

    def dot(self, x: float, y: float, colour: str, radius: float = 2.0, opacity: float = 1) -> None:
        """A point."""
        self.drawing.add(Dot(*self.at(x, y), radius, colour, opacity))

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str,
        width: float = 1.2,
        dashed: bool = False,
    ) -> None:
        """A line through points."""
        self.drawing.add(Line([self.at(x, y) for x, y in points], colour, width, dashed))

    def area(self, points: Sequence[tuple[float, float]], colour: str, opacity: float = 1) -> None:
        """A filled shape."""
        self.drawing.add(Area([self.at(x, y) for x, y in points], colour, opacity))


def steps(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two, no more than so many."""
    if not low < high:
        return [low]
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * by for by in (1, 2, 2.5, 5, 10) if power * by >= rough - 1e-12)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def number_names(values: Sequence[float]) -> list[str]:
    """Numbers in as few digits as they need."""
    return [f"{value:g}" for value in values]


def spread(values: Sequence[float], room: float = 0.05) -> Span:
    """From the least to the most, with some room; never from a number to itself."""
    low, high = min(values), max(values)
    rest = (high - low) * room or 0.5
    return low - rest, high + rest


def fitted(text: str, size: float, width: float) -> str:
    """A text, cut where it would be too long."""
    if Label(0, 0, text, size).width <= width:
        return text
    while text and Label(0, 0, f"{text}…", size).width > width:
        text = text[:-1]
    return f"{text}…"

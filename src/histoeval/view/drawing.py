"""Drawings made of a few kinds of marks, written as SVG; `histoeval.view.raster` makes PNG of them.

No plotting library is needed, so that figures come with the light install, look the same on every
machine, and are the same bytes for the same data. Lengths are in points, y goes down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from histoeval.view.letters import width_of

Points = Sequence[tuple[float, float]]
Anchor = Literal["start", "middle", "end"]

INK, FAINT, GRID, PAPER = "#222222", "#6b6b6b", "#dddddd", "#ffffff"

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
"""Okabe and Ito's colours, which people of any colour vision can tell apart."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: Points
    colour: str = INK
    width: float = 1.0
    dashed: bool = False

    def svg(self) -> str:
        """As an element."""
        dash = ' stroke-dasharray="4 3"' if self.dashed else ""
        return (
            f'<polyline points="{_points(self.points)}" fill="none" stroke="{self.colour}" '
            f'stroke-width="{self.width:g}"{dash}/>'
        )


@dataclass(frozen=True)
class Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float
    colour: str
    opacity: float = 1.0

    def svg(self) -> str:
        """As an element."""
        return (
            f'<circle cx="{_n(self.x)}" cy="{_n(self.y)}" r="{_n(self.radius)}" '
            f'fill="{self.colour}"{_opacity(self.opacity)}/>'
        )


@dataclass(frozen=True)
class Area:
    """A filled shape."""

    points: Points
    colour: str
    opacity: float = 1.0

    def svg(self) -> str:
        """As an element."""
        return (
            f'<polygon points="{_points(self.points)}" fill="{self.colour}"'
            f"{_opacity(self.opacity)}/>"
        )


@dataclass(frozen=True)
class Label:
    """A line of text; x and y are of its foot, `turned` goes up the page."""

    x: float
    y: float
    text: str
    size: float = 9.0
    anchor: Anchor = "start"
    colour: str = INK
    turned: bool = False

    @property
    def width(self) -> float:
        """How long it is, in points."""
        return width_of(self.text, self.size)

    def svg(self) -> str:
        """As an element, held to the width that the layout has counted with."""
        turn = f' transform="rotate(-90 {_n(self.x)} {_n(self.y)})"' if self.turned else ""
        return (
            f'<text x="{_n(self.x)}" y="{_n(self.y)}" font-size="{self.size:g}" '
            f'fill="{self.colour}" text-anchor="{self.anchor}" textLength="{_n(self.width)}" '
            f'lengthAdjust="spacingAndGlyphs"{turn}>{escape(self.text)}</text>'
        )


Mark = Line | Dot | Area | Label


@dataclass
class Drawing:
    """A sheet of paper of some size, and the marks on it in the order they were made.

    `title` and `description` are for people who cannot see it.
    """

    width: float
    height: float
    title: str = ""
    description: str = ""
    marks: list[Mark] = field(default_factory=list)

    def add(self, *marks: Mark) -> None:
        """Draw on top of what is there."""
        self.marks.extend(marks)

    def svg(self) -> str:
        """The whole as a document of its own."""
        body = "\n".join(mark.svg() for mark in self.marks)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(self.width)}pt" '
            f'height="{_n(self.height)}pt" viewBox="0 0 {_n(self.width)} {_n(self.height)}" '
            'role="img" font-family="DejaVu Sans, Verdana, Arial, sans-serif">\n'
            f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
            f'<rect width="100%" height="100%" fill="{PAPER}"/>\n{body}\n</svg>\n'
        )


def box(x: float, y: float, width: float, height: float) -> Points:
    """The corners of a rectangle."""
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def mix(one: str, other: str, share: float) -> str:
    """A colour between two: `share` of the other."""
    pairs = zip(rgb(one), rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour as red, green and blue, up to 255."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _points(points: Points) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{opacity:g}"'

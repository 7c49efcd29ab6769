"""A figure drawn by matplotlib, written as PNG and as SVG: the same bytes for the same data.

Whatever draws takes matplotlib from here, so that its absence is told in one place. Figures are
objects of their own: nothing is kept in pyplot, and no setting of the reader's own
`matplotlibrc` gets in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, Literal

from histoeval.errors import MissingDependency

try:
    from matplotlib import style
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.textpath import TextToPath
except ImportError as error:
    raise MissingDependency(
        "matplotlib is not installed: figures need the extra [figures]; "
        "run: pip install 'histoeval[figures]'"
    ) from error

INK, FAINT, PAPER = "#222222", "#6b6b6b", "#ffffff"

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
"""Okabe and Ito's colours, which people of any colour vision can tell apart."""

BLUE, ORANGE, GREEN = PALETTE[:3]
DARK_YELLOW = "#8a5f00"
"""For letters, where Okabe and Ito's is too pale on white."""

OPPOSED_TO_ALIKE = LinearSegmentedColormap.from_list("alike", [ORANGE, PAPER, BLUE])

SMALL, NORMAL, LARGE = 8.0, 9.0, 11.0
"""Sizes of letters that can still be read in print, in points."""

FONT = "DejaVu Sans"
"""Comes with matplotlib, so letters are as wide on every machine."""

POINTS = 72.0
"""Points in an inch."""

LOOK: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelsize": SMALL,
    "axes.linewidth": 0.8,
    "axes.titlesize": NORMAL,
    "figure.titlesize": LARGE,
    "font.family": FONT,
    "font.size": NORMAL,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "histoeval",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}

drawing = style.context(["default", dict(LOOK)])
"""Around a function: what it draws looks as figures here do, whatever the reader has set."""


@dataclass(frozen=True)
class Canvas:
    """A figure; `title` and `description` are for people who cannot see it."""

    figure: Figure
    title: str
    description: str

    def svg(self) -> str:
        """The text of an SVG file, in which text stays text."""
        return self._saved("svg").decode()

    def png(self) -> bytes:
        """The bytes of a PNG file, fine enough for print."""
        return self._saved("png")

    def _saved(self, kind: Literal["svg", "png"]) -> bytes:
        told = {"Title": self.title, "Description": self.description}
        file = BytesIO()
        with style.context(["default", dict(LOOK)]):
            metadata = told | ({"Date": None} if kind == "svg" else {})
            self.figure.savefig(file, format=kind, metadata=metadata)
        return file.getvalue()


def blank(width: float, height: float, title: str) -> Figure:
    """A sheet of some points by some, with its title; what is put on it is kept apart."""
    figure = Figure(figsize=(width / POINTS, height / POINTS), layout="constrained")
    figure.suptitle(drawable(title))
    return figure


def finished(figure: Figure, title: str, description: str) -> Canvas:
    """The figure with everything where it is now, so that it is saved alike each time."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return Canvas(figure, _told(title), _told(description))


def _told(text: str) -> str:
    """A text as a file of any kind can hold it: without what no character can be seen of."""
    return "".join(each if each.isprintable() else " " for each in text)


def page(width: float, height: float) -> tuple[Figure, Axes]:
    """A sheet to write on: x and y are points from its upper left corner."""
    figure = Figure(figsize=(width / POINTS, height / POINTS))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure, axes


def width_of(text: str, size: float) -> float:
    """How long a line of text is, in points."""
    wide, _, _ = TextToPath().get_text_width_height_descent(
        drawable(text), FontProperties(family=FONT, size=size), ismath=False
    )
    return float(wide)


def fitted(text: str, size: float, width: float) -> str:
    """A text that can be drawn, cut where it would be too long."""
    text = drawable(text)
    if width_of(text, size) <= width:
        return text
    while text and width_of(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


def drawable(text: str) -> str:
    """A text with a mark for each character that the font does not have."""
    known = _characters()
    return "".join(each if ord(each) in known else "\N{REPLACEMENT CHARACTER}" for each in text)


@cache
def _characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def mix(one: str, other: str, share: float) -> str:
    """A colour between two: `share` of the other."""
    pairs = zip(to_rgb(one), to_rgb(other), strict=True)
    red, green, blue = (a + (b - a) * share for a, b in pairs)
    return to_hex((red, green, blue))

"""Figures by matplotlib, written as PNG and as SVG: the same bytes for the same data.

All figures import matplotlib from here, so that its absence is reported in one place. Neither
pyplot nor the user's own `matplotlibrc` is involved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import Any, Literal

from histoeval.errors import MissingDependency, pip_install

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
        f"run: {pip_install('figures')}"
    ) from error

INK, FAINT, PAPER = "#222222", "#6b6b6b", "#ffffff"

# the colours of Okabe and Ito, which can be distinguished with any colour vision
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
BLUE, ORANGE, GREEN = PALETTE[:3]
# for text, where Okabe and Ito's yellow is too pale on white
DARK_YELLOW = "#8a5f00"
OPPOSED_TO_ALIKE = LinearSegmentedColormap.from_list("alike", [ORANGE, PAPER, BLUE])

SMALL, NORMAL, LARGE = 8.0, 9.0, 11.0  # font sizes that are legible in print, in points
FONT = "DejaVu Sans"  # comes with matplotlib, so text is as wide on every machine
POINTS = 72.0  # points per inch

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

# decorator for functions that draw: the style of our figures, whatever the user has set
drawing = style.context(["default", dict(LOOK)])


@dataclass(frozen=True)
class Canvas:
    """A figure; `title` and `description` are its alternative text."""

    figure: Figure
    title: str
    description: str

    def svg(self) -> str:
        return self._saved("svg").decode()

    def png(self) -> bytes:
        return self._saved("png")

    def _saved(self, kind: Literal["svg", "png"]) -> bytes:
        metadata = {"Title": self.title, "Description": self.description}
        file = BytesIO()
        with style.context(["default", dict(LOOK)]):
            dated = {"Date": None} if kind == "svg" else {}
            self.figure.savefig(file, format=kind, metadata=metadata | dated)
        return file.getvalue()


def blank(width: float, height: float, title: str) -> Figure:
    figure = Figure(figsize=(width / POINTS, height / POINTS), layout="constrained")
    figure.suptitle(drawable(title))
    return figure


def finished(figure: Figure, title: str, description: str) -> Canvas:
    """Freeze the layout, so that the figure is saved alike each time."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return Canvas(figure, _printable(title), _printable(description))


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def page(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure to write on: x and y are points from its upper left corner."""
    figure = Figure(figsize=(width / POINTS, height / POINTS))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure, axes


def width_of(text: str, size: float) -> float:
    wide, _, _ = TextToPath().get_text_width_height_descent(
        drawable(text), FontProperties(family=FONT, size=size), ismath=False
    )
    return float(wide)


def fitted(text: str, size: float, width: float) -> str:
    text = drawable(text)
    if width_of(text, size) <= width:
        return text
    while text and width_of(f"{text}…", size) > width:
        text = text[:-1]
    return f"{text}…"


def drawable(text: str) -> str:
    supported = _font_characters()
    return "".join(
        character if ord(character) in supported else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


@cache
def _font_characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=FONT))).get_charmap())


def mix(one: str, other: str, share: float) -> str:
    """Mix two colours; `share` is that of the second."""
    pairs = zip(to_rgb(one), to_rgb(other), strict=True)
    red, green, blue = (a + (b - a) * share for a, b in pairs)
    return to_hex((red, green, blue))

"""Figure 3 of the PathGLS paper: repeats, and trust without each dimension, beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from histoeval.table import number
from histoeval.view.figures.canvas import (
    BLUE,
    INK,
    ORANGE,
    SMALL,
    Canvas,
    blank,
    drawing,
    finished,
    fitted,
)
from histoeval_research.experiments.benchmark import JudgeVariation
from histoeval_research.experiments.pathgls.answers import assumptions
from histoeval_research.experiments.pathgls.beside import AblationBeside
from histoeval_research.experiments.pathgls.published import published_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_WIDTH = 120.0
BAR = 0.38


@drawing
def figure_3(repeats: Sequence[JudgeVariation], bars: Sequence[AblationBeside]) -> Canvas:
    """Both panels; the bars are those of the first data set with the most dimensions."""
    title = "PathGLS: repeats, and trust without each dimension"
    figure = blank(640, 300, title)
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    told = [*_repeats(left, repeats), *_bars(right, drawn_bars(bars))]
    figure.legend(loc="outside lower center", ncols=2)
    return finished(figure, title, "; ".join(told))


def drawn_bars(bars: Sequence[AblationBeside]) -> list[AblationBeside]:
    """The bars of the first data set with the most dimensions, by the first assumption."""
    own = [bar for bar in bars if bar.answers == assumptions()[0].name]
    data = Counter(bar.data for bar in own).most_common(1)
    return [bar for bar in own if bar.data == data[0][0]]


def _repeats(axes: Axes, repeats: Sequence[JudgeVariation]) -> Iterator[str]:
    axes.set_title("(a) repeats")
    for place, each in enumerate(repeats):
        value = each.spread.value
        if value is not None:
            axes.barh(place, value, height=0.5, color=BLUE)
            axes.text(value, place, f" {value:.4f}", va="center", size=SMALL)
            yield f"{each.name}: {value:.4f}"
    axes.set_yticks(range(len(repeats)), [fitted(v.name, SMALL, NAME_WIDTH) for v in repeats])
    axes.set_ylim(len(repeats) - 0.5, -0.5)
    widest = max((each.spread.value or 0.0 for each in repeats), default=0.0)
    axes.set(xlim=(0, max(0.05, 1.4 * widest)))
    paper = published_ranks().spread
    axes.set(xlabel=f"mean standard deviation (PathGLS in the paper: {paper:.2f})")


def _bars(axes: Axes, bars: Sequence[AblationBeside]) -> Iterator[str]:
    axes.set_title("(b) trust without each dimension")
    for place, bar in enumerate(bars):
        both = ((-BAR / 2, bar.spearman.value, BLUE), (BAR / 2, bar.paper, ORANGE))
        for shift, value, colour in both:
            if value is not None:
                axes.bar(place + shift, value, width=BAR, color=colour)
                axes.text(place + shift, 0.02, f"{value:.2f}", ha="center", size=SMALL)
        if bar.spearman.low is not None and bar.spearman.high is not None:
            axes.plot([place - BAR / 2] * 2, [bar.spearman.low, bar.spearman.high], color=INK)
        numbers = [number(value, 2) for _, value, _ in both]
        yield f"{_name(bar)}: ours {numbers[0]}, paper {numbers[1]}"
    axes.set_xticks(range(len(bars)), [_name(bar).replace(" ", "\n", 1) for bar in bars])
    data = f"{bars[0].data}; answers under attack: {bars[0].answers}" if bars else "no data"
    axes.set(ylabel="Spearman with the error level", xlabel=data)
    axes.axhline(0, color=INK, linewidth=0.8)
    for label, colour in (("ours (95 % interval)", BLUE), ("paper", ORANGE)):
        axes.bar(0, 0, color=colour, label=label)


def _name(bar: AblationBeside) -> str:
    return f"without {bar.without}" if bar.without else "all"

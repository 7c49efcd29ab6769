"""Figures of experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from histoeval.statistics.resampling import Estimate
from histoeval.table import number
from histoeval.view.figures.canvas import (
    BLUE,
    INK,
    ORANGE,
    PALETTE,
    SMALL,
    Canvas,
    blank,
    drawing,
    finished,
    fitted,
)
from histoeval_research.experiments.pathgls import assumptions, paper
from histoeval_research.experiments.tables import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAME_WIDTH = 130.0
BAR = 0.38


@drawing
def ablation_figure(found: Row) -> Canvas:
    """Figure 3b: the rank correlation without each dimension."""
    title = "Rank correlation with the error hierarchy, without each dimension"
    bars = {"all": found["spearman"]}
    bars |= {f"without {row['dimension']}": row["spearman"] for row in found["without"]}
    figure = blank(430, 260, title)
    axes = figure.add_subplot()
    for place, bar in enumerate(bars.values()):
        if bar.value is not None:
            axes.bar(place, bar.value, width=0.6, color=ORANGE if place else BLUE)
            _whisker(axes, bar, place)
            axes.text(place, 0.02, f"{bar.value:.2f}", ha="center", size=SMALL, color="white")
    axes.set_xticks(range(len(bars)), list(bars))
    axes.set(ylabel="Spearman (95 % interval)")
    return finished(figure, title, _values(bars.items()))


def _whisker(axes: Axes, estimate: Estimate, x: float) -> None:
    if estimate.low is not None and estimate.high is not None:
        axes.plot([x, x], [estimate.low, estimate.high], color=INK, linewidth=1.0)


@drawing
def variance_figure(rows: Sequence[Row]) -> Canvas:
    """Figure 3a: how much each judge varies between repeats."""
    title = "Standard deviation between repeats"
    figure = blank(430, 90 + 34 * len(rows), title)
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        spread = row["spread"]
        if spread.value is None:
            continue
        colour = BLUE if row["name"] == "PathGLS" else ORANGE
        axes.barh(place, spread.value, height=0.6, color=colour)
        if spread.low is not None and spread.high is not None:
            axes.plot([spread.low, spread.high], [place] * 2, color=INK, linewidth=1.0)
        end = spread.value if spread.high is None else spread.high
        axes.text(end, place, f" {spread.value:.3f}", va="center", size=SMALL)
    _name_rows(axes, rows)
    axes.set(xlabel="mean over reports (95 % interval); scores run from 0 to 1")
    return finished(figure, title, _values(((row["name"], row["spread"]) for row in rows), 4))


def _name_rows(axes: Axes, rows: Sequence[Row]) -> None:
    names = [fitted(row["name"], SMALL, MAX_NAME_WIDTH) for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)


@drawing
def hierarchy_figure(rows: Sequence[Row]) -> Canvas:
    """The mean of every measure at each level, as a share of its mean on true reports."""
    title = "Measures along the error hierarchy"
    figure = blank(450, 300, title)
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        levels, spearman = row["levels"], row["spearman"]
        if not levels or levels[0]["mean"] <= 0:
            continue
        means = [step["mean"] / levels[0]["mean"] for step in levels]
        rho = "" if spearman.value is None else f" ({spearman.value:.2f})"
        axes.plot(
            [step["level"] for step in levels],
            means,
            "o-",
            color=PALETTE[place % len(PALETTE)],
            markersize=3.5,
            label=f"{row['measure']}{rho}",
        )
    axes.set(xlabel="error level", ylabel="mean, of that on true reports", ylim=(0, None))
    figure.legend(loc="outside lower center", ncols=3)
    values = _values((row["measure"], row["spearman"]) for row in rows)
    return finished(figure, title, f"Spearman with the error level: {values}")


def _values(named: Iterable[tuple[str, Estimate]], digits: int = 3) -> str:
    """The description of a figure for readers who cannot see it."""
    known = [(name, estimate.value) for name, estimate in named if estimate.value is not None]
    return "; ".join(f"{name} {value:.{digits}f}" for name, value in known)


@drawing
def figure_3(repeats: Sequence[Row], bars: Sequence[Row]) -> Canvas:
    """Both panels; the bars are those of the data set with the most, by the first assumption."""
    title = "PathGLS: repeats, and trust without each dimension"
    figure = blank(640, 300, title)
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.set_title("(a) repeats")
    for place, row in enumerate(repeats):
        if (value := row["spread"].value) is not None:
            left.barh(place, value, height=0.5, color=BLUE)
            left.text(value, place, f" {value:.4f}", va="center", size=SMALL)
    _name_rows(left, repeats)
    widest = max((row["spread"].value or 0.0 for row in repeats), default=0.0)
    spread = paper()["figure3"]["spread"]
    left.set(xlim=(0, max(0.05, 1.4 * widest)))
    left.set(xlabel=f"mean standard deviation (PathGLS in the paper: {spread:.2f})")
    described = [_values(((row["name"], row["spread"]) for row in repeats), 4)]

    right.set_title("(b) trust without each dimension")
    bars = [bar for bar in bars if bar["answers"] == assumptions()[0]]
    data = Counter(bar["data"] for bar in bars).most_common(1)
    bars = [bar for bar in bars if bar["data"] == data[0][0]]
    names = [f"without {bar['without']}" if bar["without"] else "all" for bar in bars]
    for place, (name, bar) in enumerate(zip(names, bars, strict=True)):
        both = ((-BAR / 2, bar["spearman"].value, BLUE), (BAR / 2, bar["paper"], ORANGE))
        for shift, value, colour in both:
            if value is not None:
                right.bar(place + shift, value, width=BAR, color=colour)
                right.text(place + shift, 0.02, f"{value:.2f}", ha="center", size=SMALL)
        _whisker(right, bar["spearman"], place - BAR / 2)
        ours, theirs = (number(value, 2) for _, value, _ in both)
        described.append(f"{name}: ours {ours}, paper {theirs}")
    right.set_xticks(range(len(bars)), [name.replace(" ", "\n", 1) for name in names])
    answers = (
        f"{bars[0]['data']}; answers under attack: {bars[0]['answers']}" if bars else "no data"
    )
    right.set(ylabel="Spearman with the error level", xlabel=answers)
    right.axhline(0, color=INK, linewidth=0.8)
    for label, colour in (("ours (95 % interval)", BLUE), ("paper", ORANGE)):
        right.bar(0, 0, color=colour, label=label)
    figure.legend(loc="outside lower center", ncols=2)
    return finished(figure, title, "; ".join(described))

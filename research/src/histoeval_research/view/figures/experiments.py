"""Figures 3a and 3b of PathGLS, and the means of every measure by error level."""

from collections.abc import Iterable, Sequence

import numpy as np

from histoeval.statistics.resampling import Estimate
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
from histoeval_research.experiments.benchmark import JudgeVariation
from histoeval_research.experiments.hierarchy import Ablation, Follows

MAX_NAME_WIDTH = 130.0


@drawing
def ablation_figure(found: Ablation) -> Canvas:
    """Figure 3b: the rank correlation without each dimension."""
    title = "Rank correlation with the error hierarchy, without each dimension"
    names = ["all", *(f"without {each.dimension}" for each in found.without)]
    estimates = [found.spearman, *(each.spearman for each in found.without)]
    figure = blank(430, 260, title)
    axes = figure.add_subplot()
    for place, each in enumerate(estimates):
        if each.value is None:
            continue
        axes.bar(place, each.value, width=0.6, color=BLUE if place == 0 else ORANGE)
        if each.low is not None and each.high is not None:
            axes.plot([place, place], [each.low, each.high], color=INK, linewidth=1.0)
        axes.text(place, 0.02, f"{each.value:.2f}", ha="center", size=SMALL, color="white")
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="Spearman (95 % interval)")
    return finished(figure, title, _values(zip(names, estimates, strict=True)))


@drawing
def variance_figure(found: Sequence[JudgeVariation]) -> Canvas:
    """Figure 3a: how much each judge varies between repeats."""
    title = "Standard deviation between repeats"
    figure = blank(430, 90 + 34 * len(found), title)
    axes = figure.add_subplot()
    for place, each in enumerate(found):
        value = each.spread.value
        if value is None:
            continue
        axes.barh(place, value, height=0.6, color=BLUE if each.name == "PathGLS" else ORANGE)
        if each.spread.low is not None and each.spread.high is not None:
            axes.plot([each.spread.low, each.spread.high], [place] * 2, color=INK, linewidth=1.0)
        end = value if each.spread.high is None else each.spread.high
        axes.text(end, place, f" {value:.3f}", va="center", size=SMALL)
    axes.set_yticks(range(len(found)), [fitted(v.name, SMALL, MAX_NAME_WIDTH) for v in found])
    axes.invert_yaxis()
    axes.set(xlabel="mean over reports (95 % interval); scores run from 0 to 1")
    return finished(figure, title, _values(((v.name, v.spread) for v in found), 4))


@drawing
def hierarchy_figure(found: Sequence[Follows]) -> Canvas:
    """The mean of every measure at each level, as a share of its mean on true reports."""
    title = "Measures along the error hierarchy"
    figure = blank(450, 300, title)
    axes = figure.add_subplot()
    for place, each in enumerate(found):
        if not each.levels or each.levels[0].mean <= 0:
            continue
        steps = [step.level for step in each.levels]
        means = np.array([step.mean for step in each.levels]) / each.levels[0].mean
        rho = "" if each.spearman.value is None else f" ({each.spearman.value:.2f})"
        colour = PALETTE[place % len(PALETTE)]
        axes.plot(steps, means, "o-", color=colour, markersize=3.5, label=f"{each.measure}{rho}")
    axes.set(xlabel="error level", ylabel="mean, of that on true reports", ylim=(0, None))
    figure.legend(loc="outside lower center", ncols=3)
    values = _values((each.measure, each.spearman) for each in found)
    return finished(figure, title, f"Spearman with the error level: {values}")


def _values(named: Iterable[tuple[str, Estimate]], digits: int = 3) -> str:
    """The description of a figure for readers who cannot see it."""
    known = [(name, each.value) for name, each in named if each.value is not None]
    return "; ".join(f"{name} {value:.{digits}f}" for name, value in known)

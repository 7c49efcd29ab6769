"""Figures of an agreement study: metrics against experts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from histoeval.agreement.metric_vs_experts import MetricVsExperts, scored
from histoeval.agreement.panel import Panel
from histoeval.agreement.study import Study, StudyPlan
from histoeval.statistics.correlation import RANKED_BY, Coefficient, is_constant, mean_of, weighted
from histoeval.statistics.resampling import Numbers, estimate, resample
from histoeval.view.figures import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 2
# width and height of a frame in points; two fit side by side on a printed page
CELL, TALL = 230.0, 190.0
NAMED = 3  # pairs far from the experts that are named in a frame
MAX_LEVELS = 11
BINS = 8
MAX_NAME_WIDTH = 160.0  # points for the name of a metric beside a figure


def figures(panel: Panel, study: Study, plan: StudyPlan) -> Iterator[tuple[str, canvas.Canvas]]:
    """Yield every figure with its file name; metrics without a correlation are skipped."""
    if plan.positive_only:
        panel = panel.above(0.0)
    able = [metric for metric in study.metrics if metric.pearson.value is not None]
    if not able:
        return
    yield "scatter", _several("Score against experts", able, panel, plan, _scatter)
    yield "distribution", _several("Scores for each expert score", able, panel, plan, _boxes)
    yield "calibration", _several("Predicted and actual expert score", able, panel, plan, _bins)
    yield "forest", forest(able, plan.coefficient)
    yield "heatmap", heatmap(panel, [metric.metric for metric in able], plan.coefficient)


class _Frame:
    """The data of one frame: a metric on the rows that it has scored."""

    def __init__(self, metric: MetricVsExperts, panel: Panel, plan: StudyPlan) -> None:
        rows = scored(panel.metrics[metric.metric])
        self.result = metric
        self.metric: Numbers = panel.metrics[metric.metric].values[rows]
        self.expert: Numbers = panel.expert[rows]
        self.groups = [g for g, is_scored in zip(panel.groups, rows, strict=True) if is_scored]
        self.experts = (plan.expert_range[0] - 0.3, plan.expert_range[1] + 0.3)
        self.plan = plan
        self.name = canvas.fitted(metric.metric, canvas.NORMAL, CELL - 50)
        self.dashes = "--" if metric.falls else "-"
        self.warning = "\nruns the wrong way" if metric.falls else ""

    @property
    def line(self) -> tuple[float, float]:
        """Slope and intercept of the line from the metric to experts."""
        slope, height = np.polyfit(self.metric, self.expert, 1)
        return float(slope), float(height)


Draw = Callable[["Axes", _Frame], None]


@canvas.drawing
def _several(
    title: str, able: Sequence[MetricVsExperts], panel: Panel, plan: StudyPlan, draw: Draw
) -> canvas.Canvas:
    across = min(COLUMNS, len(able))
    down = -(-len(able) // across)
    figure = canvas.blank(across * CELL, 40 + down * TALL, title)
    places = figure.subplots(down, across, squeeze=False).ravel()
    for axes in places[len(able) :]:
        axes.remove()
    for axes, metric in zip(places, able, strict=False):
        draw(axes, _Frame(metric, panel, plan))
    return canvas.finished(figure, title, f"{title}: {', '.join(metric.metric for metric in able)}")


def _scatter(axes: Axes, frame: _Frame) -> None:
    shift = np.random.default_rng(0).uniform(-0.12, 0.12, len(frame.metric))
    axes.scatter(
        frame.metric, frame.expert + shift, s=10, color=canvas.BLUE, alpha=0.45, linewidths=0
    )
    slope, height = frame.line
    ends = np.array([frame.metric.min(), frame.metric.max()])
    axes.plot(ends, height + slope * ends, color=canvas.ORANGE, lw=1.6, ls=frame.dashes)
    for pair in frame.result.apart[:NAMED]:
        text = canvas.fitted(f"{pair.id} {pair.system}".strip(), canvas.SMALL, CELL / 3)
        axes.annotate(text, (pair.score, pair.expert), fontsize=canvas.SMALL, ha="center")
    r = frame.result.pearson.value
    axes.set(xlabel="score", ylabel="experts", ylim=frame.experts)
    axes.locator_params(nbins=6)
    axes.set_title(f"{frame.name}\nr = {r:.2f}{frame.warning}")


def _boxes(axes: Axes, frame: _Frame) -> None:
    stats = []  # for each expert score the quartiles of the metric, and 5 % to 95 %
    has_many_levels = len(np.unique(frame.expert)) > MAX_LEVELS
    levels = np.round(frame.expert) if has_many_levels else frame.expert
    for value in np.unique(levels):
        scores = frame.metric[levels == value]
        low, first, middle, third, high = np.quantile(scores, [0.05, 0.25, 0.5, 0.75, 0.95])
        ends = {"whislo": low, "q1": first, "med": middle, "q3": third, "whishi": high}
        stats.append({"label": f"{value:g}\n({len(scores)})", **ends})
    axes.bxp(
        stats,
        showfliers=False,
        showcaps=False,
        patch_artist=True,
        widths=0.6,
        boxprops={"facecolor": canvas.mix(canvas.BLUE, canvas.PAPER, 0.5), "linewidth": 0},
        medianprops={"color": canvas.ORANGE, "linewidth": 1.8},
        whiskerprops={"color": canvas.INK, "linewidth": 0.8},
    )
    axes.set(title=frame.name, xlabel="expert score (pairs)", ylabel="score")
    axes.locator_params(axis="y", nbins=6)


def _bins(axes: Axes, frame: _Frame) -> None:
    slope, height = frame.line
    predicted = height + slope * frame.metric
    span = frame.plan.expert_range
    axes.plot(span, span, color=canvas.FAINT, linewidth=0.8, linestyle="--")
    means = []
    # the mean of experts in bins of about the same size; equal predictions share a bin
    edges = np.unique(np.quantile(predicted, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, max(len(edges) - 2, 0))
    for number in np.unique(bins):
        rows = np.flatnonzero(bins == number)
        drawn = resample([frame.groups[row] for row in rows], 1000, frame.plan.seed)
        mean = estimate(mean_of(frame.expert[rows], drawn), drawn)
        at = float(predicted[rows].mean())
        if mean.value is not None:
            means.append((at, mean.value))
        if mean.low is not None and mean.high is not None:
            axes.plot([at, at], [mean.low, mean.high], color=canvas.BLUE, linewidth=1.0)
    axes.plot(*zip(*means, strict=True), color=canvas.BLUE, linewidth=0.8, marker="o", markersize=4)
    title = f"{frame.name}{frame.warning}"
    axes.set(title=title, xlabel="predicted by the fitted line", ylabel="mean of experts")
    axes.set(xlim=frame.experts, ylim=frame.experts)
    axes.locator_params(nbins=6)


@canvas.drawing
def forest(able: Sequence[MetricVsExperts], ranked_by: Coefficient = RANKED_BY) -> canvas.Canvas:
    title = "Correlation with experts, 95 % intervals"
    ordered = sorted(able, key=lambda metric: -(metric.coefficient(ranked_by).value or 0.0))
    names = [canvas.fitted(metric.metric, canvas.SMALL, MAX_NAME_WIDTH) for metric in ordered]
    figure = canvas.blank(450, 100 + 34 * len(ordered), title)
    axes = figure.add_subplot()
    axes.axvline(0, color=canvas.FAINT, linewidth=0.8, linestyle="--")
    looks = (
        ("Pearson", canvas.BLUE, -0.25),
        ("Spearman", canvas.ORANGE, 0.0),
        ("Kendall", canvas.GREEN, 0.25),
    )
    for index, (name, colour, shift) in enumerate(looks):
        for row, metric in enumerate(ordered):
            estimate = metric.correlations[index]
            if estimate.low is not None and estimate.high is not None:
                axes.plot([estimate.low, estimate.high], [row + shift] * 2, color=colour, lw=1.2)
            if estimate.value is not None:
                axes.plot(estimate.value, row + shift, "o", color=colour, markersize=4)
        axes.plot([], [], "o-", color=colour, markersize=4, label=name)
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="correlation")
    figure.legend(loc="outside lower center", ncols=len(looks))
    values = "; ".join(
        f"{metric.metric} {metric.coefficient(ranked_by).value:.3f}" for metric in ordered
    )
    return canvas.finished(figure, title, values)


@canvas.drawing
def heatmap(panel: Panel, names: Sequence[str], coefficient: Coefficient) -> canvas.Canvas:
    """Correlations of metrics with each other and with experts: blue positive, orange negative."""
    title = f"{coefficient.value.title()} correlation of metrics"
    columns = {"experts": panel.expert} | {name: panel.metrics[name].rising for name in names}
    correlations = np.array(
        [[_correlation(a, b, coefficient) for b in columns.values()] for a in columns.values()]
    )
    shown = [canvas.fitted(name, canvas.SMALL, MAX_NAME_WIDTH) for name in columns]
    room = max(canvas.width_of(name, canvas.SMALL) for name in shown) + 20
    side = max(200.0, 36.0 * len(columns)) + room
    figure = canvas.blank(side, side + 20, title)
    axes = figure.add_subplot(aspect="equal")
    axes.grid(visible=False)
    axes.pcolormesh(correlations, cmap=canvas.OPPOSED_TO_ALIKE, vmin=-1, vmax=1)
    middles = np.arange(len(shown)) + 0.5
    axes.set_xticks(middles, shown, rotation=90)
    axes.set_yticks(middles, shown)
    axes.tick_params(length=0, bottom=False, labelbottom=False, top=True, labeltop=True)
    axes.invert_yaxis()
    for (row, column), value in np.ndenumerate(correlations):
        text = "none" if np.isnan(value) else f"{value:.2f}"
        ink = canvas.PAPER if abs(value) > 0.6 else canvas.INK
        axes.text(
            column + 0.5, row + 0.5, text, size=canvas.SMALL, ha="center", va="center", color=ink
        )
    return canvas.finished(figure, title, f"Correlations of {', '.join(columns)}")


def _correlation(first: Numbers, second: Numbers, coefficient: Coefficient) -> float:
    """Correlate two columns where both have values; NaN if that is undefined."""
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y = first[both], second[both]
    if len(x) < 2 or is_constant(x) or is_constant(y):
        return float("nan")
    alone = np.zeros(len(x), dtype=np.intp)
    return float(weighted(coefficient, x, y, alone, 1)(np.ones((1, 1)))[0])

"""Figures of a study: metrics against experts, each from stored scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from histoeval.agreement.correlation import Coefficient, is_constant, weighted
from histoeval.agreement.following import Following, scored
from histoeval.agreement.panel import Panel
from histoeval.agreement.resampling import Numbers, Positions, estimate, resample
from histoeval.agreement.study import Plan, Study
from histoeval.agreement.systems import mean_of
from histoeval.view.axes import LARGE, NORMAL, SMALL, Axes, Span, fitted, spread, steps
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

ABREAST = 3
CELL, GAP_X, GAP_Y, EDGE = 150.0, 52.0, 62.0, 46.0
"""Size of one of several frames, and the room around it."""

MOST_LEVELS = 11
BINS = 8
BLUE, ORANGE, GREEN = PALETTE[0], PALETTE[1], PALETTE[2]


def figures(panel: Panel, study: Study, plan: Plan) -> Iterator[tuple[str, Drawing]]:
    """Every figure with the name of its file; those that cannot be drawn are left out."""
    if plan.positive_only:
        panel = panel.above(0.0)
    able = [each for each in study.metrics if each.pearson.value is not None]
    if not able:
        return
    yield "scatter", _several("Score against experts", able, panel, plan, _scatter)
    yield "distribution", _several("Scores for each expert score", able, panel, plan, _boxes)
    yield "calibration", _several("Predicted and actual expert score", able, panel, plan, _bins)
    yield "forest", forest(able)
    yield "heatmap", heatmap(panel, [each.metric for each in able], plan.coefficient)


class _Frame:
    """What one of several frames shows: a metric on the rows that it has scored."""

    def __init__(self, each: Following, panel: Panel, plan: Plan) -> None:
        rows = scored(panel.metrics[each.metric])
        self.found = each
        self.metric: Numbers = panel.metrics[each.metric].values[rows]
        self.expert: Numbers = panel.expert[rows]
        self.groups = [g for g, there in zip(panel.groups, rows, strict=True) if there]
        self.experts: Span = (plan.expert_range[0] - 0.3, plan.expert_range[1] + 0.3)
        self.plan = plan

    @property
    def line(self) -> tuple[float, float]:
        """Slope and height of the line from the metric to experts."""
        slope, height = np.polyfit(self.metric, self.expert, 1)
        return float(slope), float(height)


Draw = Callable[[Drawing, _Frame, float, float], None]
"""Draws one frame, at left and top."""


def _several(
    title: str, able: Sequence[Following], panel: Panel, plan: Plan, draw: Draw
) -> Drawing:
    """A frame for each metric, row by row."""
    across = min(ABREAST, len(able))
    down = -(-len(able) // across)
    drawing = Drawing(
        EDGE + across * (CELL + GAP_X),
        EDGE + down * (CELL + GAP_Y),
        title,
        f"{title}: {', '.join(each.metric for each in able)}",
    )
    drawing.add(Label(drawing.width / 2, 18, title, LARGE, "middle"))
    for place, each in enumerate(able):
        row, column = divmod(place, across)
        draw(
            drawing,
            _Frame(each, panel, plan),
            EDGE + column * (CELL + GAP_X),
            EDGE + row * (CELL + GAP_Y),
        )
    return drawing


def _scatter(drawing: Drawing, frame: _Frame, left: float, top: float) -> None:
    """Every pair, and the fitted line; dots of one expert score are spread a little."""
    x = spread(frame.metric.tolist())
    axes = Axes(drawing, left, top, CELL, CELL, x, frame.experts)
    axes.ticks_below(steps(*x, most=4))
    axes.ticks_beside(steps(*frame.plan.expert_range))
    shift = np.random.default_rng(0).uniform(-0.12, 0.12, len(frame.metric))
    for score, expert in zip(frame.metric, frame.expert + shift, strict=True):
        axes.dot(float(score), float(expert), BLUE, 1.6, 0.45)
    slope, height = frame.line
    ends = [(at, height + slope * at) for at in (frame.metric.min(), frame.metric.max())]
    axes.line([(float(a), float(b)) for a, b in ends], ORANGE, 1.6)
    r = frame.found.pearson.value
    axes.frame(f"{frame.found.metric}: r = {r:.2f}", "score", "experts")


def _boxes(drawing: Drawing, frame: _Frame, left: float, top: float) -> None:
    """For each expert score the middle half of the metric's, its median, and 5 % to 95 %."""
    levels = _levels(frame.expert)
    y = spread(frame.metric.tolist())
    axes = Axes(drawing, left, top, CELL, CELL, (-0.6, len(levels) - 0.4), y)
    axes.ticks_beside(steps(*y, most=4))
    names = [f"{value:g}" for value, _ in levels]
    axes.ticks_below(range(len(levels)), names)
    for place, (_, rows) in enumerate(levels):
        low, first, middle, third, high = np.quantile(
            frame.metric[rows], [0.05, 0.25, 0.5, 0.75, 0.95]
        )
        axes.line([(place, low), (place, high)], INK, 0.8)
        corners = [(place - 0.3, first), (place + 0.3, first)]
        axes.area([*corners, (place + 0.3, third), (place - 0.3, third)], mix(BLUE, PAPER, 0.5))
        axes.line([(place - 0.3, middle), (place + 0.3, middle)], ORANGE, 1.8)
        x, height = axes.at(place, y[1])
        drawing.add(Label(x, height + 8, f"{len(rows)}", 6, "middle", FAINT))
    axes.frame(frame.found.metric, "expert score (above: pairs)", "score")


def _levels(expert: Numbers) -> list[tuple[float, Positions]]:
    """The expert scores there are, and their rows; halves are put together if there are many."""
    levels = np.unique(expert)
    rounded = expert if len(levels) <= MOST_LEVELS else np.round(expert)
    return [(float(value), np.flatnonzero(rounded == value)) for value in np.unique(rounded)]


def _bins(drawing: Drawing, frame: _Frame, left: float, top: float) -> None:
    """Pairs in bins by predicted score: the mean of experts there, with its interval."""
    slope, height = frame.line
    predicted = height + slope * frame.metric
    span = frame.plan.expert_range
    axes = Axes(drawing, left, top, CELL, CELL, frame.experts, frame.experts)
    axes.ticks_below(steps(*span))
    axes.ticks_beside(steps(*span))
    axes.line([(span[0], span[0]), (span[1], span[1])], FAINT, 0.8, dashed=True)
    means = []
    for rows in _quantiles(predicted):
        drawn = resample([frame.groups[row] for row in rows], 1000, frame.plan.seed)
        found = estimate(mean_of(frame.expert[rows], drawn), drawn)
        at = float(predicted[rows].mean())
        if found.value is not None:
            means.append((at, found.value))
        if found.low is not None and found.high is not None:
            axes.line([(at, found.low), (at, found.high)], BLUE, 1.0)
    axes.line(means, BLUE, 0.8)
    for at, mean in means:
        axes.dot(at, mean, BLUE, 2.4)
    axes.frame(frame.found.metric, "predicted by the fitted line", "mean of experts")


def _quantiles(values: Numbers) -> list[Positions]:
    """Rows in a few bins of about the same size; equal values are never parted."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    return [np.flatnonzero(bins == each) for each in np.unique(bins)]


def forest(able: Sequence[Following]) -> Drawing:
    """The correlations of all metrics with their intervals, the best on top."""
    ordered = sorted(able, key=lambda each: -(each.pearson.value or 0.0))
    row, left = 34.0, 150.0
    drawing = Drawing(
        left + 300, 70 + row * len(ordered) + 30, "Correlation with experts, 95 % intervals"
    )
    drawing.description = "; ".join(f"{e.metric} {e.pearson.value:.3f}" for e in ordered)
    drawing.add(Label(drawing.width / 2, 18, drawing.title, LARGE, "middle"))
    bounds = [b for e in ordered for c in e.correlations for b in (c.low, c.high, c.value, 0.0)]
    x = spread([bound for bound in bounds if bound is not None])
    axes = Axes(drawing, left, 46, 270, row * len(ordered), x, (0, len(ordered)))
    axes.ticks_below(steps(*x))
    axes.line([(0, 0), (0, len(ordered))], FAINT, 0.8, dashed=True)
    for place, each in enumerate(ordered):
        height = len(ordered) - place - 0.5
        name = fitted(each.metric, NORMAL, left - 20)
        drawing.add(Label(left - 8, axes.at(0, height)[1] + 3, name, NORMAL, "end"))
        for shift, colour, found in zip(
            (0.25, 0.0, -0.25), (BLUE, ORANGE, GREEN), each.correlations, strict=True
        ):
            if found.low is not None and found.high is not None:
                axes.line([(found.low, height + shift), (found.high, height + shift)], colour)
            if found.value is not None:
                axes.dot(found.value, height + shift, colour, 2.6)
    axes.frame("", "correlation", "")
    _legend(drawing, left, 36, [("Pearson", BLUE), ("Spearman", ORANGE), ("Kendall", GREEN)])
    return drawing


def _legend(drawing: Drawing, x: float, y: float, names: Sequence[tuple[str, str]]) -> None:
    for name, colour in names:
        drawing.add(Area(box(x, y - 6, 8, 6), colour))
        label = Label(x + 11, y, name, SMALL)
        drawing.add(label)
        x += 11 + label.width + 14


def heatmap(panel: Panel, names: Sequence[str], coefficient: Coefficient) -> Drawing:
    """How alike metrics are to each other and to experts, as colours and numbers."""
    columns = {"experts": panel.expert} | {name: panel.metrics[name].rising for name in names}
    cell, left, top = 36.0, 120.0, 110.0
    side = cell * len(columns)
    drawing = Drawing(
        left + side + 20, top + side + 16, f"{coefficient.value.title()} correlation of metrics"
    )
    drawing.description = f"Correlations of {', '.join(columns)}"
    drawing.add(Label(drawing.width / 2, 18, drawing.title, LARGE, "middle"))
    for row, (name, one) in enumerate(columns.items()):
        y = top + row * cell
        label = fitted(name, SMALL, left - 10)
        drawing.add(Label(left - 5, y + cell / 2 + 3, label, SMALL, "end"))
        head = fitted(name, SMALL, top - 30)
        drawing.add(Label(left + (row + 0.6) * cell, top - 5, head, SMALL, turned=True))
        for column, other in enumerate(columns.values()):
            _cell(drawing, left + column * cell, y, cell, _alike(one, other, coefficient))
    corners = box(left, top, side, side)
    drawing.add(Line([*corners, corners[0]], INK, 0.8))
    return drawing


def _alike(one: Numbers, other: Numbers, coefficient: Coefficient) -> float | None:
    both = ~np.isnan(one) & ~np.isnan(other)
    x, y = one[both], other[both]
    if len(x) < 2 or is_constant(x) or is_constant(y):
        return None
    alone = np.zeros(len(x), dtype=np.intp)
    return float(weighted(coefficient, x, y, alone, 1)(np.ones((1, 1)))[0])


def _cell(drawing: Drawing, x: float, y: float, size: float, value: float | None) -> None:
    """Blue for alike, orange for opposed, white for neither."""
    share = 0.0 if value is None else min(1.0, abs(value))
    colour = mix(PAPER, BLUE if (value or 0.0) >= 0 else ORANGE, share)
    text = "none" if value is None else f"{value:.2f}"
    ink = PAPER if share > 0.6 else INK
    drawing.add(
        Area(box(x, y, size, size), colour),
        Label(x + size / 2, y + size / 2 + 3, text, SMALL, "middle", ink),
    )

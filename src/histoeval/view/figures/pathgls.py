"""Figure 3 of the PathGLS paper: repeats, and trust without each dimension, beside the paper's."""

from collections.abc import Sequence

from histoeval.experiments.benchmark import JudgeVariation
from histoeval.experiments.pathgls.beside import AblationBeside
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

NAME_WIDTH = 120.0
BAR = 0.38


@drawing
def figure_3(repeats: Sequence[JudgeVariation], bars: Sequence[AblationBeside]) -> Canvas:
    """Both panels; `bars` are those of one data set and one assumption about answers."""
    title = "PathGLS: repeats, and trust without each dimension"
    figure = blank(640, 290, title)
    left, right = figure.subplots(1, 2, width_ratios=(2, 3))
    left.set_title("(a) standard deviation between repeats")
    for place, each in enumerate(repeats):
        value = each.spread.value or 0.0
        left.barh(place, value, height=0.5, color=BLUE)
        left.text(value, place, f" {value:.4f}", va="center", size=SMALL)
    names = [fitted(each.name, SMALL, NAME_WIDTH) for each in repeats]
    left.set_yticks(range(len(repeats)), names)
    left.invert_yaxis()
    left.set(xlim=(0, max([0.05, *((each.spread.high or 0.0) * 1.3 for each in repeats)])))
    described = _bars(right, bars)
    return finished(figure, title, described)


def _bars(axes: object, bars: Sequence[AblationBeside]) -> str:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes), "one of the two panels"
    data = f"{bars[0].data}, answers {bars[0].answers}" if bars else "nothing measured"
    axes.set_title(f"(b) rank correlation with the error hierarchy ({data})")
    told = []
    for place, bar in enumerate(bars):
        name = f"without {bar.without}" if bar.without else "all"
        for shift, value, colour in (
            (-BAR / 2, bar.spearman.value, BLUE),
            (BAR / 2, bar.paper, ORANGE),
        ):
            if value is not None:
                axes.bar(place + shift, value, width=BAR, color=colour)
                axes.text(place + shift, 0.02, f"{value:.2f}", ha="center", size=SMALL)
        if bar.spearman.low is not None and bar.spearman.high is not None:
            axes.plot([place - BAR / 2] * 2, [bar.spearman.low, bar.spearman.high], color=INK)
        told.append(f"{name}: ours {bar.spearman.value}, paper {bar.paper}")
    axes.set_xticks(
        range(len(bars)), [f"without\n{bar.without}" if bar.without else "all" for bar in bars]
    )
    axes.set(ylabel="Spearman (95 % interval)")
    for label, colour in (("ours", BLUE), ("paper", ORANGE)):
        axes.bar(0, 0, color=colour, label=label)
    axes.legend(loc="upper right")
    return "; ".join(told)

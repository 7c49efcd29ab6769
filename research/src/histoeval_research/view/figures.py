"""Figures of corpora and experiments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval.resources import resource_text
from histoeval.run.models import Models, load_models, load_reader
from histoeval.statistics.resampling import Estimate
from histoeval.table import number
from histoeval.view.figures.canvas import (
    BLUE,
    DARK_YELLOW,
    INK,
    LARGE,
    ORANGE,
    PALETTE,
    POINTS,
    SMALL,
    Canvas,
    blank,
    drawable,
    drawing,
    finished,
    fitted,
    page,
    width_of,
)
from histoeval_research.experiments.pathgls.cases import assumptions, paper
from histoeval_research.experiments.tables import Row
from histoeval_research.view.annotated_report import annotated
from histoeval_research.view.words import (
    Embed,
    Vectors,
    count_terms,
    density,
    flatten,
    frequent,
    neighbour_vectors,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SAMPLE = 1000
MAP_WORDS = 400
MAX_CHARS = 1500
"""Of a report that is drawn."""

Box = tuple[float, float, float, float]
"""Left, top, width and height."""

CLOUD = (480.0, 300.0)
HEAD = 30.0
"""Room for the title above a cloud."""

CLOUD_WORDS = 90
MAX_FONT_SIZE = 44.0
CLOUD_COLOURS = (*PALETTE[:4], DARK_YELLOW)
GRID = 56
LEVELS = (0.15, 0.4, 0.7)
"""Shares of the highest density at which the colour of the map grows stronger."""

MAX_NAMED = 60
"""Words of the map that get a label."""


@cache
def stopwords() -> frozenset[str]:
    """Frequent words that are not about the content of a report."""
    lines = resource_text("histoeval_research/view/data/stopwords.txt").splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


def sample_texts(
    path: Path, most: int = SAMPLE, seed: int = 0, text: str | None = None
) -> list[str]:
    """A random sample of the texts of a corpus, in their order."""
    texts = [row.text for row in open_reports(path, text=text).rows() if row.text is not None]
    if not texts:
        raise InputError(f"{path} has no text that can be read")
    if len(texts) <= most:
        return texts
    chosen = np.random.default_rng(seed).choice(len(texts), most, replace=False)
    return [texts[place] for place in sorted(chosen)]


def corpus_figures(
    corpora: Sequence[tuple[str, Sequence[str]]],
    *,
    embed: Embed | None = None,
    models: Models | None = None,
    shown: int = 1,
) -> Iterator[tuple[str, Canvas]]:
    """Every figure with its file name; `corpora` are two names, each with its texts.

    `embed` gives vectors of words; by default they are computed from the texts.
    """
    stop = stopwords()
    yield "words_map", _map(corpora, embed, stop)
    for place, (name, texts) in enumerate(corpora, start=1):
        yield f"words_cloud_{place}", word_cloud(count_terms(texts, stop), name)
    if not shown:
        return
    reader = load_reader(models or Models())
    for place, (name, texts) in enumerate(corpora, start=1):
        fitting = [text for text in texts if len(text) <= MAX_CHARS] or [
            min(texts, key=len)[:MAX_CHARS]
        ]
        chosen = sorted(fitting, key=lambda text: -len(text))[:shown]
        for nth, report in enumerate(reader.read(chosen), start=1):
            yield f"annotated_{place}_{nth}", annotated(report, f"{name}, as it was read")


def encoder_embed(models: Models) -> Embed:
    """Vectors of words by a Hugging Face encoder."""
    encoder: Any = load_models(["bertscore"], models)["encoder"]
    return lambda words: np.asarray(encoder.embed(list(words)), dtype=np.float64)


@drawing
def word_cloud(counts: Mapping[str, int], title: str) -> Canvas:
    """The most frequent words, larger where they are more frequent; none covers another."""
    width, height = CLOUD
    figure, axes = page(width, height + HEAD)
    axes.text(width / 2, 20, drawable(title), size=LARGE, ha="center")
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:CLOUD_WORDS]
    widths = {word: width_of(word, 1.0) for word, _ in ordered}
    # all words together fill about half of the cloud
    area = sum(widths[word] * often / ordered[0][1] for word, often in ordered) or 1.0
    largest = min(MAX_FONT_SIZE, math.sqrt(width * height / 2 / area))
    taken: list[Box] = []
    shown = []
    for place, (word, often) in enumerate(ordered):
        size = max(SMALL, largest * math.sqrt(often / ordered[0][1]))
        if box := _free_box(widths[word] * size, size, taken):
            taken.append(box)
            colour = CLOUD_COLOURS[place % len(CLOUD_COLOURS)]
            baseline = box[1] + 0.78 * size + HEAD
            axes.text(box[0], baseline, drawable(word), size=size, color=colour)
            shown.append(f"{word} {often}")
    return finished(figure, title, f"Most frequent words: {', '.join(shown)}")


def _free_box(wide: float, high: float, taken: Sequence[Box]) -> Box | None:
    """The first free box on a spiral from the middle."""
    width, height = CLOUD
    for step in range(3000):
        angle, reach = step * 0.35, 0.42 * step**0.85
        left = width / 2 + reach * math.cos(angle) - wide / 2
        top = height / 2 + 0.62 * reach * math.sin(angle) - high / 2
        inside = min(left, top) >= 4 and left + wide <= width - 4 and top + high <= height - 4
        if inside and not any(
            left < x + w and x < left + wide and top < y + h and y < top + high
            for x, y, w, h in taken
        ):
            return left, top, wide, high
    return None


def _map(
    corpora: Sequence[tuple[str, Sequence[str]]], embed: Embed | None, stop: frozenset[str]
) -> Canvas:
    counts = {name: frequent(texts, stop, MAP_WORDS) for name, texts in corpora}
    words = sorted({word for found in counts.values() for word in found})
    if len(words) < 3:
        raise InputError("the corpora have too few words for a map of them")
    every = [text for _, texts in corpora for text in texts]
    vectors: Vectors = neighbour_vectors(every, words) if embed is None else embed(words)
    often = {name: [found[word] for word in words] for name, found in counts.items()}
    how = "from their neighbours" if embed is None else "by the encoder"
    return word_map(
        flatten(np.asarray(vectors, dtype=np.float64)), words, often, f"Word embeddings {how}"
    )


@drawing
def word_map(
    points: Vectors, words: Sequence[str], often: Mapping[str, Sequence[int]], title: str
) -> Canvas:
    """Words of two corpora in two dimensions, and the density of the words of each.

    `often` gives for each corpus the count of each word.
    """
    figure = blank(470, 420, title)
    axes = figure.add_subplot()
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.set(xlim=_limits(points[:, 0]), ylim=_limits(points[:, 1]))
    colours = dict(zip(often, (PALETTE[4], PALETTE[0]), strict=True))
    shares = {name: np.array(counts) / max(1, sum(counts)) for name, counts in often.items()}
    for name, counts in often.items():
        _shade(axes, points, np.array(counts, dtype=np.float64), colours[name])
    first, second = often
    more = shares[first] >= shares[second]
    for name, mine in ((first, more), (second, ~more)):
        x, y = points[mine].T
        colour, label = colours[name], drawable(name)
        axes.scatter(x, y, s=9, color=colour, alpha=0.8, linewidths=0, label=label)
    figure.legend(loc="outside lower center", ncols=2, markerscale=2)
    picture = finished(figure, title, f"Word embeddings of {' and '.join(often)}")
    _label_words(axes, points, words, np.stack(list(shares.values())).max(axis=0))
    return picture


def _limits(values: Vectors) -> tuple[float, float]:
    """The limits of an axis with some margin; never from a number to itself."""
    low, high = float(values.min()), float(values.max())
    margin = (high - low) * 0.05 or 0.5
    return low - margin, high + margin


def _shade(axes: Axes, points: Vectors, weights: Vectors, colour: str) -> None:
    """Areas that are darker in steps where words are denser."""
    across, down = (np.linspace(*span, GRID) for span in (axes.get_xlim(), axes.get_ylim()))
    found = density(points, weights, across, down)
    for least in LEVELS:
        levels = [least, 2.0]
        axes.contourf(across, down, found / found.max(), levels, colors=[colour], alpha=0.15)


def _label_words(axes: Axes, points: Vectors, words: Sequence[str], most: Vectors) -> None:
    """Labels of the most frequent words, where there is room."""
    inch = axes.figure.dpi
    places = axes.transData.transform(points) * POINTS / inch
    edge = axes.bbox.x1 * POINTS / inch
    taken: list[tuple[float, float, float]] = []
    for at in np.argsort(-most, kind="stable")[:MAX_NAMED]:
        x, y = places[at]
        width = width_of(words[at], SMALL) + 3
        clear = all(abs(y - b) > SMALL or x + width < a or a + wide < x for a, b, wide in taken)
        if clear and x + width < edge:
            taken.append((x, y, width))
            axes.annotate(
                drawable(words[at]),
                tuple(points[at]),
                (3, 0),
                textcoords="offset points",
                size=SMALL,
                va="center_baseline",
            )


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
    """Whose each horizontal bar is, the first on top."""
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
    known = [(name, each.value) for name, each in named if each.value is not None]
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

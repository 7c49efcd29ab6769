"""Figures of two corpora, as in the HARE paper: word clouds, a word map, annotated reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval.resources import resource_text
from histoeval.run.models import Models, load_models, load_reader
from histoeval.view.figures.canvas import (
    DARK_YELLOW,
    LARGE,
    PALETTE,
    POINTS,
    SMALL,
    Canvas,
    blank,
    drawable,
    drawing,
    finished,
    page,
    width_of,
)
from histoeval_research.view.figures.annotated_report import annotated
from histoeval_research.view.figures.words import (
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
    lines = resource_text("histoeval_research/view/figures/data/stopwords.txt").splitlines()
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
        for number, report in enumerate(reader.read(chosen), start=1):
            yield f"annotated_{place}_{number}", annotated(report, f"{name}, as it was read")


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

"""Figures of corpora: word clouds, a map of words, and annotated reports."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
from histoeval_research.view.annotated_report import annotated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vectors = NDArray[np.float64]
Embed = Callable[[Sequence[str]], Vectors]

WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")  # "low-grade", and no "h2o"
BREAK = re.compile(r"[^\w\s'-]|\n|\d")  # what no term goes across
MIN_LETTERS = 2
WINDOW = 4  # words up to this far apart are neighbours
DIMENSIONS = 50
MAP_WORDS, MAX_NAMED = 400, 60  # words of each corpus on the map, and of all that get a label
# shares of the highest density at which the colour of the map grows stronger
SHADES = (0.15, 0.4, 0.7)
GRID = 56
CLOUD = (480.0, 300.0)
CLOUD_HEAD = 30.0
CLOUD_WORDS, MAX_FONT_SIZE = 90, 44.0
CLOUD_COLOURS = (*PALETTE[:4], DARK_YELLOW)
MAX_CHARS = 1500  # of a report that is drawn

Box = tuple[float, float, float, float]  # left, top, width and height


@cache
def stopwords() -> frozenset[str]:
    lines = resource_text("histoeval_research/view/data/stopwords.txt").splitlines()
    return frozenset(word for line in lines if line[:1] != "#" for word in line.split())


def sample_texts(path: Path, most: int, seed: int = 0, text: str | None = None) -> list[str]:
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
    counts = {}
    for name, texts in corpora:
        content = Counter(word for t in texts for word in words_of(t) if _is_content(word))
        counts[name] = Counter(dict(content.most_common(MAP_WORDS)))
    words = sorted({word for counted in counts.values() for word in counted})
    if len(words) < 3:
        raise InputError("the corpora have too few words for a map of them")
    every = [text for _, texts in corpora for text in texts]
    vectors = neighbour_vectors(every, words) if embed is None else embed(words)
    often = {name: [counted[word] for word in words] for name, counted in counts.items()}
    title = f"Word embeddings {'from their neighbours' if embed is None else 'by the encoder'}"
    points = flatten(np.asarray(vectors, dtype=np.float64))
    yield "words_map", word_map(points, words, often, title)
    for place, (name, texts) in enumerate(corpora, start=1):
        yield f"words_cloud_{place}", word_cloud(count_terms(texts), name)
    if not shown:
        return
    reader = load_reader(models or Models())
    for place, (name, texts) in enumerate(corpora, start=1):
        short = [text for text in texts if len(text) <= MAX_CHARS]
        chosen = sorted(short or [min(texts, key=len)[:MAX_CHARS]], key=len, reverse=True)[:shown]
        for nth, report in enumerate(reader.read(chosen), start=1):
            yield f"annotated_{place}_{nth}", annotated(report, f"{name}, as it was read")


def encoder_embed(models: Models) -> Embed:
    encoder: Any = load_models(["bertscore"], models)["encoder"]
    return lambda words: np.asarray(encoder.embed(list(words)), dtype=np.float64)


def words_of(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(text)]


def _is_content(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word not in stopwords()


def count_terms(texts: Iterable[str]) -> Counter[str]:
    """Counts of words, and of two words that mostly occur together, as `lymph node`.

    Words that are counted with their neighbour are not counted alone.
    """
    terms: Counter[str] = Counter()
    double: Counter[tuple[str, str]] = Counter()
    for text in texts:
        terms.update(word for word in words_of(text) if _is_content(word))
        double.update(
            pair
            for piece in BREAK.split(text)
            for pair in pairwise(words_of(piece))
            if all(map(_is_content, pair))
        )
    single = Counter(terms)
    for (one, two), often in double.items():
        if one != two and often > 1 and 2 * often >= min(single[one], single[two]):
            terms[f"{one} {two}"] = often
            terms[one] -= often
            terms[two] -= often
    return +terms


def neighbour_vectors(texts: Sequence[str], vocabulary: Sequence[str]) -> Vectors:
    """A vector for each word from its neighbours: no model is needed.

    Positive pointwise mutual information within a few words, reduced by SVD.
    """
    place = {word: at for at, word in enumerate(vocabulary)}
    together = np.zeros((len(place), len(place)))
    for text in texts:
        known = [place[word] for word in words_of(text) if word in place]
        for apart in range(1, WINDOW + 1):
            np.add.at(together, (known[:-apart], known[apart:]), 1.0)
    together += together.T
    total = together.sum()
    if total == 0:
        raise InputError("the texts are too short: no two known words are near each other")
    alone = together.sum(axis=1) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.log(together / total / np.outer(alone, alone))
    positive = np.where(np.isfinite(shared), np.maximum(shared, 0), 0)
    left, sizes, _ = np.linalg.svd(positive)
    return np.asarray(left[:, :DIMENSIONS] * np.sqrt(sizes[:DIMENSIONS]))


def flatten(vectors: Vectors) -> Vectors:
    left, sizes, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    flat = left[:, :2] * sizes[:2]
    if flat.shape[1] < 2:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    signs = np.sign(flat[np.abs(flat).argmax(axis=0), [0, 1]])
    return np.asarray(flat * np.where(signs == 0, 1, signs))


def density(points: Vectors, weights: Vectors, across: Vectors, down: Vectors) -> Vectors:
    """A Gaussian kernel density of weighted points on a grid (Scott's rule)."""
    share = weights / weights.sum()
    effective = 1 / float((share**2).sum())
    spread = np.sqrt(share @ (points - share @ points) ** 2)
    width = effective ** (-1 / 6) * spread
    width = np.maximum(width, [across[1] - across[0], down[1] - down[0]])
    x = np.exp(-0.5 * ((across[:, None] - points[:, 0]) / width[0]) ** 2)
    y = np.exp(-0.5 * ((down[:, None] - points[:, 1]) / width[1]) ** 2)
    return np.asarray((y * share) @ x.T)


@drawing
def word_cloud(counts: Mapping[str, int], title: str) -> Canvas:
    """The most frequent words, larger where they are more frequent; none covers another."""
    width, height = CLOUD
    figure, axes = page(width, height + CLOUD_HEAD)
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
            baseline = box[1] + 0.78 * size + CLOUD_HEAD
            axes.text(box[0], baseline, drawable(word), size=size, color=colour)
            shown.append(f"{word} {often}")
    return finished(figure, title, f"Most frequent words: {', '.join(shown)}")


def _free_box(wide: float, high: float, taken: Sequence[Box]) -> Box | None:
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
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, (high - low) * 0.05, 0.5)
    (left, bottom), (right, top) = low - margin, high + margin
    axes.set(xlim=(left, right), ylim=(bottom, top))
    across, down = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    counts = {name: np.array(column, dtype=np.float64) for name, column in often.items()}
    shares = np.stack([column / max(1, column.sum()) for column in counts.values()])
    is_first = shares[0] >= shares[1]
    colours = (PALETTE[4], PALETTE[0])
    for column, colour in zip(counts.values(), colours, strict=True):
        dense = density(points, column, across, down)
        for shade in SHADES:  # areas are darker in steps where words are denser
            levels = [shade, 2.0]
            axes.contourf(across, down, dense / dense.max(), levels, colors=[colour], alpha=0.15)
    for name, own, colour in zip(counts, (is_first, ~is_first), colours, strict=True):
        x, y = points[own].T
        axes.scatter(x, y, s=9, color=colour, alpha=0.8, linewidths=0, label=drawable(name))
    figure.legend(loc="outside lower center", ncols=2, markerscale=2)
    picture = finished(figure, title, f"Word embeddings of {' and '.join(often)}")
    _label_words(axes, points, words, shares.max(axis=0))
    return picture


def _label_words(axes: Axes, points: Vectors, words: Sequence[str], most: Vectors) -> None:
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

"""The words of a corpus: their counts, and their vectors in two dimensions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import InputError

Vectors = NDArray[np.float64]
Embed = Callable[[Sequence[str]], Vectors]

WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
BREAK = re.compile(r"[^\w\s'-]|\n|\d")
"""Separates terms."""

WINDOW = 4
DIMENSIONS = 50
MIN_LETTERS = 2


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without numbers."""
    return [word.casefold() for word in WORD.findall(text)]


def count_terms(texts: Iterable[str], stop: frozenset[str]) -> Counter[str]:
    """Counts of words, and of two words that mostly occur together, as `lymph node`.

    Words that are counted with their neighbour are not counted alone.
    """
    single: Counter[str] = Counter()
    double: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = words_of(text)
        single.update(word for word in words if _is_content(word, stop))
        double.update(
            (one, two)
            for piece in BREAK.split(text)
            for one, two in pairwise(words_of(piece))
            if _is_content(one, stop) and _is_content(two, stop)
        )
    terms = Counter(single)
    for (one, two), often in double.items():
        if one != two and often > 1 and 2 * often >= min(single[one], single[two]):
            terms[f"{one} {two}"] = often
            terms[one] -= often
            terms[two] -= often
    return Counter({term: often for term, often in terms.items() if often > 0})


def _is_content(word: str, stop: frozenset[str]) -> bool:
    return len(word) >= MIN_LETTERS and word not in stop


def frequent(texts: Iterable[str], stop: frozenset[str], most: int) -> Counter[str]:
    """The most frequent words."""
    counts = Counter(word for text in texts for word in words_of(text) if _is_content(word, stop))
    return Counter(dict(counts.most_common(most)))


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
    """The first two principal components of vectors."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    flat = left[:, :2] * sizes[:2]
    if flat.shape[1] < 2:
        flat = np.column_stack([flat, np.zeros(len(flat))])
    signs = np.sign(flat[np.abs(flat).argmax(axis=0), [0, 1]])
    return np.asarray(flat * np.where(signs == 0, 1, signs))


def density(points: Vectors, weights: Vectors, across: Vectors, down: Vectors) -> Vectors:
    """A Gaussian kernel density of weighted points on a grid (Scott's rule)."""
    share = weights / weights.sum()
    effective = 1 / float((share**2).sum())
    width = effective ** (-1 / 6) * _spread(points, share)
    width = np.maximum(width, [across[1] - across[0], down[1] - down[0]])
    x = np.exp(-0.5 * ((across[:, None] - points[:, 0]) / width[0]) ** 2)
    y = np.exp(-0.5 * ((down[:, None] - points[:, 1]) / width[1]) ** 2)
    return np.asarray((y * share) @ x.T)


def _spread(points: Vectors, share: Vectors) -> Vectors:
    mean = share @ points
    return np.asarray(np.sqrt(share @ (points - mean) ** 2))

"""Figures of two corpora, as the HARE paper has them: words, their embedding, annotated reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval.run.models import Models, load_reader
from histoeval.view.figures.annotated_report import annotated
from histoeval.view.figures.canvas import Canvas
from histoeval.view.figures.corpora import stopwords, word_cloud, word_map
from histoeval.view.figures.words import (
    Embed,
    Vectors,
    count_terms,
    flatten,
    frequent,
    neighbour_vectors,
)

SAMPLE = 1000
WORDS = 400
LONGEST_SHOWN = 1500


def sample_texts(
    path: Path, most: int = SAMPLE, seed: int = 0, text: str | None = None
) -> list[str]:
    """So many texts of a corpus, drawn at random and in their order."""
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
    """Every figure with the name of its file; `corpora` are two names, each with its texts.

    `embed` makes vectors of words; without it they are learned from the texts themselves.
    """
    stop = stopwords()
    yield "words_map", _map(corpora, embed, stop)
    for place, (name, texts) in enumerate(corpora, start=1):
        yield f"words_cloud_{place}", word_cloud(count_terms(texts, stop), name)
    if not shown:
        return
    reader = load_reader(models or Models())
    for place, (name, texts) in enumerate(corpora, start=1):
        fitting = [text for text in texts if len(text) <= LONGEST_SHOWN] or [
            min(texts, key=len)[:LONGEST_SHOWN]
        ]
        chosen = sorted(fitting, key=lambda text: -len(text))[:shown]
        for number, report in enumerate(reader.read(chosen), start=1):
            yield f"annotated_{place}_{number}", annotated(report, f"{name}, as it was read")


def _map(
    corpora: Sequence[tuple[str, Sequence[str]]], embed: Embed | None, stop: frozenset[str]
) -> Canvas:
    counts = {name: frequent(texts, stop, WORDS) for name, texts in corpora}
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


def encoder_embed(models: Models) -> Embed:
    """Vectors of words by a Hugging Face encoder."""
    from histoeval.run.models import load_models

    encoder: Any = load_models(["bertscore"], models)["encoder"]
    return lambda words: np.asarray(encoder.embed(list(words)), dtype=np.float64)

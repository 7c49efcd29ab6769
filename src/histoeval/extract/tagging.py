"""From the probabilities of a token classifier to entities, and from entities to marked text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from histoeval.extract.labels import Tag
from histoeval.report import Entity, EntityType

Offsets = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    tag: Tag
    score: float


def entities_of(
    text: str,
    probabilities: NDArray[np.float32],
    offsets: Offsets,
    words: Sequence[int | None],
    tags: Sequence[Tag],
) -> list[Entity]:
    """Entities of one text: the tokens of a word are averaged, words of one type are joined.

    This is the "average" strategy of the Transformers pipeline, with words as the tokenizer sees
    them. An entity is as sure as its words are on average.
    """
    runs: list[tuple[EntityType, list[_Word]]] = []
    running: EntityType | None = None
    for word in _words(text, probabilities, offsets, words, tags):
        kind = word.tag.type
        if kind is not None and kind == running and not word.tag.begins:
            runs[-1][1].append(word)
        elif kind is not None:
            runs.append((kind, [word]))
        running = kind
    return [_join(text, kind, run) for kind, run in runs]


def mark(text: str, head: tuple[int, int], tail: tuple[int, int]) -> str:
    """The text with [E1] around the head and [E2] around the tail, whichever comes first."""
    inserts = sorted(
        [
            (head[0], 1, "[E1]"),
            (head[1], 0, "[/E1]"),
            (tail[0], 1, "[E2]"),
            (tail[1], 0, "[/E2]"),
        ]
    )
    pieces, last = [], 0
    for position, _, marker in inserts:
        pieces += [text[last:position], marker]
        last = position
    return "".join([*pieces, text[last:]])


def _words(
    text: str,
    probabilities: NDArray[np.float32],
    offsets: Offsets,
    words: Sequence[int | None],
    tags: Sequence[Tag],
) -> Iterator[_Word]:
    for word, group in groupby(range(len(words)), key=lambda i: words[i]):
        tokens = list(group)
        start, end = offsets[tokens[0]][0], offsets[tokens[-1]][1]
        if word is None or not text[start:end].strip():
            continue
        average = probabilities[tokens].mean(axis=0)
        best = int(average.argmax())
        yield _Word(start, end, tags[best], float(average[best]))


def _join(text: str, kind: EntityType, run: list[_Word]) -> Entity:
    covered = text[run[0].start : run[-1].end]
    start = run[0].start + len(covered) - len(covered.lstrip())
    found = covered.strip()
    score = sum(word.score for word in run) / len(run)
    return Entity(text=found, start=start, end=start + len(found), type=kind, score=min(1.0, score))

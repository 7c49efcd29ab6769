"""From the labels and probabilities of a token classifier to entities, and to marked text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.labels import OUTSIDE, given_names, known_names, plain
from histoeval.report import Entity, EntityType

Offsets = Sequence[tuple[int, int]]

_NO_RELATION = re.compile(r"no|not.*|no[nt]?_?rel.*|un.*|none|negative|false|o|0|label0")


@dataclass(frozen=True, slots=True)
class Tag:
    """A label of a token classifier: the type, or None for outside, and whether one begins."""

    type: EntityType | None
    begins: bool


def read_tags(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> list[Tag]:
    """The meaning of each label; `names` has those that cannot be guessed.

    A label can also mean nothing: None, or "O".
    """
    given = given_names(names)
    tags = [_read_tag(label, given) for label in labels]
    if unknown := [label for label, tag in zip(labels, tags, strict=True) if tag is None]:
        raise ModelError(
            f"the model has labels that are not known here: {', '.join(unknown)}. Say what each "
            f"means, {', '.join(EntityType)} or O for nothing, in a JSON file such as "
            f'{{"{unknown[0]}": "diagnosis"}} and give it with --labels'
        )
    return [tag for tag in tags if tag is not None]


def relation_label(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> int:
    """Which of two labels says that there is a relation; `names` may call the other one "none"."""
    if len(labels) != 2:
        raise ModelError(f"a relation model has two labels, this one has {len(labels)}: {labels}")
    outside = {name for name, meaning in given_names(names).items() if meaning in OUTSIDE}
    negative = [
        position
        for position, label in enumerate(labels)
        if plain(label) in outside or _NO_RELATION.fullmatch(plain(label))
    ]
    if len(negative) != 1:
        raise ModelError(
            f"which of the labels {labels[0]!r} and {labels[1]!r} says that there is no relation? "
            f'Say so in a JSON file such as {{"{labels[0]}": "none"}} and give it with --labels'
        )
    return 1 - negative[0]


def _read_tag(label: str, given: Mapping[str, str]) -> Tag | None:
    prefix, _, rest = label.partition("-")
    has_prefix = prefix in ("B", "I") and bool(rest)
    name = plain(rest if has_prefix else label)
    known = known_names().get(name)
    meaning = given.get(plain(label), given.get(name, "o" if label == "O" else known))
    if meaning in OUTSIDE:
        return Tag(None, begins=False)
    if meaning not in set(EntityType):
        return None
    return Tag(EntityType(meaning), begins=has_prefix and prefix == "B")


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

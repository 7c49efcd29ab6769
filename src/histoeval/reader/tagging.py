"""From the labels and probabilities of a token classifier to entities, and to marked text.

The joint reader has tags of its own and looks for the best path through them: a token begins (B),
continues (I) or ends (E) an entity, is one by itself (S), or stands outside (O). Paths that make no
sense, such as an end without a beginning, are never taken.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.labels import OUTSIDE, given_names, known_names, plain
from histoeval.report import Assertion, Entity, EntityType

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


class TaggedText(NamedTuple):
    """A text, its tokens' places in it, and the word that each token is of, if of any."""

    text: str
    offsets: Offsets
    words: Sequence[int | None]


def entities_of(
    texts: Sequence[TaggedText], probabilities: NDArray[np.float32], tags: Sequence[Tag]
) -> list[list[Entity]]:
    """Entities of each text: the tokens of a word are averaged, words of one type are joined.

    This is the "average" strategy of the Transformers pipeline, with words as the tokenizer sees
    them. An entity is as sure as its words are on average. The rows of all texts' tokens come one
    below the other.
    """
    if not texts:
        return []
    starts = [_word_starts(tagged.words) for tagged in texts]
    lengths = [np.diff(first, append=len(t.words)) for first, t in zip(starts, texts, strict=True)]
    before = np.cumsum([0, *(len(tagged.words) for tagged in texts)])[:-1]
    first = np.concatenate([n + start for n, start in zip(before, starts, strict=True)])
    average = _averages(probabilities, first, np.concatenate(lengths))
    best = average.argmax(axis=1)
    scores = average[np.arange(len(best)), best].tolist()
    numbers = iter(zip(best.tolist(), scores, strict=True))
    return [
        _entities(tagged, start.tolist(), length.tolist(), numbers, tags)
        for tagged, start, length in zip(texts, starts, lengths, strict=True)
    ]


def _word_starts(words: Sequence[int | None]) -> NDArray[np.int64]:
    """The first token of each word, and of each run of tokens of none."""
    numbers = np.array([-1 if word is None else word for word in words])
    return np.flatnonzero(np.diff(numbers, prepend=-2))


def _averages(
    rows: NDArray[np.float32], first: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The mean of as many rows from each first one on, added in their order."""
    total = rows[first]
    for step in range(1, int(lengths.max(initial=1))):
        longer = np.flatnonzero(lengths > step)
        total[longer] += rows[first[longer] + step]
    return np.divide(total, lengths[:, None].astype(np.float32), dtype=np.float32)


def _entities(
    tagged: TaggedText,
    starts: list[int],
    lengths: list[int],
    numbers: Iterator[tuple[int, float]],
    tags: Sequence[Tag],
) -> list[Entity]:
    """Words of one type that follow each other, joined; what is no word is passed over."""
    runs: list[tuple[EntityType, list[_Word]]] = []
    running: EntityType | None = None
    for first, length, (best, score) in zip(starts, lengths, numbers, strict=False):
        tag = tags[best]
        if tag.type is None and running is None:
            continue
        start, end = tagged.offsets[first][0], tagged.offsets[first + length - 1][1]
        if tagged.words[first] is None or not tagged.text[start:end].strip():
            continue
        if tag.type is not None and tag.type == running and not tag.begins:
            runs[-1][1].append(_Word(start, end, tag, score))
        elif tag.type is not None:
            runs.append((tag.type, [_Word(start, end, tag, score)]))
        running = tag.type
    return [_join(tagged.text, kind, run) for kind, run in runs]


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


def _join(text: str, kind: EntityType, run: list[_Word]) -> Entity:
    covered = text[run[0].start : run[-1].end]
    start = run[0].start + len(covered) - len(covered.lstrip())
    found = covered.strip()
    score = sum(word.score for word in run) / len(run)
    return Entity(text=found, start=start, end=start + len(found), type=kind, score=min(1.0, score))


Floats = NDArray[np.float32]

TYPES = tuple(EntityType)
ASSERTIONS = tuple(Assertion)
ASSERTED = frozenset({EntityType.DIAGNOSIS, EntityType.FINDING})
"""The types of which a report says whether they are there."""

TAGS = ("O", *(f"{place}-{kind}" for kind in TYPES for place in "BIES"))
_NUMBER = {tag: number for number, tag in enumerate(TAGS)}
_NEVER = np.float32(-1e9)


class TokenSpan(NamedTuple):
    """An entity as positions of its first and last token."""

    first: int
    last: int
    type: EntityType


def tags_of(spans: list[TokenSpan], length: int) -> list[int]:
    """The numbers of the tags of a text in which these entities stand."""
    tags = [_NUMBER["O"]] * length
    for first, last, kind in spans:
        if first == last:
            tags[first] = _NUMBER[f"S-{kind}"]
        else:
            tags[first : last + 1] = [_NUMBER[f"I-{kind}"]] * (last - first + 1)
            tags[first], tags[last] = _NUMBER[f"B-{kind}"], _NUMBER[f"E-{kind}"]
    return tags


def spans_of(tags: list[int]) -> list[TokenSpan]:
    """The entities of a path that makes sense."""
    spans, first = [], 0
    for position, number in enumerate(tags):
        place, _, kind = TAGS[number].partition("-")
        if place in "BS":
            first = position
        if place in "ES":
            spans.append(TokenSpan(first, position, EntityType(kind)))
    return spans


def softmax(logits: Floats) -> Floats:
    """Probabilities over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Floats = (powers / powers.sum(axis=-1, keepdims=True)).astype(logits.dtype, copy=False)
    return shares


def best_path(log_probabilities: Floats) -> list[int]:
    """The most probable tags that make sense, by dynamic programming."""
    length = len(log_probabilities)
    back = np.zeros((length, len(TAGS)), dtype=np.int64)
    score = log_probabilities[0] + _OPENING
    for position in range(1, length):
        ways = score[:, None] + _FOLLOWS
        back[position] = ways.argmax(axis=0)
        score = ways[back[position], _EACH] + log_probabilities[position]
    path = [int((score + _CLOSING).argmax())]
    for position in range(length - 1, 0, -1):
        path.append(int(back[position][path[-1]]))
    return path[::-1]


def best_paths(log_probabilities: Sequence[Floats]) -> list[list[int]]:
    """The same for many texts at once, of any lengths.

    What may follow a tag falls into two cases: an entity goes on after its B or I, and anything
    begins after all other tags, so that a step looks at each tag once and not at each pair of tags.
    """
    if not log_probabilities:
        return []
    order = sorted(range(len(log_probabilities)), key=lambda n: -len(log_probabilities[n]))
    rows = [log_probabilities[n] for n in order]
    lengths = np.array([len(each) for each in rows])
    back = np.zeros((int(lengths.max()), len(rows), len(TAGS)), dtype=np.int8)
    score = np.stack([each[0] for each in rows]) + _OPENING
    for position in range(1, len(back)):
        some = int((lengths > position).sum())
        before = score[:some]
        free = _FREE[before[:, _FREE].argmax(axis=1)]
        goes_on = before[:, _INNER] > before[:, _BEGIN]
        back[position, :some] = free[:, None]
        inner = np.where(goes_on, _INNER, _BEGIN)
        back[position, :some, _INNER] = back[position, :some, _END] = inner.T
        ways = np.take_along_axis(before, back[position, :some].astype(np.int64), axis=1)
        score[:some] = ways + np.stack([each[position] for each in rows[:some]])
    return [path for _, path in sorted(zip(order, _traced(score, back, lengths), strict=True))]


def _traced(score: Floats, back: NDArray[np.int8], lengths: NDArray[np.int64]) -> list[list[int]]:
    """The path to the best last tag of each text."""
    last = (score + _CLOSING).argmax(axis=1)
    paths = np.zeros((len(back), len(last)), dtype=np.int64)
    each = np.arange(len(last))
    for position in range(len(back) - 1, -1, -1):
        ends = position == lengths - 1
        goes_on = position < lengths - 1
        paths[position, ends] = last[ends]
        if position + 1 < len(back):
            some = each[goes_on]
            paths[position, some] = back[position + 1, some, paths[position + 1, some]]
    return [paths[:length, n].tolist() for n, length in enumerate(lengths)]


def _may_follow(one: str, other: str) -> bool:
    place, _, kind = one.partition("-")
    next_place, _, next_kind = other.partition("-")
    if place in "OES":
        return next_place in "OBS"
    return next_place in "IE" and kind == next_kind


def _allow(rows: list[list[bool]]) -> Floats:
    return np.where(np.array(rows), np.float32(0), _NEVER)


_EACH = np.arange(len(TAGS))
_FOLLOWS = _allow([[_may_follow(one, other) for other in TAGS] for one in TAGS])
_OPENING = _allow([[tag[0] in "OBS" for tag in TAGS]])[0]
_CLOSING = _allow([[tag[0] in "OES" for tag in TAGS]])[0]
_FREE = np.array([n for n, tag in enumerate(TAGS) if tag[0] in "OES"])
_BEGIN, _INNER, _END = (
    np.array([n for n, tag in enumerate(TAGS) if tag[0] == place]) for place in "BIE"
)

"""Entities from the labels and probabilities of a token classifier, and marked text.

The joint reader has tags of its own and looks for the best path through them: a token begins (B),
continues (I) or ends (E) an entity, is one by itself (S), or stands outside (O). Paths that make no
sense, such as an end without a beginning, are never taken.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.labels import OUTSIDE, given_names, known_names, plain
from histoeval.report import Assertion, Entity, EntityType

Offsets = Sequence[tuple[int, int]]

_NO_RELATION = re.compile(r"no|not.*|no[nt]?_?rel.*|un.*|none|negative|false|o|0|label0")


class Tag(NamedTuple):
    """A label of a token classifier: the type, or None for outside, and whether one begins."""

    type: EntityType | None
    begins: bool


def read_tags(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> list[Tag]:
    """The meaning of each label; `names` has those that cannot be guessed (None, "O": nothing)."""
    mapping = given_names(names)
    tags, unknown = [], []
    for label in labels:
        prefix, _, rest = label.partition("-")
        has_prefix = prefix in ("B", "I") and bool(rest)
        name = plain(rest if has_prefix else label)
        default = "o" if label == "O" else known_names().get(name)
        meaning = mapping.get(plain(label), mapping.get(name, default))
        if meaning in OUTSIDE:
            tags.append(Tag(None, begins=False))
        elif meaning in set(EntityType):
            tags.append(Tag(EntityType(meaning), begins=has_prefix and prefix == "B"))
        else:
            unknown.append(label)
    if unknown:
        raise ModelError(
            f"the model has labels that are not known here: {', '.join(unknown)}. Say what each "
            f"means, {', '.join(EntityType)} or O for nothing, in a JSON file such as "
            f'{{"{unknown[0]}": "diagnosis"}} and give it with --labels'
        )
    return tags


def relation_label(labels: Sequence[str], names: Mapping[str, str | None] | None = None) -> int:
    """Return which label says that there is a relation; `names` may call the other one "none"."""
    if len(labels) != 2:
        raise ModelError(f"a relation model has two labels, this one has {len(labels)}: {labels}")
    outside_names = {name for name, meaning in given_names(names).items() if meaning in OUTSIDE}
    negative = [
        position
        for position, label in enumerate(labels)
        if plain(label) in outside_names or _NO_RELATION.fullmatch(plain(label))
    ]
    if len(negative) != 1:
        raise ModelError(
            f"which of the labels {labels[0]!r} and {labels[1]!r} says that there is no relation? "
            f'Say so in a JSON file such as {{"{labels[0]}": "none"}} and give it with --labels'
        )
    return 1 - negative[0]


class TaggedText(NamedTuple):
    """A text, the spans of its tokens, and the word that each token is of, if of any."""

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
    starts = []
    for tagged in texts:  # the first token of each word, and of each run of tokens of none
        numbers = np.array([-1 if word is None else word for word in tagged.words])
        starts.append(np.flatnonzero(np.diff(numbers, prepend=-2)))
    lengths = [np.diff(first, append=len(t.words)) for first, t in zip(starts, texts, strict=True)]
    before = np.cumsum([0, *(len(tagged.words) for tagged in texts)])[:-1]
    first = np.concatenate([n + start for n, start in zip(before, starts, strict=True)])
    length = np.concatenate(lengths)
    total = probabilities[first]
    for step in range(1, int(length.max(initial=1))):
        longer = np.flatnonzero(length > step)
        total[longer] += probabilities[first[longer] + step]
    average = np.divide(total, length[:, None].astype(np.float32), dtype=np.float32)
    best = average.argmax(axis=1)
    scores = average[np.arange(len(best)), best].tolist()
    words = iter(zip(best.tolist(), scores, strict=True))
    return [
        _entities(tagged, start.tolist(), count.tolist(), words, tags)
        for tagged, start, count in zip(texts, starts, lengths, strict=True)
    ]


def _entities(
    tagged: TaggedText,
    starts: list[int],
    lengths: list[int],
    words: Iterator[tuple[int, float]],
    tags: Sequence[Tag],
) -> list[Entity]:
    runs: list[tuple[EntityType, list[tuple[int, int, float]]]] = []
    running: EntityType | None = None
    for first, length, (best, score) in zip(starts, lengths, words, strict=False):
        tag = tags[best]
        if tag.type is None and running is None:
            continue
        start, end = tagged.offsets[first][0], tagged.offsets[first + length - 1][1]
        if tagged.words[first] is None or not tagged.text[start:end].strip():
            continue
        if tag.type is not None:
            if tag.type != running or tag.begins:
                runs.append((tag.type, []))
            runs[-1][1].append((start, end, score))
        running = tag.type
    entities = []
    for kind, run in runs:
        covered = tagged.text[run[0][0] : run[-1][1]]
        start = run[0][0] + len(covered) - len(covered.lstrip())
        name = covered.strip()
        sure = min(1.0, sum(score for _, _, score in run) / len(run))
        entities.append(
            Entity(text=name, start=start, end=start + len(name), type=kind, score=sure)
        )
    return entities


def mark(text: str, head: tuple[int, int], tail: tuple[int, int]) -> str:
    """The text with [E1] around the head and [E2] around the tail, whichever comes first."""
    inserts = [(head[0], 1, "[E1]"), (head[1], 0, "[/E1]"), (tail[0], 1, "[E2]")]
    pieces, last = [], 0
    for position, _, marker in sorted([*inserts, (tail[1], 0, "[/E2]")]):
        pieces += [text[last:position], marker]
        last = position
    return "".join([*pieces, text[last:]])


Floats = NDArray[np.float32]

TYPES = tuple(EntityType)
ASSERTIONS = tuple(Assertion)
# the types of which a report says whether they are there
ASSERTED = frozenset({EntityType.DIAGNOSIS, EntityType.FINDING})
TAGS = ("O", *(f"{position}-{kind}" for kind in TYPES for position in "BIES"))
_NUMBER = {tag: number for number, tag in enumerate(TAGS)}
_NEVER = np.float32(-1e9)


class TokenSpan(NamedTuple):
    """An entity as positions of its first and last token."""

    first: int
    last: int
    type: EntityType


def tags_of(spans: list[TokenSpan], length: int) -> list[int]:
    tags = [_NUMBER["O"]] * length
    for first, last, kind in spans:
        if first == last:
            tags[first] = _NUMBER[f"S-{kind}"]
        else:
            tags[first : last + 1] = [_NUMBER[f"I-{kind}"]] * (last - first + 1)
            tags[first], tags[last] = _NUMBER[f"B-{kind}"], _NUMBER[f"E-{kind}"]
    return tags


def spans_of(tags: list[int]) -> list[TokenSpan]:
    spans, first = [], 0
    for position, number in enumerate(tags):
        prefix, _, kind = TAGS[number].partition("-")
        if prefix in "BS":
            first = position
        if prefix in "ES":
            spans.append(TokenSpan(first, position, EntityType(kind)))
    return spans


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Floats = (powers / powers.sum(axis=-1, keepdims=True)).astype(logits.dtype, copy=False)
    return shares


def best_path(log_probabilities: Floats) -> list[int]:
    """The most probable tags that make sense, by dynamic programming."""
    length = len(log_probabilities)
    back = np.zeros((length, len(TAGS)), dtype=np.int64)
    score = log_probabilities[0] + _OPENING
    for position in range(1, length):
        scores = score[:, None] + _FOLLOWS
        back[position] = scores.argmax(axis=0)
        score = scores.max(axis=0) + log_probabilities[position]
    return _traced(back, int((score + _CLOSING).argmax()))


def _traced(back: NDArray[Any], last: int) -> list[int]:
    """The path that ends in a tag, by what came before each tag at each token."""
    path = [last]
    for row in back[:0:-1]:
        path.append(int(row[path[-1]]))
    return path[::-1]


def best_paths(log_probabilities: Sequence[Floats]) -> list[list[int]]:
    """The same for many texts at once, of any lengths.

    What may follow a tag falls into two cases: an entity goes on after its B or I, and anything
    begins after all other tags, so that a step looks at each tag once and not at each pair of tags.
    """
    if len(log_probabilities) < 2:
        return [best_path(rows) for rows in log_probabilities]
    order = sorted(range(len(log_probabilities)), key=lambda n: -len(log_probabilities[n]))
    rows = [log_probabilities[n] for n in order]
    lengths = np.array([len(row) for row in rows])
    back = np.zeros((int(lengths.max()), len(rows), len(TAGS)), dtype=np.int8)
    score = np.stack([row[0] for row in rows]) + _OPENING
    for position in range(1, len(back)):
        active = int((lengths > position).sum())
        before = score[:active]
        free = _FREE[before[:, _FREE].argmax(axis=1)]
        goes_on = before[:, _INNER] > before[:, _BEGIN]
        back[position, :active] = free[:, None]
        inner = np.where(goes_on, _INNER, _BEGIN)
        back[position, :active, _INNER] = back[position, :active, _END] = inner.T
        scores = np.take_along_axis(before, back[position, :active].astype(np.int64), axis=1)
        score[:active] = scores + np.stack([row[position] for row in rows[:active]])
    last = (score + _CLOSING).argmax(axis=1)
    paths = {n: _traced(back[: lengths[row], row], int(last[row])) for row, n in enumerate(order)}
    return [paths[n] for n in range(len(paths))]


def _may_follow(tag: str, following: str) -> bool:
    prefix, _, kind = tag.partition("-")
    next_prefix, _, next_kind = following.partition("-")
    if prefix in "OES":
        return next_prefix in "OBS"
    return next_prefix in "IE" and kind == next_kind


def _allow(rows: list[list[bool]]) -> Floats:
    return np.where(np.array(rows), np.float32(0), _NEVER)


_FOLLOWS = _allow([[_may_follow(tag, following) for following in TAGS] for tag in TAGS])
_OPENING = _allow([[tag[0] in "OBS" for tag in TAGS]])[0]
_CLOSING = _allow([[tag[0] in "OES" for tag in TAGS]])[0]
_FREE = np.array([n for n, tag in enumerate(TAGS) if tag[0] in "OES"])
_BEGIN, _INNER, _END = (
    np.array([n for n, tag in enumerate(TAGS) if tag[0] == prefix]) for prefix in "BIE"
)

"""The words of a phrase as values on binary axes: left or right, acute or chronic, yes or no.

`data/meanings.toml` has the words; those for sides and denial are the ones of `terms`. A negation
is a value of its own (`polarity`), except for the words that it turns into their opposite:
`without invasion` is what `noninvasive` is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.assertion import phrase_words
from histoeval.terms.plain import plain
from histoeval.terms.values.laterality import Side, side_words

POLARITY = "polarity"
_IDLE = "idle"
_SIDE = "side"
_REACH = 3  # how many words a negation reaches
_LEAST_REST = 4  # letters of a word besides what it begins or ends with
Sign = Literal[-1, 1]
Words = tuple[str, ...]


class AxisMention(NamedTuple):
    """A value of an axis, and the word of the phrase that has it."""

    at: int
    axis: str
    sign: Sign


class Axis(NamedTuple):
    """Two values that exclude each other; `turns` if a negation makes one of them the other."""

    name: str
    turns: bool = False
    weight: float = 1.0


class AxisLexicon:
    """Wordings by whole words, beginnings and endings of words, each with its values."""

    def __init__(self) -> None:
        self.axes = {POLARITY: Axis(POLARITY), _SIDE: Axis(_SIDE)}
        self.whole: dict[Words, list[tuple[str, Sign]]] = defaultdict(list)
        self.begins: dict[str, list[tuple[str, Sign]]] = defaultdict(list)
        self.ends: dict[str, list[tuple[str, Sign]]] = defaultdict(list)
        self.longest = 1

    def put(self, wordings: Iterable[str], axis: str, sign: Sign) -> None:
        for wording in wordings:
            if wording.endswith("-"):
                self.begins[wording[:-1]].append((axis, sign))
            elif wording.startswith("-"):
                self.ends[wording[1:]].append((axis, sign))
            else:
                words = tuple(plain(wording).split())
                self.whole[words].append((axis, sign))
                self.longest = max(self.longest, len(words))


@cache
def lexicon() -> AxisLexicon:
    content = load_toml("align/opposites/data/meanings.toml")
    axes_lexicon = AxisLexicon()
    axes_lexicon.put(phrase_words("denied"), POLARITY, -1)
    axes_lexicon.put(phrase_words("affirmed"), POLARITY, 1)
    axes_lexicon.put(content["idle"], _IDLE, 1)
    axes_lexicon.put(side_words(Side.LEFT), _SIDE, 1)
    axes_lexicon.put(side_words(Side.RIGHT), _SIDE, -1)
    for row in content["axis"]:
        name = row["name"]
        axes_lexicon.axes[name] = Axis(name, row.get("turns", False), row.get("weight", 1.0))
        axes_lexicon.put(row["values"][0], name, 1)
        axes_lexicon.put(row["values"][1], name, -1)
    return axes_lexicon


class AxisValues(NamedTuple):
    """The value of a phrase on each axis, and its denials and affirmations."""

    signs: dict[str, Sign]
    denials: int
    is_affirmed: bool


def meaning_of(phrase: str) -> AxisValues:
    mentions = list(_mentions(plain(phrase).split()))
    negations = [position for position, axis, sign in mentions if axis == POLARITY and sign < 0]
    is_affirmed = any(axis == POLARITY and sign > 0 for _, axis, sign in mentions)
    values: dict[str, set[Sign]] = defaultdict(set)
    for position, axis, sign in mentions:
        if axis not in (POLARITY, _IDLE):
            nearby = [negation for negation in negations if 0 < position - negation <= _REACH]
            if nearby and lexicon().axes[axis].turns:
                negations.remove(nearby[-1])
                values[axis].add(1 if sign < 0 else -1)
            else:
                values[axis].add(sign)
    signs = {axis: min(axis_signs) for axis, axis_signs in values.items() if len(axis_signs) == 1}
    return AxisValues(signs, len(negations), is_affirmed)


def _mentions(words: Sequence[str]) -> Iterator[AxisMention]:
    """Yield all mentions, the longest wording at each position."""
    axis_words = lexicon()
    position = 0
    while position < len(words):
        for length in range(min(axis_words.longest, len(words) - position), 0, -1):
            if entry := axis_words.whole.get(tuple(words[position : position + length])):
                break
        else:
            length, entry = 1, _affixed(words[position])
        yield from (AxisMention(position, axis, sign) for axis, sign in entry)
        position += length


@lru_cache(maxsize=1 << 16)
def _affixed(word: str) -> list[tuple[str, Sign]]:
    axis_words = lexicon()
    values: list[tuple[str, Sign]] = []
    for affixes, fits in ((axis_words.begins, word.startswith), (axis_words.ends, word.endswith)):
        for affix, entry in affixes.items():
            if fits(affix) and len(word) >= len(affix) + _LEAST_REST:
                values += entry
    return values

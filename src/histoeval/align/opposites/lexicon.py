"""The words of a phrase as values on axes of two: left or right, acute or chronic, yes or no.

`data/meanings.toml` has the words; those for sides and denial are the ones of `terms`. A negation
is a value of its own (`polarity`), except for the words that it turns into their opposite:
`without invasion` is what `noninvasive` is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.assertion import phrase_words
from histoeval.terms.plain import plain
from histoeval.terms.values.laterality import Side, side_words

POLARITY = "polarity"
_IDLE = "idle"
_SIDE = "side"
_REACH = 3
"""How many words a negation reaches."""
_LEAST_REST = 4
"""Letters of a word besides what it begins or ends with."""

Sign = Literal[-1, 1]
Words = tuple[str, ...]


class AxisMention(NamedTuple):
    """A value of an axis, and the word of the phrase that has it."""

    at: int
    axis: str
    sign: Sign


@dataclass(frozen=True, slots=True)
class Axis:
    """Two values that exclude each other; `turns` if a negation makes one of them the other."""

    name: str
    turns: bool = False
    weight: float = 1.0


@dataclass(slots=True)
class AxisLexicon:
    """Wordings by their plain words, by how words begin and how they end; each with values."""

    axes: dict[str, Axis] = field(default_factory=dict)
    whole: dict[Words, list[tuple[str, Sign]]] = field(default_factory=dict)
    begins: dict[str, list[tuple[str, Sign]]] = field(default_factory=dict)
    ends: dict[str, list[tuple[str, Sign]]] = field(default_factory=dict)
    longest: int = 1

    def put(self, wordings: Iterable[str], axis: str, sign: Sign) -> None:
        """Add the wordings of a value."""
        for wording in wordings:
            if wording.endswith("-"):
                self.begins.setdefault(wording[:-1], []).append((axis, sign))
            elif wording.startswith("-"):
                self.ends.setdefault(wording[1:], []).append((axis, sign))
            else:
                words = tuple(plain(wording).split())
                self.whole.setdefault(words, []).append((axis, sign))
                self.longest = max(self.longest, len(words))


@cache
def lexicon() -> AxisLexicon:
    """The content of `meanings.toml`, with the words for sides, yes and no."""
    content = load_toml("align/opposites/data/meanings.toml")
    made = AxisLexicon({POLARITY: Axis(POLARITY), _SIDE: Axis(_SIDE)})
    made.put(phrase_words("denied"), POLARITY, -1)
    made.put(phrase_words("affirmed"), POLARITY, 1)
    made.put(content["idle"], _IDLE, 1)
    made.put(side_words(Side.LEFT), _SIDE, 1)
    made.put(side_words(Side.RIGHT), _SIDE, -1)
    for row in content["axis"]:
        name = row["name"]
        made.axes[name] = Axis(name, row.get("turns", False), row.get("weight", 1.0))
        made.put(row["values"][0], name, 1)
        made.put(row["values"][1], name, -1)
    return made


@dataclass(frozen=True, slots=True)
class AxisValues:
    """What a phrase says on each axis, and how often it denies or affirms by a word."""

    signs: dict[str, Sign]
    denials: int
    affirmed: bool


def meaning_of(phrase: str) -> AxisValues:
    """What the words of a phrase say. An axis with both values in one phrase says nothing."""
    found = [*_found(plain(phrase).split())]
    negations = [each.at for each in found if each.axis == POLARITY and each.sign < 0]
    affirmed = any(each.axis == POLARITY and each.sign > 0 for each in found)
    values: dict[str, set[Sign]] = {}
    for each in found:
        if each.axis not in (POLARITY, _IDLE):
            sign = each.sign
            if lexicon().axes[each.axis].turns:
                near = [at for at in negations if 0 < each.at - at <= _REACH]
                if near:
                    negations.remove(near[-1])
                    sign = 1 if sign < 0 else -1
            values.setdefault(each.axis, set()).add(sign)
    signs = {axis: min(both) for axis, both in values.items() if len(both) == 1}
    return AxisValues(signs, len(negations), affirmed)


def _found(words: Sequence[str]) -> Iterator[AxisMention]:
    """All mentions, the longest wording at each place."""
    known = lexicon()
    at = 0
    while at < len(words):
        for length in range(min(known.longest, len(words) - at), 0, -1):
            if entry := known.whole.get(tuple(words[at : at + length])):
                yield from (AxisMention(at, axis, sign) for axis, sign in entry)
                at += length
                break
        else:
            yield from (AxisMention(at, axis, sign) for axis, sign in _affixed(words[at]))
            at += 1


@lru_cache(maxsize=1 << 16)
def _affixed(word: str) -> list[tuple[str, Sign]]:
    """What a word says by how it begins and ends."""
    known = lexicon()
    values: list[tuple[str, Sign]] = []
    for affixes, fits in ((known.begins, word.startswith), (known.ends, word.endswith)):
        for affix, entry in affixes.items():
            if fits(affix) and len(word) >= len(affix) + _LEAST_REST:
                values += entry
    return values

"""A few numbers beside the neural vector of a phrase: opposites point away from each other.

To a model of language, phrases that differ in one word are much alike, whatever the word. The
channel reads that word: values that exclude each other have opposite numbers, stages and Gleason
scores point in different directions, and what is not mentioned is zero.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from zlib import crc32

import numpy as np

from histoeval.align.aligner import Vectors, unit
from histoeval.align.opposites.codes import categories, grades, numbers, sevens
from histoeval.align.opposites.lexicon import POLARITY, lexicon, meaning_of
from histoeval.resources import resource_bytes
from histoeval.terms.assertion import phrase_words
from histoeval.terms.values.coded import affirming_codes, denying_codes
from histoeval.terms.values.markers import named_markers

VERSION = 1
"""Of what is read and how; another one whenever a phrase may get other numbers."""

_ASSUMED = 0.3
"""Polarity of what is neither denied nor affirmed."""
_NUMBERS, _MARKERS = 16, 32
"""How many signs distinguish numbers, and markers."""
_OF_NUMBERS, _OF_MARKERS, _OF_PARTS = 0.5, 0.75, 0.5
_STAGE_AXES = ("T", "N", "M", "group")
_LEVELS = {
    "1": (1.0, 0.0, 0.0, 0.0),
    "2": (0.0, 1.0, 0.0, 0.0),
    "3": (-1.0, 0.0, 0.0, 0.0),
    "4": (0.0, -1.0, 0.0, 0.0),
    "0": (-0.7, -0.7, 0.0, 0.0),
    "is": (0.0, 0.0, 1.0, 0.0),
    "a": (0.0, 0.0, 0.7, 0.7),
    "x": (0.0, 0.0, 0.0, 1.0),
}
"""Neighbours stand at right angles, and levels two apart are opposites."""
_PARTS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (-1.0, 0.0), "d": (0.0, -1.0), "mi": (-0.7, -0.7)}


@cache
def places() -> dict[str, int]:
    """Where each axis begins among the numbers of the channel."""
    widths = dict.fromkeys(lexicon().axes, 1)
    widths |= {"second grade": 1, "seven": 1}
    widths |= {f"{axis} level": 4 for axis in _STAGE_AXES}
    widths |= {f"{axis} part": 2 for axis in _STAGE_AXES}
    widths |= {"number": _NUMBERS, "marker": _MARKERS}
    starts = np.cumsum([0, *widths.values()]).tolist()
    return dict(zip([*widths, "end"], starts, strict=True))


_LISTS = (
    "align/opposites/data/meanings.toml",
    "terms/data/grades.toml",
    "terms/data/laterality.toml",
    "terms/data/markers.toml",
    "terms/data/quantities.toml",
    "terms/data/spelling.toml",
)


@cache
def identity() -> str:
    """The version, and the lists that are read."""
    words = "\n".join((*phrase_words("denied"), *phrase_words("affirmed")))
    content = b"".join((*map(resource_bytes, _LISTS), words.encode()))
    return f"channel{VERSION}-{hashlib.sha256(content).hexdigest()[:8]}"


def size() -> int:
    """How many numbers the channel has."""
    return places()["end"]


def beside(vector: Vectors, phrase: str, weight: float) -> Vectors:
    """A unit-length vector with the channel of its phrase, of length one again."""
    return unit(np.concatenate([vector, weight * channel(phrase)]))


def channel(phrase: str) -> Vectors:
    """The numbers of a phrase, not of length one: the more it says, the longer."""
    row = np.zeros(size(), dtype=np.float32)
    _put_words(row, phrase)
    _put_stages(row, phrase)
    _put_names(row, "number", numbers(phrase), _NUMBERS, _OF_NUMBERS)
    _put_names(row, "marker", _markers(phrase), _MARKERS, _OF_MARKERS)
    return row


def _put_words(row: Vectors, phrase: str) -> None:
    """Sides, grades, polarity and the other axes of two values."""
    known, at = lexicon().axes, places()
    meaning = meaning_of(phrase)
    signs = {axis: float(sign) for axis, sign in meaning.signs.items()}
    for grade in grades(phrase):
        signs["second grade" if grade == 2 else "grade"] = 1.0 if grade <= 2 else -1.0
    for pattern in sevens(phrase):
        signs["seven"] = 1.0 if pattern == 3 else -1.0
    for axis, sign in signs.items():
        row[at[axis]] = sign * (known[axis].weight if axis in known else 1.0)
    denials = meaning.denials + denying_codes(phrase)
    affirmed = denials or meaning.affirmed or affirming_codes(phrase) > 0
    row[at[POLARITY]] = -1 if denials % 2 else 1 if affirmed else _ASSUMED


def _put_stages(row: Vectors, phrase: str) -> None:
    at = places()
    for axis, level, part in categories(phrase):
        start = at[f"{axis} level"]
        row[start : start + 4] = _LEVELS[level]
        if part in _PARTS:
            start = at[f"{axis} part"]
            row[start : start + 2] = np.multiply(_PARTS[part], _OF_PARTS)


def _markers(phrase: str) -> list[str]:
    return sorted({marker for name in named_markers(phrase) for marker in name.markers})


def _put_names(row: Vectors, axis: str, names: Sequence[str], size: int, length: float) -> None:
    """The direction of some names together; other names give another, none give none."""
    if names:
        together = np.sum([_direction(name, size) for name in names], axis=0)
        start = places()[axis]
        row[start : start + size] = length * unit(together)


@cache
def _direction(name: str, size: int) -> Vectors:
    """Signs that follow from the name alone."""
    bits = crc32(name.encode())
    signs = [1.0 if bits >> place & 1 else -1.0 for place in range(size)]
    return unit(np.array(signs, dtype=np.float32))

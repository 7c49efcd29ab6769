"""A few numbers beside the neural vector of a phrase: opposites point away from each other.

To a model of language, phrases that differ in one word are much alike, whatever the word. The
channel reads that word: values that exclude each other have opposite numbers, stages and Gleason
scores point in different directions, and what is not mentioned is zero.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from zlib import crc32

import numpy as np

from histoeval.align.aligner import Vectors, unit
from histoeval.align.opposites.lexicon import POLARITY, lexicon, meaning_of
from histoeval.resources import resource_bytes
from histoeval.terms.assertion import phrase_words
from histoeval.terms.number_words import rank_number, spelt_number
from histoeval.terms.values.coded import affirming_codes, denying_codes, ranks
from histoeval.terms.values.grades import read_grade
from histoeval.terms.values.markers import named_markers
from histoeval.terms.values.stages import arabic_group, read_stage

VERSION = 1  # of what is read and how; another one whenever a phrase may get other numbers
_ASSUMED = 0.3  # polarity of what is neither denied nor affirmed
_NUMBERS, _MARKERS = 16, 32  # how many signs distinguish numbers, and markers
_OF_NUMBERS, _OF_MARKERS, _OF_PARTS = 0.5, 0.75, 0.5
_STAGE_AXES = ("T", "N", "M", "group")
# neighbours stand at right angles, and levels two apart are opposites
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
_PARTS = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (-1.0, 0.0), "d": (0.0, -1.0), "mi": (-0.7, -0.7)}
_SEVENS = (2, 3)  # grade groups of a Gleason score of seven
_FIGURES = re.compile(r"(?<![0-9.])\d+(?:\.\d+)?")
_ROMAN = re.compile(r"\b(?:I{1,3}|IV)\b")
_LETTER = re.compile(r"(?<=[ \d])[A-Ea-e]\b")


@cache
def places() -> dict[str, int]:
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
    words = "\n".join((*phrase_words("denied"), *phrase_words("affirmed")))
    content = b"".join((*map(resource_bytes, _LISTS), words.encode()))
    return f"channel{VERSION}-{hashlib.sha256(content).hexdigest()[:8]}"


def size() -> int:
    return places()["end"]


def beside(vector: Vectors, phrase: str, weight: float) -> Vectors:
    """A unit-length vector with the channel of its phrase, of length one again."""
    return unit(np.concatenate([vector, weight * channel(phrase)]))


def channel(phrase: str) -> Vectors:
    """The channel of a phrase, not of unit length: the more a phrase says, the longer it is."""
    row = np.zeros(size(), dtype=np.float32)
    axes, starts = lexicon().axes, places()
    meaning = meaning_of(phrase)
    signs = {axis: float(sign) for axis, sign in meaning.signs.items()}
    signs |= grade_signs(phrase)
    for axis, sign in signs.items():
        row[starts[axis]] = sign * (axes[axis].weight if axis in axes else 1.0)
    denials = meaning.denials + denying_codes(phrase)
    is_affirmed = denials or meaning.is_affirmed or affirming_codes(phrase) > 0
    row[starts[POLARITY]] = -1 if denials % 2 else 1 if is_affirmed else _ASSUMED
    for axis, level, part in categories(phrase):
        start = starts[f"{axis} level"]
        row[start : start + 4] = _LEVELS[level]
        if part in _PARTS:
            start = starts[f"{axis} part"]
            row[start : start + 2] = np.multiply(_PARTS[part], _OF_PARTS)
    markers = sorted({marker for name in named_markers(phrase) for marker in name.markers})
    for axis, names, width, length in (
        ("number", numbers(phrase), _NUMBERS, _OF_NUMBERS),
        ("marker", markers, _MARKERS, _OF_MARKERS),
    ):
        if names:  # other names together have another direction
            direction = np.sum([_direction(name, width) for name in names], axis=0)
            row[starts[axis] : starts[axis] + width] = length * unit(direction)
    return row


@cache
def _direction(name: str, size: int) -> Vectors:
    bits = crc32(name.encode())
    signs = [1.0 if bits >> bit & 1 else -1.0 for bit in range(size)]
    return unit(np.array(signs, dtype=np.float32))


def categories(phrase: str) -> Iterator[tuple[str, str, str]]:
    """Axis (T, N, M or group), level (0 to 4, is, a, x) and part (a to d, mi, or nothing)."""
    if stage := read_stage(phrase):
        values = (stage.t, stage.n, stage.m, arabic_group(stage))
        for axis, value in zip(("T", "N", "M", "group"), values, strict=True):
            if value and value[0].isdigit():
                yield axis, value[0], "mi" if value[1:3] == "mi" else value[1:2]
            elif value:
                yield axis, "1" if value == "+" else value, ""
    yield from (("group", level, part) for level, part in ranks(phrase))


def grade_signs(phrase: str) -> Iterator[tuple[str, float]]:
    """The axis of a grade and its sign: 1 against 3 and 4; 2 has an axis of its own.

    Of Gleason the lowest and the highest groups count as 1 and 3, and a score of seven is on
    another axis, by its larger pattern: 3 or 4.
    """
    grade = read_grade(phrase)
    if grade is None:
        return
    if grade.scheme == "Gleason" and not grade.part and grade.level in _SEVENS:
        yield "seven", 1.0 if grade.level == 2 else -1.0
        return
    if grade.level != int(grade.level):
        return
    if grade.scheme == "Gleason":
        level = 1 if grade.level <= (3 if grade.part else 1) else 3
    else:
        level = 2 * int(grade.level) - 1 if grade.of == 2 else int(grade.level)
    yield "second grade" if level == 2 else "grade", 1.0 if level <= 2 else -1.0


def numbers(phrase: str) -> list[str]:
    """All different numbers: in digits, words, Roman numerals or as a letter after a code."""
    words = re.findall(r"[A-Za-z]+", phrase)
    numerals = {*_FIGURES.findall(phrase)}
    numerals |= {str(number) for word in words if (number := spelt_number(word)) is not None}
    numerals |= {str(rank_number(roman)) for roman in _ROMAN.findall(phrase)}
    numerals |= {letter.upper() for letter in _LETTER.findall(phrase)}
    return sorted(numerals)

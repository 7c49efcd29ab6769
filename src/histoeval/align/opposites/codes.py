"""The codes of a phrase: T, N and M, stage groups, grades, Gleason scores, and numbers."""

import re
from collections.abc import Iterator

from histoeval.terms.number_words import rank_number, spelt_number
from histoeval.terms.values.coded import ranks
from histoeval.terms.values.grades import read_grade
from histoeval.terms.values.stages import arabic_group, read_stage

_SEVENS = (2, 3)
"""Grade groups of a Gleason score of seven."""
_FIGURES = re.compile(r"(?<![0-9.])\d+(?:\.\d+)?")
_ROMAN = re.compile(r"\b(?:I{1,3}|IV)\b")
_LETTER = re.compile(r"(?<=[ \d])[A-Ea-e]\b")


def categories(phrase: str) -> Iterator[tuple[str, str, str]]:
    """Axis (T, N, M or group), level (0 to 4, is, a, x) and part (a to d, mi, or nothing)."""
    if stage := read_stage(phrase):
        values = (stage.t, stage.n, stage.m, arabic_group(stage))
        for axis, value in zip(("T", "N", "M", "group"), values, strict=True):
            if value:
                yield axis, *_level_and_part(value)
    yield from (("group", level, part) for level, part in ranks(phrase))


def _level_and_part(value: str) -> tuple[str, str]:
    if not value[0].isdigit():
        return "1" if value == "+" else value, ""
    return value[0], "mi" if value[1:3] == "mi" else value[1:2]


def grades(phrase: str) -> Iterator[int]:
    """The grade from 1 to 4; that of Gleason as 1 or 3, the lowest and the highest groups."""
    grade = read_grade(phrase)
    if grade is None or grade.level != int(grade.level):
        return
    if grade.scheme != "Gleason":
        yield 2 * int(grade.level) - 1 if grade.of == 2 else int(grade.level)
    elif grade.part or grade.level not in _SEVENS:
        yield 1 if grade.level <= (3 if grade.part else 1) else 3


def sevens(phrase: str) -> Iterator[int]:
    """For a Gleason score of seven, its larger pattern: 3 or 4."""
    grade = read_grade(phrase)
    if grade and grade.scheme == "Gleason" and not grade.part and grade.level in _SEVENS:
        yield int(grade.level) + 1


def numbers(phrase: str) -> list[str]:
    """All different numbers: in digits, words, Roman numerals or as a letter after a code."""
    words = re.findall(r"[A-Za-z]+", phrase)
    found = {*_FIGURES.findall(phrase)}
    found |= {str(number) for word in words if (number := spelt_number(word)) is not None}
    found |= {str(rank_number(roman)) for roman in _ROMAN.findall(phrase)}
    found |= {letter.upper() for letter in _LETTER.findall(phrase)}
    return sorted(found)

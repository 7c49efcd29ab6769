"""The codes of a phrase: T, N and M, stage groups, grades, Gleason scores, and numbers."""

import re
from collections.abc import Iterator

_RANKS = {"I": 1, "II": 2, "III": 3, "IV": 4}
_NUMBER_WORDS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "none first second third fourth fifth sixth",
    )
    for number, word in enumerate(words.split())
}
_CATEGORY = re.compile(
    r"(?<![A-Za-z])[yrm]{0,2}[pcu]?(?P<axis>[TNM])\s?(?P<level>is|IS|a(?![a-z])|[0-4xX])"
    r"(?P<part>mi|[a-d])?(?![A-Za-z0-9])"
)
_SYSTEMS = "stage|figo|ajcc|uicc|dukes'?|binet|rai|masaoka|ann arbor|clark|breslow|haggitt|metavir"
_GROUP = re.compile(
    rf"\b(?:{_SYSTEMS}|level|score|class)\s*(?:(?:stage|group|level|score|class)\s*)?"
    r"(?:(?P<level>F?[0-4]|IV|I{1,3})\s?(?P<part>[A-Da-d]?)[1-3]?|(?P<letter>[A-D]))\b",
    re.IGNORECASE,
)
_GRADE = re.compile(r"\b(?:[Gg]rade|G|[A-Za-z]{1,4}IN)[- ]?(?P<level>[1-4]|IV|I{1,3})\b")
_GLEASON = re.compile(r"\b([3-5])\s?\+\s?([3-5])\b")
_GRADE_GROUP = re.compile(
    r"\b(?:grade group|GG)\s?(?P<group>[1-5])\b|\bgleason (?:score )?(?P<sum>6|8|9|10)\b",
    re.IGNORECASE,
)
_GROUP_OF_SUM = {"6": 1, "8": 4, "9": 5, "10": 5}
_NOTHING = re.compile(r"(?<![A-Za-z0-9.])(?:[a-z]{0,2}[A-Z][a-z]?)?0(?![0-9.]|\s?[mc]m|\s?%)")
_SOMETHING = re.compile(r"(?<![A-Za-z0-9.])(?:[a-z]{0,2}[NMLRV]|Pn)[1-9][a-c]?\b")
_FIGURES = re.compile(r"(?<![0-9.])\d+(?:\.\d+)?")
_LETTER = re.compile(r"(?<=[ \d])[A-Ea-e]\b")


def categories(phrase: str) -> Iterator[tuple[str, str, str]]:
    """Axis (T, N, M or group), level (0 to 4, is, a, x) and part (a to d, mi, or nothing)."""
    for found in _CATEGORY.finditer(phrase):
        yield found["axis"], found["level"].lower(), found["part"] or ""
    for found in _GROUP.finditer(phrase):
        if found["letter"]:
            yield "group", str("ABCD".index(found["letter"].upper()) + 1), ""
        else:
            level = found["level"].upper().removeprefix("F")
            yield "group", str(_rank(level)), found["part"].lower()


def grades(phrase: str) -> Iterator[int]:
    """Grades by number, from 1 to 4, and the lowest and highest groups of Gleason as 1 and 3."""
    for found in _GRADE.finditer(phrase):
        yield _rank(found["level"])
    for group in _grade_groups(phrase):
        if group not in (2, 3):
            yield 1 if group == 1 else 3


def sevens(phrase: str) -> Iterator[int]:
    """For each Gleason score of seven, its larger pattern: 3 or 4."""
    for group in _grade_groups(phrase):
        if group in (2, 3):
            yield group + 1


def _grade_groups(phrase: str) -> Iterator[int]:
    for found in _GLEASON.finditer(phrase):
        first, second = int(found[1]), int(found[2])
        groups = {6: 1, 7: first - 1, 8: 4}
        yield groups.get(first + second, 5)
    for found in _GRADE_GROUP.finditer(phrase):
        yield int(found["group"]) if found["group"] else _GROUP_OF_SUM[found["sum"]]


def nothing(phrase: str) -> int:
    """How often a code or a count is none: N0, R0, 0 of 12."""
    return len(_NOTHING.findall(phrase))


def something(phrase: str) -> bool:
    """Whether a code is positive: N1, L1, R1."""
    return _SOMETHING.search(phrase) is not None


def numbers(phrase: str) -> list[str]:
    """All different numbers: in digits, words, Roman numerals or as a letter after a code."""
    words = re.findall(r"[A-Za-z]+", phrase)
    found = {*_FIGURES.findall(phrase)}
    found |= {_NUMBER_WORDS[word.lower()] for word in words if word.lower() in _NUMBER_WORDS}
    found |= {str(_RANKS[word]) for word in words if word in _RANKS}
    found |= {letter.upper() for letter in _LETTER.findall(phrase)}
    return sorted(found)


def _rank(text: str) -> int:
    return _RANKS.get(text.upper()) or int(text)

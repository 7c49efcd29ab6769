"""Classes, grades and scores of named schemes: Banff IIA, Bethesda IV, ISN/RPS class III, Marsh 3c.

What a scheme is called, how its values are written and which changes matter is data
(`terms/data/schemes.toml`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.assertion import is_denied
from histoeval.terms.number_words import rank_number
from histoeval.terms.values.stated import MODERATE, StatedValue
from histoeval.terms.values.tumour_grades import (
    gleason_severity,
    read_gleason,
    read_tumour_grades,
    tumour_grade_severity,
)

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
_RANK = rf"(?:[0-6](?!\d|[.,]\d|\s?[%+])|(?:iii|ii|iv|vi|i|v)|{'|'.join(_NUMBERS)})"
_FILL = (
    r"[\s:=,(\[-]*(?:(?:grade|graded|stage|staged|score|scored|class|category|type|level|group"
    r"|index"
    r"|diagnostic|lesion|is|was|as|of|at|nuclear|combined|estimated|assigned|acute|rejection"
    r"|(?:19|20)\d\d)\b[\s:=,(\[-]*){0,4}"
)


@dataclass(frozen=True, slots=True)
class _Mention:
    """Plain words, or an expression, that a text must have, or must not have."""

    words: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    def is_in(self, text: str, low: str) -> bool:
        """True if a text has it; `low` is the text in lower case."""
        if self.pattern is not None:
            return self.pattern.search(text) is not None
        return any(word in low for word in self.words)


@dataclass(frozen=True, slots=True)
class _Scheme:
    name: str
    about: tuple[_Mention, ...]
    unless: _Mention | None
    ranks: re.Pattern[str] | None
    codes: tuple[re.Pattern[str], ...]
    words: tuple[tuple[re.Pattern[str], str], ...]
    same: Mapping[str, frozenset[str]]
    place: Mapping[str, int]  # in which group of the order a value is
    within: int
    steps: tuple[int, ...]
    pairs: Mapping[frozenset[str], int]
    needed: int


@cache
def _mention(expression: str) -> _Mention:
    if re.fullmatch(r"[a-z0-9 |-]+", expression):
        return _Mention(tuple(expression.split("|")))
    return _Mention(pattern=_pattern(expression))


def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


@cache
def _schemes() -> tuple[_Scheme, ...]:
    return tuple(map(_scheme, load_toml("terms/data/schemes.toml")["scheme"]))


def _scheme(row: Mapping[str, Any]) -> _Scheme:
    letter = rf"[{row['letters']}]" if "letters" in row else "(?!)"
    rank = rf"{_RANK}\s?{letter}(?![^\W_])|{_RANK}(?![^\W_])"
    second = rf"(?:\s*(?P<sep>-|to|/|or|and|\u2013)\s*(?P<b>{rank}))?"
    ranks = rf"(?:{row.get('cue')}){_FILL}(?P<a>{rank}){second}"
    words = [(word, value) for value, wordings in row.get("words", {}).items() for word in wordings]
    words.sort(key=lambda word: -len(word[0]))
    return _Scheme(
        row["name"],
        tuple(_mention(row[key]) for key in ("about", "about_too") if key in row),
        _mention(row["unless"]) if "unless" in row else None,
        _pattern(ranks) if "cue" in row else None,
        tuple(map(_pattern, row.get("codes", ()))),
        tuple((_pattern(word), value) for word, value in words),
        {value: frozenset(several) for value, several in row.get("same", {}).items()},
        {value: at for at, group in enumerate(row["order"]) for value in group},
        row.get("within", MODERATE),
        tuple(row["steps"]),
        {frozenset((one, other)): value for one, other, value in row.get("pairs", ())},
        row.get("far", 1),
    )


@lru_cache(maxsize=1 << 11)
def read_schemes(text: str) -> tuple[StatedValue, ...]:
    """The values of all schemes that a text states."""
    values = [*read_gleason(text), *read_tumour_grades(text)]
    lowered = text.lower()
    mentions: dict[_Mention, bool] = {}  # schemes share what they are of
    for scheme in _schemes():
        for mention in (*scheme.about, *filter(None, (scheme.unless,))):
            if mention not in mentions:
                mentions[mention] = mention.is_in(text, lowered)
        if all(mentions[mention] for mention in scheme.about) and not (
            scheme.unless and mentions[scheme.unless]
        ):
            values += _values(scheme, text)
    return tuple(values)


def _values(scheme: _Scheme, text: str) -> Iterator[StatedValue]:
    taken: list[tuple[int, int]] = []
    for match, *values in _written(scheme, text):
        start, end = match.span()
        stated = (option for value in values for option in scheme.same.get(value, (value,)))
        options = frozenset(option for option in stated if option in scheme.place)
        if options and not any(start < last and first < end for first, last in taken):
            taken.append((start, end))
            yield StatedValue(scheme.name, options, start, end)


def _written(scheme: _Scheme, text: str) -> Iterator[tuple[re.Match[str], *tuple[str, ...]]]:
    """Values as ranks, as codes and in words, each with where it stands."""
    for match in scheme.ranks.finditer(text) if scheme.ranks else ():
        first, second = _rank(match["a"]), _rank(match["b"]) if match["b"] else None
        # CIN 2/3 is either; in 2/4 the 4 is the number of ranks
        is_either = second and (match["sep"] != "/" or first < second <= "3")
        yield (match, first, second) if second and is_either else (match, first)
    for code in scheme.codes:
        for match in code.finditer(text):
            value = match["v"]
            is_known = value in scheme.place or value in scheme.same
            yield match, value if is_known else value.lower()
    for word, value in scheme.words:
        for match in word.finditer(text):
            if not is_denied(text, *match.span()):
                yield match, value


def _rank(written: str) -> str:
    """A rank in figures, with its letter: IIA is 2a."""
    lowered = written.lower().replace(" ", "")
    letter = lowered[-1] if lowered[-1] in "abc" and lowered[:-1] else ""
    stem = lowered.removesuffix(letter)
    return f"{_NUMBERS.index(stem) if stem in _NUMBERS else rank_number(stem)}{letter}"


def scheme_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one value of a scheme for another; 0 where they agree."""
    if one.axis == "Gleason":
        return gleason_severity(one, other)
    # The first of the schemes that share a name has the order
    scheme = next((scheme for scheme in _schemes() if scheme.name == one.axis), None)
    if scheme is None:
        return tumour_grade_severity(one, other)
    if one.options & other.options:
        return 0
    severities: list[int] = []
    for a, b in product(one.options, other.options):
        apart = abs(scheme.place[a] - scheme.place[b])
        by_steps = scheme.steps[min(apart, len(scheme.steps)) - 1] if apart else scheme.within
        severities.append(scheme.pairs.get(frozenset((a, b)), by_steps))
    return min(severities)

"""Classes, grades and scores of named schemes: Banff IIA, Bethesda IV, ISN/RPS class III, Marsh 3c.

What a scheme is called, how its values are written and which changes matter is data
(`terms/data/schemes.toml`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.assertion import is_denied
from histoeval.terms.values.stated import MODERATE, StatedValue
from histoeval.terms.values.tumour_grades import (
    gleason_severity,
    read_gleason,
    read_tumour_grades,
    tumour_grade_severity,
)

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
_ROMANS = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6}
_RANK = (
    rf"(?:[0-6](?!\d|[.,]\d|\s?[%+])|(?:{'|'.join(sorted(_ROMANS, key=len, reverse=True))})"
    rf"|{'|'.join(_NUMBERS)})"
)
_FILL = (
    r"[\s:=,(\[-]*(?:(?:grade|graded|stage|staged|score|scored|class|category|type|level|group"
    r"|index"
    r"|diagnostic|lesion|is|was|as|of|at|nuclear|combined|estimated|assigned|acute|rejection"
    r"|(?:19|20)\d\d)\b[\s:=,(\[-]*){0,4}"
)


@dataclass(frozen=True, slots=True)
class _Mention:
    """What a text must have, or must not: plain words, or an expression."""

    words: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    def is_in(self, text: str, low: str) -> bool:
        """Whether a text has it; `low` is the text in lower case."""
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


@cache
def _by_name() -> Mapping[str, _Scheme]:
    """Schemes by their names; the first of those that share one has the order."""
    return {scheme.name: scheme for scheme in reversed(_schemes())}


def _scheme(row: Mapping[str, Any]) -> _Scheme:
    letter = rf"[{row['letters']}]" if "letters" in row else "(?!)"
    rank = rf"{_RANK}\s?{letter}(?![^\W_])|{_RANK}(?![^\W_])"
    second = rf"(?:\s*(?P<sep>-|to|/|or|and|\u2013)\s*(?P<b>{rank}))?"
    ranks = rf"(?:{row.get('cue')}){_FILL}(?P<a>{rank}){second}"
    words = [(word, value) for value, wordings in row.get("words", {}).items() for word in wordings]
    words.sort(key=lambda each: -len(each[0]))
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
    found = [*read_gleason(text), *read_tumour_grades(text)]
    low = text.lower()
    known: dict[_Mention, bool] = {}  # schemes share what they are of
    for scheme in _schemes():
        for mention in (*scheme.about, *filter(None, (scheme.unless,))):
            if mention not in known:
                known[mention] = mention.is_in(text, low)
        if all(known[each] for each in scheme.about) and not (
            scheme.unless and known[scheme.unless]
        ):
            found += _values(scheme, text)
    return tuple(found)


def _values(scheme: _Scheme, text: str) -> Iterator[StatedValue]:
    taken: list[tuple[int, int]] = []
    for start, end, value in (
        *_ranked(scheme, text),
        *_coded(scheme, text),
        *_worded(scheme, text),
    ):
        options = frozenset(value & scheme.place.keys())
        if options and not any(start < last and first < end for first, last in taken):
            taken.append((start, end))
            yield StatedValue(scheme.name, options, start, end)


def _ranked(scheme: _Scheme, text: str) -> Iterator[tuple[int, int, frozenset[str]]]:
    for found in scheme.ranks.finditer(text) if scheme.ranks else ():
        values = [_rank(found["a"])]
        if found["b"] and found["sep"] != "/":
            values.append(_rank(found["b"]))
        elif found["b"] and _rank(found["b"]) <= "3" and _rank(found["b"]) > values[0]:
            values.append(_rank(found["b"]))  # CIN 2/3
        yield found.start(), found.end(), _options(scheme, *values)


def _coded(scheme: _Scheme, text: str) -> Iterator[tuple[int, int, frozenset[str]]]:
    for code in scheme.codes:
        every = list(code.finditer(text))
        for found in every:
            value = found["v"]
            written = value if value in scheme.place or value in scheme.same else value.lower()
            yield found.start(), found.end(), _options(scheme, written)


def _worded(scheme: _Scheme, text: str) -> Iterator[tuple[int, int, frozenset[str]]]:
    for word, value in scheme.words:
        for found in word.finditer(text):
            if not is_denied(text, *found.span()):
                yield found.start(), found.end(), _options(scheme, value)


def _options(scheme: _Scheme, *values: str) -> frozenset[str]:
    return frozenset().union(*(scheme.same.get(value, frozenset({value})) for value in values))


def _rank(written: str) -> str:
    """A rank in figures, with its letter: IIA is 2a."""
    low = written.lower().replace(" ", "")
    letter = low[-1] if low[-1] in "abc" and low[:-1] else ""
    stem = low.removesuffix(letter) if letter else low
    if stem in _ROMANS:
        return f"{_ROMANS[stem]}{letter}"
    return f"{_NUMBERS.index(stem)}{letter}" if stem in _NUMBERS else f"{stem}{letter}"


def scheme_severity(one: StatedValue, other: StatedValue) -> int:
    """How severe it is to state one value of a scheme for another; 0 where they agree."""
    if one.axis == "Gleason":
        return gleason_severity(one, other)
    if (scheme := _by_name().get(one.axis)) is None:
        return tumour_grade_severity(one, other)
    if one.options & other.options:
        return 0
    return min(_between(scheme, a, b) for a in one.options for b in other.options)


def _between(scheme: _Scheme, one: str, other: str) -> int:
    if (severity := scheme.pairs.get(frozenset((one, other)))) is not None:
        return severity
    apart = abs(scheme.place[one] - scheme.place[other])
    return scheme.steps[min(apart, len(scheme.steps)) - 1] if apart else scheme.within

"""The result of a marker in a phrase: positive or negative, how strong, and in how many cells."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.lexicon import WORD_START, any_of
from histoeval.terms.plain import closest_word, normalised
from histoeval.terms.values.measurements import percent_agreement, read_percent

Polarity = Literal["positive", "negative", "equivocal"]

_GAP = re.compile(r"(?<=\w)[\s-]+")
_SCORE = re.compile(
    r"(?<![\d.+])(?:[0-4]\s?\+?\s?(?:-|to|/)\s?)?(?P<n>[0-4])\s?(?:\+(?!\s?[\d+])|plus\b)"
    r"|\bscore\s*(?:(?:of|:|=)\s*)?(?P<s>[0-3])(?![\d.%/+])"
    r"|^\(?(?P<zero>0)\)?$"
    r"|(?<![+\d])(?P<pluses>\+\s?\+(?:\s?\+){0,2})(?!\+)"
)
_SIGN = re.compile(
    r"(?P<equivocal>\+\s?/\s?-|-\s?/\s?\+|±)"
    r"|(?P<positive>(?<![+\d/])(?<!\d\s)\+(?![+\d/]|\s?[\d/]|\s?\+|ve))"
    r"|(?P<negative>^-$|\(-\)|(?<=\w)\s?-$)"
)
# A noun for the result itself: "no expression", "an amplification"
_SHOWN = re.compile(
    r"(?:\b(?P<no>no|without|lack of|absence of)\b(?:[^\w,;]+[\w/-]+){0,4}?\W+)?(?<!loss of )"
    r"\b(?:over)?(?:expression|amplification|staining|immunoreactivity|rearrangement)\b"
)
_OF_POINTS = r"\D{0,15}?(?P<points>\d{1,3})(?:\s*/\s*\d+)?"
_PD_L1 = re.compile(r"(\b[ct]ps\D{0,12}\d+(?:\s*-\s*\d+)?)(?![\d.]|\s*[%-])")
_BARE_NUMBER = re.compile(r"(?<![\d.])(\d{1,2}|100)(?:\s*-\s*(\d{1,2}|100))?(?![\d.%+/])")
_OWN_NUMBER = re.compile(r"\bki\W{0,2}67|\bmib\W?1")
_LONG_WORD = 6
_SAME_WORD = 0.84
_OVERALL = 10.0  # per cent from which a marker without a cut-off of its own is positive
_EXTENTS = ("none", "rare", "focal", "patchy", "diffuse")
_RANKS = {extent: rank for rank, extent in enumerate(_EXTENTS)} | {"partial": 3}


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a marker.

    `polarity` is about what the marker looks for: protein stained, organism seen, gene altered.
    Strength runs from 0 (none) to 3 (strong); `low` and `high` bound the per cent of cells. Markers
    that are only more or less, such as Ki-67, have a per cent and no polarity. A marker that was
    named without a result, because it was not done or is awaited, is not `tested`.
    """

    polarity: Polarity | None = None
    strength: int | None = None
    extent: str | None = None
    low: float | None = None
    high: float | None = None
    tested: bool = True


def agreement(a: Result, b: Result) -> float:
    """Agreement of two results of one marker, from 0 to 1.

    0 if one is positive and the other negative; 0.5 if just one is equivocal or has no polarity;
    0.25 if just one was tested. Where polarity is the same, 0.7 and up to 0.3 more for
    strength and extent (or per cent), each the less the further apart; one that only one report
    gives counts as three quarters agreed. Where neither has a polarity, they decide alone.
    """
    if a == b:
        return 1.0
    if a.tested != b.tested:
        return 0.25
    if a.polarity != b.polarity:
        return 0.0 if {a.polarity, b.polarity} == {"positive", "negative"} else 0.5
    amount = _amount_agreement(a, b)
    return amount if a.polarity is None else 0.7 + 0.3 * amount


def _amount_agreement(a: Result, b: Result) -> float:
    parts: list[float] = []
    if a.strength is not None and b.strength is not None:
        parts.append(1 - abs(a.strength - b.strength) / 3)
    elif a.strength != b.strength:
        parts.append(0.75)
    extents = _extent(a), _extent(b)
    if None not in (a.low, a.high, b.low, b.high):
        ranges = [(result.low or 0.0, result.high or 0.0) for result in (a, b)]
        parts.append(percent_agreement(*ranges))
    elif extents[0] and extents[1]:
        parts.append(1 - abs(_RANKS[extents[0]] - _RANKS[extents[1]]) / 4)
    elif extents[0] != extents[1]:
        parts.append(0.75)
    return sum(parts) / len(parts) if parts else 1.0


def _extent(result: Result) -> str | None:
    if result.extent or result.low is None or result.high is None:
        return result.extent
    middle = (result.low + result.high) / 2
    bands = _data()["extent_of_percent"]
    return next((extent for extent in _EXTENTS if middle <= bands[extent]), "diffuse")


def _data() -> dict[str, Any]:
    return load_toml("terms/data/results.toml")


class _Finder(NamedTuple):
    """Known words in one pattern, the longest first, and the row of the table each stands in."""

    pattern: re.Pattern[str]
    rows: dict[str, dict[str, Any]]

    def find(self, text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
        for match in self.pattern.finditer(text):
            yield match.start(), match.end(), self.rows[_GAP.sub("", match.group())]


def _finder(rows: Iterable[dict[str, Any]]) -> _Finder:
    by_word = {word.lower(): row for row in rows for word in row["words"]}
    longest_first = sorted(by_word, key=lambda word: (-len(word), word))
    written = (r"[\s-]*".join(map(re.escape, _GAP.split(word))) for word in longest_first)
    pattern = any_of(written, before=WORD_START, after=r"(?![^\W_])", flags=0)
    return _Finder(pattern, {_GAP.sub("", word): row for word, row in by_word.items()})


@cache
def _results() -> _Finder:
    return _finder(_data()["result"])


@lru_cache(maxsize=1 << 12)  # a marker may have any name
def _special(marker: str) -> _Finder | None:
    rows = [row for row in _data()["special"] if row["marker"] == marker and "words" in row]
    return _finder(rows) if rows else None


@lru_cache(maxsize=1 << 12)  # a marker may have any name
def _levels(marker: str) -> _Finder | None:
    """The words for more and less of a marker that has no polarity; nothing for other markers."""
    rows = [row for row in _data()["level"] if row["marker"] == marker]
    steps = [row[step] for row in rows for step in ("low", "middle", "high") if step in row]
    return _finder(steps or [{"words": ["low"], "percent": None}]) if rows else None


@cache
def _points() -> list[tuple[re.Pattern[str], int]]:
    return [
        (
            any_of(map(str.lower, row["names"]), before=r"\b", after=rf"\b{_OF_POINTS}", flags=0),
            row["positive_from"],
        )
        for row in _data()["points"]
    ]


@cache
def _negated() -> re.Pattern[str]:
    words = sorted(_data()["negations"], key=len, reverse=True)
    return any_of(words, before=r"\b", after=r"(?:[\s-]+[a-z]+){0,2}[\s-]*$", flags=0)


class _Statement(NamedTuple):
    polarity: Polarity | None = None
    strength: int | None = None
    extent: str | None = None
    weak: bool = False
    tested: bool = True


_OPPOSITE = ("positive", "negative")


@lru_cache(maxsize=1 << 13)
def read_result(phrase: str, marker: str | None = None) -> Result | None:
    """The result that a phrase states, or None.

    The marker it is about, by its id, matters for those with rules of their own: HER2 is negative
    with 0 and 1+ and equivocal with 2+, p53 has patterns, ER and PD-L1 are positive from 1 %.
    """
    text = " ".join(normalised(phrase).lower().split())
    if marker is not None and (levels := _levels(marker)) is not None:
        return _read_level(text, levels)
    shown = _SHOWN.search(text)
    if shown and shown["no"]:
        return Result("negative", 0, "none")
    read = _read(text, marker)
    return read or (Result("positive") if shown else _read(_respelt(text), marker))


def _read(text: str, marker: str | None) -> Result | None:
    points, rest = _points_in(text)
    stated = list(_stated(rest))
    score, percent = _score_in(rest), read_percent(_PD_L1.sub(r"\1%", rest))
    own_words = _special(marker) if marker is not None else None
    special = [row for _, _, row in own_words.find(rest)] if own_words else []
    amounts = [s for s in stated if s.polarity is None and s.tested]
    if not (stated or special or percent or points) and score is None:
        return None
    scores: list[Polarity] = next(
        (r["scores"] for r in _data()["special"] if r["marker"] == marker and "scores" in r),
        ["negative", "positive", "positive", "positive"],
    )
    cutoffs = (float(r["percent"]) for r in _data()["cutoff"] if marker in r["markers"])
    polarity = (
        _decided(row["polarity"] for row in special if not row.get("yields"))
        or _decided(s.polarity for s in stated if not s.weak)
        or _decided(row["polarity"] for row in special)
        or (None if score is None else scores[score])
        or points
        or _polarity_of(percent, next(cutoffs, None))
    )
    if polarity is None and any(not s.tested for s in stated):
        return Result(tested=False)
    if polarity is None and (amounts or any(s.weak for s in stated)):
        polarity = "positive"
    strengths = [
        score,
        *(row.get("strength") for row in special),
        *(s.strength for s in amounts),
        *(s.strength for s in stated),
    ]
    extents = [*(s.extent for s in amounts), *(s.extent for s in stated)]
    return Result(
        polarity,
        next((s for s in strengths if s is not None), None),
        next((e for e in extents if e is not None), None),
        *(percent or (None, None)),
    )


def _stated(text: str) -> Iterator[_Statement]:
    """The words and signs of a result, with negation already counted in."""
    since = 0
    for start, end, row in _results().find(text):
        statement = _Statement(**{k: row[k] for k in _Statement._fields if k in row})
        if statement.polarity in _OPPOSITE and _negated().search(text[since:start]):
            positive = statement.polarity == "positive"
            statement = _Statement("negative", 0, "none") if positive else _Statement("positive")
        if statement.polarity:
            since = end
        yield statement
    for sign in _SIGN.finditer(_SCORE.sub(" ", text)):
        polarities: tuple[Polarity, ...] = ("positive", "negative", "equivocal")
        yield _Statement(next(polarity for polarity in polarities if sign[polarity]))


def _decided(polarities: Iterable[Polarity | None]) -> Polarity | None:
    """The first that is clear, else equivocal: "equivocal (2+), amplified" is positive."""
    stated = [polarity for polarity in polarities if polarity]
    return next((p for p in stated if p != "equivocal"), stated[0] if stated else None)


def _score_in(text: str) -> int | None:
    if not (match := _SCORE.search(text)):
        return None
    if match["pluses"]:
        return min(3, match["pluses"].count("+"))
    return min(3, int(match["n"] or match["s"] or match["zero"]))


def _points_in(text: str) -> tuple[Polarity | None, str]:
    """The polarity that a score of points stands for, and the text without it."""
    for pattern, positive_from in _points():
        if match := pattern.search(text):
            polarity: Polarity = "positive" if int(match["points"]) >= positive_from else "negative"
            return polarity, text[: match.start()] + text[match.end() :]
    return None, text


def _polarity_of(percent: tuple[float, float] | None, cutoff: float | None) -> Polarity | None:
    """Positive if all of the range is from the cut-off on, negative if all of it is below."""
    if percent is None:
        return None
    low, high = percent
    if low >= (_OVERALL if cutoff is None else cutoff):
        return "positive"
    below = 1.0 if cutoff is None else cutoff
    return "negative" if high < below or low < high <= below else None


def _read_level(text: str, levels: _Finder) -> Result | None:
    percent = read_percent(text)
    if percent is None and (number := _BARE_NUMBER.search(_OWN_NUMBER.sub("", text))):
        percent = float(number[1]), float(number[2] or number[1])
    if percent is None:
        stated = [row["percent"] for _, _, row in levels.find(text) if row["percent"]]
        percent = (float(stated[0][0]), float(stated[0][1])) if stated else None
    if percent is not None:
        return Result(low=min(percent), high=max(percent))
    untested = any(not statement.tested for statement in _stated(text))
    return Result(tested=False) if untested else _read(text, None)


@cache
def _long_words() -> list[str]:
    return [word for word in _results().rows if len(word) >= _LONG_WORD]


def _respelt(text: str) -> str:
    """A phrase in which nothing was found, with typos corrected (p0sitive, nega tive)."""
    whole = closest_word(text.replace(" ", ""), _long_words(), _SAME_WORD)
    return whole or " ".join(_respelt_word(word) for word in text.split())


@lru_cache(maxsize=1 << 12)
def _respelt_word(word: str) -> str:
    if len(word) < _LONG_WORD:
        return word
    return closest_word(word, _long_words(), _SAME_WORD) or word

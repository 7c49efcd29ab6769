"""Findings that change what is done next, read from the words of a whole text.

Each is affirmed, denied, or only mentioned in words that may mean it; a text that does none of this
is silent about it. Organisms, lesions of vessels, components and deposits of a tumour, and further
structures that it has grown into are listed in `data/decisive_findings.toml`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Self

from histoeval.terms.assertion import asserts_now, stance_at
from histoeval.terms.lexicon import Lexicon, any_of
from histoeval.terms.values.stated import MAJOR, clauses

_LEXICON = Lexicon("terms/data/decisive_findings.toml", after=r"(?![^\W_])")
_WORD_END = r"(?![^\W_])"
_TEST = re.compile(
    r"[\s-]*(?:immuno\w*|IHC|(?:special )?stain\w*|PCR|ISH|serology|DNA|antibod\w+)\b[^.;\n]*",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\b(?:positiv\w*|detected|present|seen|highlights?|shows?|identified|confirm\w*|inclusions?)"
    r"\b",
    re.IGNORECASE,
)
# Words that deny something, if not always what they stand beside
_ANY_DENIAL = re.compile(
    r"\b(?:no|not|nor|non|none|neither|nil|without|negativ\w*|absen\w+|free|clear|lack\w*|missing"
    r"|exclu\w+|undetect\w+|pending|awaited|uninvolved|spared|intact|0(?![.,]\d)|margins?"
    r"|p?AMR ?0)\b"
    r"|\s[-\u2212](?=\s*(?:[,;.]|$))",
    re.IGNORECASE,
)
_PIECE = re.compile(r",|\bbut\b|\bwhile\b|\bwhereas\b", re.IGNORECASE)
_ADJACENT = 30  # characters between a structure and the verb that says that it is grown into


class Standing(StrEnum):
    """What a text says of a finding."""

    AFFIRMED = "affirmed"
    DENIED = "denied"
    MENTIONED = "mentioned"
    IMPLIED = "implied"


@dataclass(frozen=True, slots=True)
class DecisiveFinding:
    """A finding of a text: its name, what is said of it, where, and how much it matters."""

    name: str
    standing: Standing
    start: int
    end: int
    severity: int
    both: bool = False  # whether it matters only where one text affirms it and the other denies it
    compared: bool = False  # whether it matters only where one text is silent about it
    implied: bool = False  # whether other words of the text, such as a stage, imply it


@lru_cache(maxsize=1 << 11)
def read_decisive(text: str) -> Mapping[str, DecisiveFinding]:
    """The decisive findings that a text speaks of, by name; an affirmation counts most."""
    found: dict[str, DecisiveFinding] = {}
    for each in (*_read(text, "finding", _standing), *_read(text, "structure", _reached)):
        held = found.get(each.name)
        implied = each.implied or (held is not None and held.implied)
        if held is None or _RANK[each.standing] > _RANK[held.standing]:
            held = each
        found[each.name] = replace(held, implied=implied)
    return found


_RANK = {
    Standing.IMPLIED: 0,
    Standing.MENTIONED: 1,
    Standing.DENIED: 2,
    Standing.AFFIRMED: 3,
}


@dataclass(frozen=True, slots=True)
class _Words:
    """A list of expressions, each with how all that it matches begins."""

    pattern: re.Pattern[str]
    beginnings: tuple[str, ...]

    @classmethod
    def of(cls, expressions: Sequence[str]) -> Self:
        found = (_BEGINNING.match(each) for each in expressions)
        return cls(
            any_of(expressions, after=_WORD_END),
            tuple(each["fixed"].lower() if each else "" for each in found),
        )

    def find(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """Where one of them is; most texts have none, and are not searched."""
        if any(map(lowered.__contains__, self.beginnings)):
            yield from self.pattern.finditer(text)


_BEGINNING = re.compile(r"(?:[a-z]\?)?(?P<fixed>[A-Za-z ]+)(?![?*{])")


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    words: _Words
    mention: _Words
    implied: _Words
    severity: int
    both: bool
    compared: bool
    explicit: bool


@cache
def _entries(table: str) -> tuple[_Entry, ...]:
    return tuple(_entry(row) for row in _LEXICON.entry(table))


def _entry(row: Mapping[str, Any]) -> _Entry:
    return _Entry(
        row["name"],
        _Words.of(row["words"]),
        _Words.of(row.get("mention", ())),
        _Words.of(row.get("implied", ())),
        row.get("severity", MAJOR),
        row.get("both", False),
        row.get("compared", False),
        row.get("explicit", False),
    )


def _sentence(text: str, place: int) -> tuple[int, int]:
    found = _clauses_of(text)
    at = bisect_right(found, place, key=lambda clause: clause[0]) - 1
    return found[at] if at >= 0 and place < found[at][1] else (0, len(text))


@lru_cache(maxsize=1 << 4)  # asked for by each word that is found in a text
def _clauses_of(text: str) -> list[tuple[int, int]]:
    return list(clauses(text))


def _read(
    text: str, table: str, standing: Callable[[str, int, int], Standing]
) -> Iterator[DecisiveFinding]:
    lowered = text.lower()
    for entry in _entries(table):

        def found(match: re.Match[str], said: Standing, entry: _Entry = entry) -> DecisiveFinding:
            return DecisiveFinding(
                entry.name,
                said,
                match.start(),
                match.end(),
                entry.severity,
                entry.both,
                entry.compared,
                said == Standing.IMPLIED,
            )

        for match in entry.words.find(text, lowered):
            said = standing(text, *match.span())
            if entry.explicit and said == Standing.AFFIRMED and not stance_at(text, *match.span()):
                said = Standing.MENTIONED
            yield found(match, said)
        for match in islice(entry.mention.find(text, lowered), 1):
            yield found(match, Standing.MENTIONED)
        for match in islice(entry.implied.find(text, lowered), 1):
            yield found(match, Standing.IMPLIED)


def _standing(text: str, start: int, end: int) -> Standing:
    """What is said of a thing; the name of a test for it affirms nothing by itself."""
    first, last = _sentence(text, start)
    if not asserts_now(text[first:last]):
        return Standing.MENTIONED
    stance = stance_at(text, start, end)
    if stance is False:
        return Standing.DENIED
    if stance is None and _ANY_DENIAL.search(text, first, last):
        return Standing.MENTIONED
    if test := _TEST.match(text, end, last):
        return Standing.AFFIRMED if _SHOWN.search(test.group()) else Standing.MENTIONED
    return Standing.AFFIRMED


# --- structures that a tumour has grown into ----------------------------------------------------


def _reached(text: str, start: int, end: int) -> Standing:
    """Whether the words beside a structure say that a tumour grows into it, or that none does."""
    first, last = _sentence(text, start)
    if not asserts_now(text[first:last]):
        return Standing.MENTIONED
    before = _PIECE.split(text[first:start])[-1]
    behind = _PIECE.split(text[end:last])[0]
    verb = _LEXICON.pattern("growth", "verbs")
    grown = [each for each in verb.finditer(before) if len(before) - each.end() <= _ADJACENT]
    grown += [each for each in verb.finditer(behind) if each.start() <= _ADJACENT]
    piece = f"{before}{text[start:end]}{behind}"
    if _spares().search(piece):
        return Standing.DENIED
    if not grown or _ANY_DENIAL.search(piece):
        return Standing.MENTIONED
    direct = _LEXICON.has(piece, "growth", "direct")
    known = direct or _LEXICON.has(text[first:last], "growth", "subjects")
    return Standing.AFFIRMED if known else Standing.MENTIONED


@cache
def _spares() -> re.Pattern[str]:
    """Words that say of a structure that nothing grows into it."""
    verbs = "|".join(_LEXICON.entry("growth", "verbs"))
    return re.compile(
        rf"\bnot (?:\w+ ){{0,2}}(?:{verbs})\b|\bno (?:\w+ ){{0,3}}(?:{verbs})\b"
        r"|\b(?:uninvolved|spared|intact|free of (?:tumou?r|carcinoma|disease))\b",
        re.IGNORECASE,
    )

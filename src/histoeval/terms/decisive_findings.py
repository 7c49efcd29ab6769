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
from typing import Self

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
    both: bool = False  # matters only where one text affirms it and the other denies it
    compared: bool = False  # matters only where one text is silent about it
    implied: bool = False  # true if other words of the text, such as a stage, imply it


@lru_cache(maxsize=1 << 11)
def read_decisive(text: str) -> Mapping[str, DecisiveFinding]:
    """The decisive findings that a text speaks of, by name; an affirmation counts most."""
    findings: dict[str, DecisiveFinding] = {}
    for finding in (*_read(text, "finding", _standing), *_read(text, "structure", _reached)):
        best = findings.get(finding.name)
        implied = finding.implied or (best is not None and best.implied)
        if best is None or _RANKS.index(finding.standing) > _RANKS.index(best.standing):
            best = finding
        findings[finding.name] = replace(best, implied=implied)
    return findings


_RANKS = (Standing.IMPLIED, Standing.MENTIONED, Standing.DENIED, Standing.AFFIRMED)


@dataclass(frozen=True, slots=True)
class _Words:
    """A list of expressions, each with how all that it matches begins."""

    pattern: re.Pattern[str]
    beginnings: tuple[str, ...]

    @classmethod
    def of(cls, expressions: Sequence[str]) -> Self:
        beginnings = map(_BEGINNING.match, expressions)
        return cls(
            any_of(expressions, after=_WORD_END),
            tuple(match["fixed"].lower() if match else "" for match in beginnings),
        )

    def find(self, text: str, lowered: str) -> Iterator[re.Match[str]]:
        """Matches of any of them; most texts have none, and are not searched."""
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
    return tuple(
        _Entry(
            row["name"],
            _Words.of(row["words"]),
            _Words.of(row.get("mention", ())),
            _Words.of(row.get("implied", ())),
            row.get("severity", MAJOR),
            row.get("both", False),
            row.get("compared", False),
            row.get("explicit", False),
        )
        for row in _LEXICON.entry(table)
    )


_clauses_of = lru_cache(maxsize=1 << 4)(lambda text: list(clauses(text)))


def _sentence(text: str, position: int) -> tuple[int, int]:
    spans: list[tuple[int, int]] = _clauses_of(text)
    at = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return spans[at] if at >= 0 and position < spans[at][1] else (0, len(text))


def _read(
    text: str, table: str, standing: Callable[[str, int, int], Standing]
) -> Iterator[DecisiveFinding]:
    lowered = text.lower()
    for entry in _entries(table):

        def finding(match: re.Match[str], said: Standing, entry: _Entry = entry) -> DecisiveFinding:
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
            yield finding(match, said)
        for match in islice(entry.mention.find(text, lowered), 1):
            yield finding(match, Standing.MENTIONED)
        for match in islice(entry.implied.find(text, lowered), 1):
            yield finding(match, Standing.IMPLIED)


def _standing(text: str, start: int, end: int) -> Standing:
    """Standing of a thing; the name of a test for it affirms nothing by itself."""
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
    """Standing of a structure: the words beside it say that a tumour grows into it, or does not."""
    first, last = _sentence(text, start)
    if not asserts_now(text[first:last]):
        return Standing.MENTIONED
    before = _PIECE.split(text[first:start])[-1]
    behind = _PIECE.split(text[end:last])[0]
    verb = _LEXICON.pattern("growth", "verbs")
    grows = any(len(before) - match.end() <= _ADJACENT for match in verb.finditer(before))
    grows = grows or any(match.start() <= _ADJACENT for match in verb.finditer(behind))
    piece = f"{before}{text[start:end]}{behind}"
    if _spares().search(piece):
        return Standing.DENIED
    if not grows or _ANY_DENIAL.search(piece):
        return Standing.MENTIONED
    direct = _LEXICON.has(piece, "growth", "direct")
    is_reached = direct or _LEXICON.has(text[first:last], "growth", "subjects")
    return Standing.AFFIRMED if is_reached else Standing.MENTIONED


@cache
def _spares() -> re.Pattern[str]:
    verbs = "|".join(_LEXICON.entry("growth", "verbs"))
    return re.compile(
        rf"\bnot (?:\w+ ){{0,2}}(?:{verbs})\b|\bno (?:\w+ ){{0,3}}(?:{verbs})\b"
        r"|\b(?:uninvolved|spared|intact|free of (?:tumou?r|carcinoma|disease))\b",
        re.IGNORECASE,
    )

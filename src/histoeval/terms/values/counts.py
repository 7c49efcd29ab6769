"""Counted things: three of twelve nodes, seven free cores, a single polyp."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.values.number_words import in_figures
from histoeval.terms.values.quantity_lexicon import ending

Range = tuple[float, float]
_SENTENCES = re.compile(r"[;\n]|\.(?!\d)")
_BETWEEN = r"(?:(?!of\b|and\b|which\b|with\b)[a-z-]+ ){0,4}?"
_NONE = re.compile(r"\b(?:none|neither)\b(?= (?:of|is|are|with|scler|posit|contain|show))")
_FREE = re.compile(
    r"\W*(?:\w+ ){0,3}?(?:is |are |were )?(?:free|negative|clear|uninvolved|benign|not involved)\b"
)
_ONE = (
    r"(?<!every )(?<!each )(?<!no )(?:\bone(?= {between}(?:{nouns})\b)"
    r"|\bone(?= (?:of|is|are|contain|positive|show)\b))"
)


class CountRange(NamedTuple):
    """So many of so many of a thing, as ranges; what is not told is empty."""

    noun: str
    part: Range | None
    """How many have what is looked for."""
    total: Range | None
    where: frozenset[str]
    free: Range | None = None
    """How many are told not to have it."""


@cache
def _data() -> dict[str, Any]:
    return load_toml("terms/data/counts.toml")


@cache
def word(name: str) -> re.Pattern[str]:
    """A list of words."""
    return re.compile(rf"(?<![a-z0-9-])(?:{_data()['words'][name]})(?![a-z0-9])")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    nouns = "|".join(f"(?P<{name}>{words})" for name, words in _data()["nouns"].items())
    bare = "|".join(_data()["nouns"].values())
    of, total = (
        r"(?:out )?of (?:the |these |all |them )?",
        rf"(?P<total>\d+) {_BETWEEN}(?:{nouns})\b",
    )
    has = r"of (?:them|which|these)\b|(?:\w+ )?(?:scler|posit|contain|involved|obsolete|with )"
    return {
        "of": re.compile(rf"\b(?P<part>\d+) {_BETWEEN}{of}{total}"),
        "slash": re.compile(r"(?<![\d/])(?P<part>\d+) ?/ ?(?P<total>\d+)(?![\d/])"),
        "of_which": re.compile(rf"\b{total}[^.\d]{{0,50}}?\bof which (?P<part>\d+)"),
        "of_them": re.compile(rf"\b{total}[^.\d]{{0,60}}?\b(?P<part>\d+) (?={has})"),
        "plain": re.compile(rf"(?<![\d/.x])\b(?P<number>\d+) {_BETWEEN}(?:{nouns})\b"),
        "after": re.compile(
            rf"\b(?:{nouns})\b(?: |: )(?:(?:{_data()['words']['found']})\b[a-z ]{{0,14}}?)?"
            r"(?P<number>\d+)\b"
        ),
        "one": re.compile(_ONE.format(between=_BETWEEN, nouns=bare)),
        "noise": re.compile(
            rf"(?<![a-z0-9])(?:{_data()['words']['labelled']})|\b(?:{_data()['words']['measured']})"
        ),
    }


@lru_cache(maxsize=1 << 13)
def counts(text: str) -> tuple[CountRange, ...]:
    """The counts that a text tells."""
    low = text.lower()
    known = _patterns()
    low = in_figures(known["one"].sub("1", _NONE.sub("0", low)))
    if not any(map(str.isdigit, low)):
        return ()
    low = known["noise"].sub(" ", low)
    about_nodes = word("nodal").search(low) is not None
    return tuple(
        count
        for part in _SENTENCES.split(low)
        if part
        for count in _of_sentence(part, known, about_nodes)
    )


def _of_sentence(
    text: str, known: dict[str, re.Pattern[str]], about_nodes: bool
) -> Iterator[CountRange]:
    taken: list[tuple[int, int]] = []
    for name in ("of", "slash", "of_which", "of_them", "plain", "after"):
        for found in known[name].finditer(text):
            if any(start < found.end() and found.start() < end for start, end in taken):
                continue
            before = max((end for _, end in taken if end <= found.start()), default=0)
            count = _read(found, text[before : found.end()], text, about_nodes)
            if count:
                taken.append(found.span())
                yield count


def _read(found: re.Match[str], near: str, text: str, about_nodes: bool) -> CountRange | None:
    got = found.groupdict()
    noun = next((name for name in _data()["nouns"] if got.get(name)), None)
    if noun is None:
        held = re.search(r"\bcores?\b", text)
        noun = "node" if about_nodes else "core" if held else None
    if noun is None:
        return None
    where = _where(near + re.split(r"[,\d]", text[found.end() : found.end() + 30])[0])
    if "number" in got:
        return _alone(found, noun, where, text)
    part, total = float(got["part"]), float(got["total"])
    if part > total:
        return None
    if _FREE.match(text[found.end() :]):
        part = total - part
    return CountRange(noun, (part, part), (total, total), where)


def _alone(found: re.Match[str], noun: str, where: frozenset[str], text: str) -> CountRange:
    value = _range(text[: found.start("number")], float(found["number"]))
    near = found.group() + " " + re.split(r"\d", text[found.end() : found.end() + 60])[0]
    if found.start("number") > found.start():
        near = text[max(0, found.start() - 15) : found.end()]
        if word("held").search(near) and not re.search(r"\bun", near):
            return CountRange(noun, value, None, where)
    if re.search(r"\buninvolved\b", found.group()) or word("free").search(near):
        every = re.search(r"\b(?:all|every|each)\b", text)
        if every:
            return CountRange(noun, (0.0, 0.0), value, where)
        return CountRange(noun, None, None, where, value)
    if word("held").search(text):
        return CountRange(noun, value, None, where)
    return CountRange(noun, None, value, where)


def _range(before: str, value: float) -> Range:
    if ending("less").search(before):
        return 0.0, value - 1
    if ending("more").search(before):
        return (value if re.search(r"(?:least|≥|>=)\W*$", before) else value + 1), math.inf
    return value, value


def _where(text: str) -> frozenset[str]:
    """Places, each with the row that it is of."""
    return frozenset(
        f"{row}:{found.group()}" for row, known in _rows() for found in known.finditer(text)
    )


@cache
def _rows() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = _data()["where"].items()
    return tuple((row, re.compile(rf"(?<![a-z-])(?:{words})(?![a-z])")) for row, words in rows)

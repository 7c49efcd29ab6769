"""Counted things: three of twelve nodes, seven free cores, a single polyp."""

import math
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from histoeval.terms.lexicon import Lexicon, any_of
from histoeval.terms.number_words import in_digits
from histoeval.terms.values.quantities import ending

# Words by which counts are read, in lower case
COUNTS = Lexicon("terms/data/counts.toml", before="(?<![a-z0-9-])", after="(?![a-z0-9])", flags=0)

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
    """N of M of a thing, as ranges; None where one is not given."""

    noun: str
    part: Range | None  # how many have what is looked for
    total: Range | None
    where: frozenset[str]
    free: Range | None = None  # how many do not have it


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    nouns = "|".join(f"(?P<{name}>{words})" for name, words in COUNTS.entry("nouns").items())
    bare = "|".join(COUNTS.entry("nouns").values())
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
            rf"\b(?:{nouns})\b(?: |: )(?:(?:{COUNTS.entry('words')['found']})\b[a-z ]{{0,14}}?)?"
            r"(?P<number>\d+)\b"
        ),
        "one": re.compile(_ONE.format(between=_BETWEEN, nouns=bare)),
        "noise": re.compile(
            rf"(?<![a-z0-9])(?:{COUNTS.entry('words')['labelled']})|\b(?:{COUNTS.entry('words')['measured']})"
        ),
    }


@lru_cache(maxsize=1 << 13)
def counts(text: str) -> tuple[CountRange, ...]:
    lowered = text.lower()
    patterns = _patterns()
    lowered = in_digits(patterns["one"].sub("1", _NONE.sub("0", lowered)))
    if not any(map(str.isdigit, lowered)):
        return ()
    lowered = patterns["noise"].sub(" ", lowered)
    about_nodes = COUNTS.has(lowered, "words", "nodal")
    return tuple(
        count
        for part in _SENTENCES.split(lowered)
        if part
        for count in _of_sentence(part, patterns, about_nodes)
    )


def _of_sentence(
    text: str, patterns: dict[str, re.Pattern[str]], about_nodes: bool
) -> Iterator[CountRange]:
    taken: list[tuple[int, int]] = []
    for name in ("of", "slash", "of_which", "of_them", "plain", "after"):
        for match in patterns[name].finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            before = max((end for _, end in taken if end <= match.start()), default=0)
            if count := _read(match, text[before : match.end()], text, about_nodes):
                taken.append(match.span())
                yield count


def _read(match: re.Match[str], near: str, text: str, about_nodes: bool) -> CountRange | None:
    got = match.groupdict()
    noun = next((name for name in COUNTS.entry("nouns") if got.get(name)), None)
    if noun is None:
        noun = "node" if about_nodes else "core" if re.search(r"\bcores?\b", text) else None
    if noun is None:
        return None
    near += re.split(r"[,\d]", text[match.end() : match.end() + 30])[0]
    where = frozenset(
        f"{row}:{m.group()}" for row, pattern in _rows() for m in pattern.finditer(near)
    )
    if "number" in got:
        return _alone(match, noun, where, text)
    part, total = float(got["part"]), float(got["total"])
    if part > total:
        return None
    if _FREE.match(text[match.end() :]):
        part = total - part
    return CountRange(noun, (part, part), (total, total), where)


def _alone(match: re.Match[str], noun: str, where: frozenset[str], text: str) -> CountRange:
    value = _range(text[: match.start("number")], float(match["number"]))
    near = match.group() + " " + re.split(r"\d", text[match.end() : match.end() + 60])[0]
    if match.start("number") > match.start():
        near = text[max(0, match.start() - 15) : match.end()]
        if COUNTS.has(near, "words", "held") and not re.search(r"\bun", near):
            return CountRange(noun, value, None, where)
    if re.search(r"\buninvolved\b", match.group()) or COUNTS.has(near, "words", "free"):
        if re.search(r"\b(?:all|every|each)\b", text):
            return CountRange(noun, (0.0, 0.0), value, where)
        return CountRange(noun, None, None, where, value)
    if COUNTS.has(text, "words", "held"):
        return CountRange(noun, value, None, where)
    return CountRange(noun, None, value, where)


def _range(before: str, value: float) -> Range:
    if ending("less").search(before):
        return 0.0, value - 1
    if ending("more").search(before):
        return (value if re.search(r"(?:least|≥|>=)\W*$", before) else value + 1), math.inf
    return value, value


@cache
def _rows() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (row, any_of(words, before="(?<![a-z-])", after="(?![a-z])", flags=0))
        for row, words in COUNTS.entry("where").items()
    )

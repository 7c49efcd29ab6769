"""Sizes, weights, shares and rates as ranges, each with what it is of.

"Larger than 3 cm" is a range as "3.2 cm" is. What a quantity is of (the tumour, a margin, a node;
the largest, the sum; left, deep; on imaging, fresh) is read with it, since a margin of 2 mm says
nothing about a tumour, and the deep margin nothing about another.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from histoeval.terms.lexicon import any_of
from histoeval.terms.number_words import QUANTITIES, in_digits

_NUMBER = r"\d+(?:\.\d+)?"
_SENTENCES = re.compile(r"[;\n]|\.(?!\d)")
_CUT = re.compile(r",(?!\d)|\band\b|\bwith\b|\bbut\b|\bwhere\b|\(|\)")
_DISTANCE = re.compile(rf"\bat {_NUMBER} ?cm")  # how far in something lies, which is no size of it
_BETWEEN = re.compile(
    rf"\b(between|from) ~?({_NUMBER})\s*(?:%|cm|mm|g)?(?: [a-z ]{{3,25}}?)? (?:and|to) "
    rf"~?({_NUMBER})(?=\s*(?:%|cm|mm|g))"
)
_OF_WHOLE = re.compile(
    rf"(?<!\d)({_NUMBER}) ?mm (?:out of|of|into|in|where)\b[^.;]{{0,40}}?({_NUMBER}) ?mm"
)
_HAS_WHOLE = re.compile(r"core|myometri|wall")
_RATE = re.compile(
    rf"(?<!\d)(?P<number>{_NUMBER})\s*(?:[a-z-]+ ){{0,3}}?(?:figures )?(?:per|in|/)\s*"
    r"(?:every )?(?:the )?(?:\d+ ?)?(?:hpfs?\b|high|mm2|mm²|square|fields)"
    r"|mito[a-z ]{1,200}+[^.;,\d]{0,30}?(?P<bare>\d++)"
    rf"(?![\d.]* ?(?:%|mm|cm))|(?<!\d)(?P<mitoses>{_NUMBER}) mitos"
)
_ABOUT_SHARE = 0.15
_SHORT = 0.8  # just under 3 cm is not far below


class Quantity(NamedTuple):
    """A range of a kind (length in mm, weight in g, share in per cent, rate), and of what."""

    kind: str
    low: float
    high: float
    subject: str | None  # empty for the lesion itself, None where it is not given
    # True if it is the highest, the lowest, the sum, or one of several
    tags: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    where: frozenset[str] = frozenset()
    scenes: frozenset[str] = frozenset()


class _Written(NamedTuple):
    kind: str
    values: tuple[float, ...]
    spread: bool  # true if the values are the ends of a range of several
    start: int
    end: int


@cache
def ending(name: str) -> re.Pattern[str]:
    """Words that bound a number that follows them."""
    return any_of(
        QUANTITIES.entry("bounds", name), before="(?<![a-z0-9])", after=r"(?: the)?\W*$", flags=0
    )


@cache
def _subjects(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = QUANTITIES.entry("subjects").get(kind, ())
    return tuple((name, any_of(words, before="(?<![a-z0-9])", flags=0)) for name, words in rows)


def _named(group: str, text: str) -> frozenset[str]:
    """The lists of a group that a text has a word of."""
    return frozenset(name for name in QUANTITIES.entry(group) if QUANTITIES.has(text, group, name))


@cache
def _amounts() -> re.Pattern[str]:
    units = "|".join(f"(?P<u{at}>{words})" for at, words in enumerate(QUANTITIES.entry("units")))
    more = rf"(?:\s*(?:x|by|-|\u2013|to|and|,|, and|/)\s*~?{_NUMBER}){{0,40}}"
    return re.compile(rf"(?<![\w.])(?P<values>{_NUMBER}{more})\s*-?(?:{units})(?![a-z2²])")


@lru_cache(maxsize=1 << 13)
def quantities(text: str) -> tuple[Quantity, ...]:
    lowered = text.lower()
    in_figures = in_digits(lowered)
    if not any(map(str.isdigit, text)) and in_figures == lowered:
        return ()
    return tuple(
        quantity for sentence in _SENTENCES.split(in_figures) for quantity in _of_sentence(sentence)
    )


def _of_sentence(sentence: str) -> Iterator[Quantity]:
    """Quantities, each with the words around it; one without a subject has that of the last."""
    sentence = _BETWEEN.sub(r"\1 \2 and \3", _DISTANCE.sub(" ", sentence))
    items = sorted((*_rates(sentence), *_written(sentence)), key=lambda item: item.start)
    last: dict[str, str | None] = {}
    scenes, start = _named("scenes", sentence) if items else frozenset(), 0
    yield from _of_whole(sentence)
    for at, item in enumerate(items):
        until = items[at + 1].start if at + 1 < len(items) else len(sentence)
        cut = _CUT.search(sentence, item.end, until)
        after = cut.start() if cut else until
        before, behind = sentence[start : item.start], sentence[item.end : after]
        start = after
        words = f"{before} {behind}"
        subjects = _subjects(item.kind)
        subject = next((name for name, pattern in subjects if pattern.search(words)), None)
        if "whole" in _named("parts", before) and subject == "insitu":
            subject = ""
        subject = last.get(item.kind) if subject is None else subject
        last[item.kind] = subject
        yield from _ranges(item, subject, before, behind, scenes)


def _of_whole(sentence: str) -> Iterator[Quantity]:
    """The share of a core or a wall that is given by two lengths."""
    for match in _OF_WHOLE.finditer(sentence) if _HAS_WHOLE.search(sentence) else ():
        part, whole = float(match[1]), float(match[2])
        if 0 < part <= whole:
            name = "" if "core" in sentence else "myometrium"
            yield Quantity("share", 100 * part / whole, 100 * part / whole, name)


def _ranges(
    item: _Written, subject: str | None, before: str, behind: str, scenes: frozenset[str]
) -> Iterator[Quantity]:
    words = f"{before} {behind}"
    tags = _named("tags", words)
    if len(item.values) > 1 and not item.spread:
        tags |= {"several"}
    where = frozenset(
        match.group()
        for name in ("names", "labels")
        for match in QUANTITIES.pattern("where", name).finditer(words)
    )
    spans = (
        [(min(item.values), max(item.values))]
        if item.spread
        else [_range(before, behind, value) for value in item.values]
    )
    parts, unnamed = _named("parts", words), "" if item.kind == "share" else None
    name = unnamed if subject is None else subject
    if item.kind == "share" and subject == "viable":
        name, spans = "necrosis", [(100 - high, 100 - low) for low, high in spans]
    for low, high in spans:
        yield Quantity(item.kind, low, high, name, tags, parts, where, scenes)


def _rates(sentence: str) -> Iterator[_Written]:
    for match in _RATE.finditer(sentence):
        name = next(name for name in ("number", "bare", "mitoses") if match[name])
        yield _Written("rate", (float(match[name]),), False, match.start(name), match.end())


def _written(sentence: str) -> Iterator[_Written]:
    kinds = list(QUANTITIES.entry("units").values())
    taken = [(item.start, item.end) for item in _rates(sentence)]
    for match in _amounts().finditer(sentence):
        if any(start < match.end() and match.start() < end for start, end in taken):
            continue
        kind, factor = next(kinds[at] for at in range(len(kinds)) if match[f"u{at}"])
        written = match["values"]
        values = tuple(float(number) * factor for number in re.findall(_NUMBER, written))
        if re.search(r"\bx\b|\bby\b|\dx\d", written):
            values = (max(values),)
        if len(values) == 2 and re.search(r"\d,\s", written) and "and" not in written:
            values = values[1:]
        spread = len(values) == 2 and bool(re.search(r"-|\u2013|\bto\b", written))
        between = re.search(r"\b(?:between|from)\s*~?$", sentence[: match.start()])
        spread = spread or (len(values) == 2 and bool(between))
        yield _Written(kind, values, spread, match.start(), match.end())


def _range(before: str, behind: str, value: float) -> tuple[float, float]:
    """Range that a number stands for between these words."""
    behind = behind.strip()
    if just := ending("just").search(before):
        is_over = re.search("over|above|more|larger", just.group())
        return (value, value * 1.2) if is_over else (value * _SHORT, value)
    about = bool(ending("about").search(before))
    bare = ending("about").sub("", before) if about else before
    denied = QUANTITIES.has(before.rpartition(",")[2], "bounds", "denied")
    more, less = (
        bool(ending(way).search(bare) or QUANTITIES.pattern("bounds", f"after_{way}").match(behind))
        for way in ("more", "less")
    )
    if ending("not_more").search(bare):
        more, less = False, True
    elif denied and (more or less):
        more, less = less, more
    if less:
        return -math.inf, value
    if more:
        return value, math.inf
    loose = value * _ABOUT_SHARE if about else 0.0
    return value - loose, value + loose


_ROUNDING = 0.06
# Lengths that are never meant where nothing is named
_OF_THEIR_OWN = frozenset({"margin", "apart", "depth", "wall", "width", "duct", "cord"})

# What is never meant where nothing is named
_ELSEWHERE = frozenset({"metastasis", "blood", "adrenal"})


class Fits(StrEnum):
    """The relation of a quantity of a premise to one of a hypothesis."""

    SAME = "same"
    OTHER = "other"
    OPEN = "open"


def compared(given: Iterable[Quantity], claimed: Iterable[Quantity]) -> set[Fits]:
    """The relations of the quantities of a hypothesis to those of a premise."""
    given = tuple(given)
    return {_answered(given, each) for each in claimed}


def _answered(given: Sequence[Quantity], claimed: Quantity) -> Fits:
    """Relation of a claim to all that is given for the same thing."""
    alike = [quantity for quantity in given if _is_alike(quantity, claimed)]
    near = [quantity for quantity in alike if not _is_elsewhere(quantity, claimed)]
    if not near:
        return _beyond(alike, claimed)
    if (
        "sum" in claimed.tags
        and not any("sum" in quantity.tags for quantity in near)
        and len(near) > 1
    ):
        low, high = sum(quantity.low for quantity in near), sum(quantity.high for quantity in near)
        return _fit(near[0]._replace(low=low, high=high), claimed)
    if "max" in claimed.tags and len(near) > 1:
        near = [max(near, key=lambda quantity: quantity.high)]
    elif "min" in claimed.tags and len(near) > 1:
        near = [min(near, key=lambda quantity: quantity.low)]
    found = {_held(quantity, claimed) for quantity in near}
    if "all" in claimed.tags and len(found) > 1:
        return Fits.OTHER if Fits.OTHER in found else Fits.OPEN
    return next((fits for fits in (Fits.SAME, Fits.OPEN) if fits in found), Fits.OTHER)


def _is_alike(quantity: Quantity, claimed: Quantity) -> bool:
    """True if two quantities may be of the same thing."""
    if quantity.kind != claimed.kind:
        return False
    if quantity.subject == claimed.subject:
        return True
    subjects = {quantity.subject, claimed.subject} - {None}
    return len(subjects) == 1 and not subjects & _OF_THEIR_OWN


def _is_elsewhere(quantity: Quantity, claimed: Quantity) -> bool:
    """True if two quantities are of different places or were measured in different ways."""
    if quantity.scenes and claimed.scenes and not quantity.scenes & claimed.scenes:
        return True
    if claimed.where & _ELSEWHERE and not quantity.where & claimed.where:
        return True
    if claimed.where and not quantity.where & claimed.where:
        return bool(quantity.where) or (quantity.subject == "margin" and "all" not in quantity.tags)
    return False


def _beyond(alike: Sequence[Quantity], claimed: Quantity) -> Fits:
    """One of several elsewhere: below the lowest of all it cannot be, nor above the highest."""
    for quantity in alike:
        if "min" in quantity.tags and claimed.high < quantity.low and math.isfinite(claimed.high):
            return Fits.OTHER
        if "max" in quantity.tags and "min" not in quantity.tags and claimed.low > quantity.high:
            return Fits.OTHER if quantity.subject != "margin" else Fits.OPEN
    return Fits.OPEN


def _held(quantity: Quantity, claimed: Quantity) -> Fits:
    """Two quantities of the same thing, or of which one is a part, or one of several."""
    if _is_within(quantity, claimed):
        return Fits.OTHER if claimed.low > quantity.high else Fits.OPEN
    if "whole" in claimed.parts - quantity.parts and quantity.parts & {"invasive", "insitu"}:
        return Fits.OTHER if claimed.high < quantity.low else Fits.OPEN
    return Fits.OPEN if _are_unlike(quantity, claimed) else _fit(quantity, claimed)


def _is_within(quantity: Quantity, claimed: Quantity) -> bool:
    """True if the claim can only be less: a part, one of several, an item of a sum."""
    part = "whole" in quantity.parts - claimed.parts and "invasive" in claimed.parts
    item = (
        bool(claimed.tags & {"one", "min"})
        and "max" in quantity.tags
        and "min" not in quantity.tags
    )
    summed = "sum" in quantity.tags - claimed.tags and bool(claimed.tags & {"max", "min"})
    return part or item or summed


def _are_unlike(quantity: Quantity, claimed: Quantity) -> bool:
    """True if one is of what is in situ or a mean or an item, and the other is not."""
    differ = quantity.parts ^ claimed.parts
    mean = "mean" in quantity.tags and "max" in claimed.tags and claimed.high > quantity.high
    item = "sum" in claimed.tags - quantity.tags and bool(quantity.tags & {"max", "min"})
    return {"insitu", "invasive"} <= differ or mean or item


def _fit(first: Quantity, second: Quantity) -> Fits:
    bound = max(abs(limit) for limit in (*first[1:3], *second[1:3]) if math.isfinite(limit))
    loose = bound * _ROUNDING
    if math.isfinite(first.low + first.high) and not math.isfinite(second.low + second.high):
        middle = (first.low + first.high) / 2
        first = first._replace(low=middle, high=middle)
    if first.low >= second.low - loose and first.high <= second.high + loose:
        return Fits.SAME
    if first.low > second.high + loose or first.high < second.low - loose:
        return Fits.OTHER
    ranges = all(math.isfinite(limit) for limit in (*first[1:3], *second[1:3]))
    return Fits.SAME if ranges else Fits.OPEN

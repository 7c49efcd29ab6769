"""Amounts of whole texts: lengths, per cent, shares and rates, with what they are of.

What an amount is of is read from the words near it and decides how severe a change is: 12 mm for
8 mm is trivial for a core and not for a depth of invasion (`terms/data/amounts.toml`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.number_words import in_figures
from histoeval.terms.values.stated import CRITICAL, MINOR, StatedValue, clauses

_NUMBER = r"(?<![\w.,/])\d+(?:[.,]\d+)?"
_GAP = r"\s{0,16}"  # space, which may stand for the rest of a number in words
_BOUND = rf"[<>\u2264\u2265]{_GAP}|\b(?:less|more|over|under|below) (?:than )?"
_MORE = rf"{_GAP}(?:mm|cm)?{_GAP}(?:x|\u00d7|by|-|\u2013|to){_GAP}\d+(?:[.,]\d+)?"
_LENGTH = re.compile(
    rf"(?:{_BOUND})?(?P<values>{_NUMBER}(?:{_MORE})*)[\s-]{{0,16}}"
    r"(?P<unit>mm|cm|millimet(?:re|er)s?|centimet(?:re|er)s?)(?![\w\u00b2]|2)",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    rf"(?P<bound>{_BOUND})?(?P<low>{_NUMBER}){_GAP}%?"
    rf"(?:{_GAP}(?:-|\u2013|to){_GAP}(?P<high>\d+(?:[.,]\d+)?))?{_GAP}(?:%|per ?cent\b)",
    re.IGNORECASE,
)
_PART = re.compile(
    rf"(?P<part>{_NUMBER}) ?(?:mm|cm)? ?(?:/|(?:out )?of (?:a |the )?) ?"
    r"(?P<total>\d+(?:\.\d+)?)[ -]?(?:mm|cm)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"(?<![\w./])(?P<part>\d{{1,3}}|none|all)\b{_GAP}"
    r"(?:/|(?:(?!of\b)[a-z-]+ )?(?:out )?of (?:the )?) ?"
    rf"(?P<total>\d{{1,3}})(?![\w/]|\.\d|{_GAP}(?:mm|cm|%|\+))",
    re.IGNORECASE,
)
_HALF = re.compile(
    r"\b(?:(?P<less>less)|more|greater) than (?:one |a )?half\b"
    r"|\b(?:(?P<inner>inner)|outer) half\b",
    re.IGNORECASE,
)
_RATE = re.compile(
    rf"(?P<n>{_NUMBER}){_GAP}(?:(?:mitos[ei]s|mitotic figures|eosinophils|IELs?|cells"
    rf"|mut(?:ation)?s?){_GAP})?"
    rf"(?:/|per){_GAP}(?:(?P<of>\d+){_GAP})?"
    r"(?P<unit>HPFs?|high[- ]power(?:ed)? fields?|mm2|mm\u00b2|square mm|Mb|megabase)",
    re.IGNORECASE,
)
_FIELDS_OF_MM2 = 5  # high-power fields of a square millimetre
_BELOW = 0.999  # what is less than 1 % ends below it
_WORDS = re.compile(r"[,;()]")
_VIABLE = re.compile(r"\bviab|\bresidual\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Amount:
    kind: str
    name: str
    words: re.Pattern[str]
    limits: tuple[tuple[float, int], ...]
    upto: bool
    apart: int
    least: float
    factors: tuple[tuple[float, int], ...]
    points: tuple[tuple[float, int], ...]


def _float(written: str) -> float:
    return 0.0 if written.lower() == "none" else float(written.replace(",", "."))


def _pairs(row: Mapping[str, Any], key: str) -> tuple[tuple[float, int], ...]:
    return tuple((float(limit), int(severity)) for limit, severity in row.get(key, ()))


@cache
def _amounts() -> Mapping[str, _Amount]:
    return {
        f"{row['kind']} {row['name']}": _Amount(
            row["kind"],
            row["name"],
            re.compile(row["words"], re.IGNORECASE),
            _pairs(row, "limits"),
            row.get("upto", False),
            row.get("apart", 3),
            row.get("least", 1.0),
            _pairs(row, "factors"),
            _pairs(row, "points"),
        )
        for row in load_toml("terms/data/amounts.toml")["amount"]
    }


@lru_cache(maxsize=1 << 11)
def read_amounts(text: str) -> tuple[StatedValue, ...]:
    """The amounts of a text; the axis is the kind, and the option says what it is of."""
    figures = in_figures(text)
    return tuple(
        value for start, end in clauses(text) for value in _of_clause(figures[start:end], start)
    )


def _of_clause(clause: str, offset: int) -> Iterator[StatedValue]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in (
        ("share", _PART),
        ("rate", _RATE),
        ("length", _LENGTH),
        ("percent", _PERCENT),
        ("share", _SHARE),
        ("share", _HALF),
    ):
        for match in pattern.finditer(clause):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            for low, high, total in _read(kind, match):
                name = _of(kind, clause, *match.span())
                viable = name == "necrosis" and _VIABLE.search(clause)
                ends = (100 - high, 100 - low) if viable else (low, high)
                start, end = offset + match.start(), offset + match.end()
                yield StatedValue(kind, frozenset({name}), start, end, *ends, total)


def _read(kind: str, match: re.Match[str]) -> Iterator[tuple[float, float, float | None]]:
    if kind == "length":
        scale = 10.0 if match["unit"].lower().startswith("c") else 1.0
        for written in re.findall(r"\d+(?:[.,]\d+)?", match["values"]):
            value = round(_float(written) * scale, 4)
            yield value, value, None
    elif kind == "percent":
        low = _float(match["low"])
        bound = match["bound"] or ""
        if re.match(r"[<\u2264]|less|under|below", bound, re.IGNORECASE):
            yield 0.0, low * _BELOW, None
        else:
            yield low, _float(match["high"]) if match["high"] else low, None
    elif kind == "rate":
        is_area, of = "mm" in match["unit"].lower(), float(match["of"] or 1)
        per = (_FIELDS_OF_MM2 * of) if is_area else of
        value = round(_float(match["n"]) * (10 / per if match["of"] or is_area else 1), 3)
        yield value, value, None
    elif match.re is _HALF:
        yield (0.0, 50 * _BELOW, None) if match["less"] or match["inner"] else (50.0, 100.0, None)
    else:
        total = _float(match["total"])
        part = total if match["part"].lower() == "all" else _float(match["part"])
        if total > 0 and part <= total:
            share = 100 * part / total
            yield share, share, total


def _of(kind: str, clause: str, start: int, end: int) -> str:
    before, behind = _WORDS.split(clause[:start])[-1], _WORDS.split(clause[end:])[0]
    for words in (f"{before} {clause[start:end]} {behind}", clause[max(0, start - 40) : start]):
        for amount in _amounts().values():
            if amount.kind == kind and amount.words.pattern and amount.words.search(words):
                return amount.name
    return next(a.name for a in reversed(list(_amounts().values())) if a.kind == kind)


def amount_conflicts(
    ones: Sequence[StatedValue], others: Sequence[StatedValue]
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Amounts that only one text has, each with one of the same kind that only the other has.

    Amounts of the same thing go together first, and those that are in the same order.
    """
    for kind in ("length", "percent", "share", "rate"):
        first_values, second_values = (
            [v for v in every if v.axis == kind] for every in (ones, others)
        )
        left = [
            first
            for first in first_values
            if not any(_same(first, second) for second in second_values)
        ]
        right = [
            second
            for second in second_values
            if not any(_same(first, second) for first in first_values)
        ]
        for first in left:
            of_same_options = [second for second in right if first.options == second.options]
            if of_same_options:
                right.remove(of_same_options[0])
                if severity := amount_severity(first, of_same_options[0]):
                    yield first, of_same_options[0], severity


def _same(first: StatedValue, second: StatedValue) -> bool:
    """True if two amounts are the same but for rounding, which crosses no sharp limit."""
    if first.total is not None and second.total is not None and first.low == second.low == 0:
        return True
    if first.low <= second.high and second.low <= first.high:
        return True
    near, far = sorted((abs(first.low), abs(second.low)))
    amount = _amount(first)
    is_rounded = far - near <= 0.05 * far
    return is_rounded and not (amount.least <= 1 and any(_crossed(amount, near, far)))


def amount_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one amount for another of the same thing."""
    amount = _amount(one)
    low, high = sorted((one.low, other.low))
    factor = high / low if low > 0 else (99.0 if high > 0 else 1.0)
    crossed = list(_crossed(amount, low, high))
    severities = [MINOR]
    if crossed and factor >= amount.least:
        severities.append(min(CRITICAL, max(crossed) + (len(crossed) >= amount.apart)))
    # Smaller differences are never more than trivial: 1 % for 3 %
    least_gap = 4.0 if one.axis == "percent" and "MRD" not in one.options else 0.0
    if high - low >= least_gap:
        severities += [severity for least, severity in amount.factors if factor >= least]
    severities += [severity for least, severity in amount.points if high - low >= least]
    return max(severities)


def _amount(value: StatedValue) -> _Amount:
    (name,) = value.options
    return _amounts()[f"{value.axis} {name}"]


def _crossed(amount: _Amount, low: float, high: float) -> Iterator[int]:
    for limit, severity in amount.limits:
        if low <= limit < high if amount.upto else low < limit <= high:
            yield severity

"""The measurement in a phrase: a size, a count, N of M, a share in per cent, a rate."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from histoeval.terms.number_words import in_figures
from histoeval.terms.plain import normalised

Kind = Literal[
    "length", "depth", "distance", "area", "volume", "weight", "count", "share", "percent",
    "ratio", "mitoses",
]  # fmt: skip
Bound = Literal["at least", "at most"]

_NUMBER = r"(?<!\d)(?:\d{1,3}(?:,\d{3}){1,5}(?!\d)|\d+(?:[.,]\d+)?|[.]\d+)"
_TIMES = r"\s*(?:x|\xd7|\*|by)\s*"
_TO = r"\s*(?:-|to|and)\s*"
# A unit as it is written once tidied, what it measures, and how many mm, mm², ml or g it is
_UNITS: dict[str, tuple[Kind, float]] = {
    "mm2": ("area", 1), "cm2": ("area", 100), "cm3": ("volume", 1), "mm": ("length", 1),
    "cm": ("length", 10), "um": ("length", 0.001), "ml": ("volume", 1), "cc": ("volume", 1),
    "l": ("volume", 1000), "kg": ("weight", 1000), "mg": ("weight", 0.001), "g": ("weight", 1),
}  # fmt: skip

_UNIT = rf"(?P<unit>{'|'.join(_UNITS)})(?![a-z0-9])"
_SIZES = re.compile(
    rf"(?P<first>{_NUMBER})(?:\s*(?:mm|cm))?(?:(?:{_TIMES}|{_TO})(?P<second>{_NUMBER}))?"
    rf"(?:\s*(?:mm|cm))?(?:{_TIMES}(?P<third>{_NUMBER}))?\s*(?:-\s*)?{_UNIT}"
)
_PERCENT = re.compile(rf"(?P<low>{_NUMBER})(?:\s*%)?(?:{_TO}(?P<high>{_NUMBER}))?\s*%")
_FIELDS = r"(?:(?P<fields>\d+)\s*)?(?:hpf|high[- ]power(?:ed)? fields?)"
_MITOSES = re.compile(
    rf"(?P<low>{_NUMBER})(?:{_TO}(?P<high>{_NUMBER}))?\s*"
    rf"(?:(?:mitos[ei]s|mitotic figures?|mitotic)\s*)?(?:/|per|in|seen per)\s*"
    rf"(?:{_FIELDS}|(?:(?P<area>{_NUMBER})\s*)?(?:square )?mm2?)"
)
_MITOSES_ALONE = re.compile(rf"mitoti?c? ?(?:count|rate|index)[^\d]{{0,12}}(?P<low>{_NUMBER})$")
_OF = re.compile(
    r"(?<![\d.])(?P<part>\d+)\s*(?:/|(?:[a-z]+\s+){0,4}?(?:out )?of(?: the)?\s)\s*"
    r"(?P<all>\d+)(?![\d.]\d|\d)"
)
_NODES = re.compile(r"(?<!\d)(?P<all>\d+)\s+(?:[a-z]+,?\s+){0,4}?(?:nodes?|cores?)\b")
_NONE_THERE = re.compile(
    r"\b(?:no|negative|free|benign|reactive|uninvolved|without|not involved)\b"
)
_RATIO = re.compile(rf"ratio[^\d]{{0,20}}(?P<first>{_NUMBER})(?:\s*:\s*(?P<second>{_NUMBER}))?")
_COUNT = re.compile(r"(?<![\d.,/+=])(?P<n>\d+)(?![\d./]|\s*[:+])")
_AT_LEAST = re.compile(
    r"(?:>|≥|at least|(?:more|greater|larger) than|over|exceeding|minimum)\W*(?:of )?$"
)
_AT_MOST = re.compile(
    r"(?:<|≤|at most|(?:less|fewer|smaller) than|up to|under|below|maximum of|no more than)\W*$"
)
_DEPTH = re.compile(r"\b(?:depth|deep|thick(?:ness)?|breslow|inva\w+|infiltrat\w+)\b")
_DISTANCE = re.compile(r"\b(?:margins?|from|clearance|distance|away)\b")
_SPELT = re.compile(r"\b(?:none|single|zero)\b")
_SPELT_VALUES = {"none": "0", "single": "1", "zero": "0"}
_TIDY = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"\bl(?=[.,]\d)|(?<=\d[.,])[li]\b|(?<=x)\s?l(?=[.,]\d)", "1"),
        (r"\bo(?=[.,]\d)|(?<=\d[.,])o\b", "0"),
        (r"(\d)\s?([.])\s?(\d)(?=\d*\s*(?:x|by|cm|mm))", r"\1\2\3"),
        (r"per\s?cent|pct\b", "%"),
        (r"\bcenti?met(?:er|re)s?|\bcms\b|(?<=\d)cms\b", "cm"),
        (r"\bmillimet(?:er|re)s?|\bmms\b", "mm"),
        (r"micromet(?:er|re)s?|microns?|μm", "um"),
        (r"\b(?:sq\.?|square) ?(mm|cm)\b", r"\g<1>2"),
        (r"\bcubic cm\b", "cm3"),
        (r"kilograms?", "kg"),
        (r"\bgrams?\b|\bgms?\b|(?<=\d)gms?\b", "g"),
        (r"millilit(?:er|re)s?", "ml"),
        (r"[(){}\[\]]", " "),
        (r"\s+", " "),
    )
)
_PER_MM2 = 2.0  # ten high-power fields are taken for two square millimetres
_NEAR = 1.1  # two sizes no further apart than by this factor are the same
_FAR = 2.0  # two sizes further apart than by this factor have nothing in common
_MAX = 1e9


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measured value.

    Lengths are in mm, areas in mm², volumes in ml, weights in g, mitoses per ten high-power
    fields. Of several dimensions, and of a range, the largest comes first; a share has two values,
    how many and of how many. `step` is what one in the last digit written stands for.
    """

    kind: Kind
    values: tuple[float, ...]
    bound: Bound | None = None
    step: float = 0.0


def agreement(a: Measurement, b: Measurement) -> float | None:
    """Agreement of two measurements, from 0 to 1; nothing if they are not of comparable kinds.

    Sizes, weights and ratios: 1 if the largest dimensions are within 10 % or differ by rounding,
    falling evenly to 0 where one is twice the other. Counts: 0 if one is zero and the other
    is not, else the smaller over the larger; of a share, the part counts for 0.7 and the whole
    for 0.3. Mitoses: like counts, with one added to both. Per cent: see `percent_agreement`. A
    value that keeps within the bound the other gives agrees to 0.8 at least. A depth or a distance
    compares with a plain length, not with each other.
    """
    if a == b:
        return 1.0
    if a.kind != b.kind and {a.kind, b.kind} not in ({"length", "depth"}, {"length", "distance"}):
        return None
    value = _by_kind(a, b)
    return max(value, 0.8) if _within(a, b) or _within(b, a) else value


def percent_agreement(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Agreement of two ranges of per cent: 1 the same, 0.95 if they overlap.

    Else 1 minus the gap between them, as a part of the larger value or of 10, whichever is more.
    """
    if a == b:
        return 1.0
    gap = max(a[0], b[0]) - min(a[1], b[1])
    return 0.95 if gap <= 0 else max(0.0, 0.95 - 0.95 * gap / max(10.0, a[0], b[0]))


def _by_kind(a: Measurement, b: Measurement) -> float:
    x, y = a.values[0], b.values[0]
    if a.kind == "percent":
        return percent_agreement(_range(a), _range(b))
    if a.kind == "share":
        return _part(x, y) and 0.7 * _part(x, y) + 0.3 * _part(a.values[1], b.values[1])
    if a.kind == "count":
        return _part(x, y)
    if a.kind == "mitoses":
        return _part(x + 1, y + 1)
    return _by_factor(x, y, max(a.step, b.step) / 2)


def _range(percent: Measurement) -> tuple[float, float]:
    low, high = min(percent.values), min(100.0, max(percent.values))
    low = 0.0 if percent.bound == "at most" else min(low, 100.0)
    return low, 100.0 if percent.bound == "at least" else high


def _part(x: float, y: float) -> float:
    return 1.0 if x == y else min(x, y) / max(x, y)


def _by_factor(x: float, y: float, rounding: float) -> float:
    factor = 1 / _part(x, y) if min(x, y) > 0 else (1.0 if x == y else _FAR)
    if factor <= _NEAR or (factor <= 1.25 and abs(x - y) <= rounding * (1 + 1e-9)):
        return 1.0
    return max(0.0, (_FAR - factor) / (_FAR - _NEAR))


def _within(bounded: Measurement, exact: Measurement) -> bool:
    if bounded.bound is None or bounded.kind == "share":
        return False
    x, y = bounded.values[0], exact.values[0]
    free = exact.bound not in (None, bounded.bound)
    return (y >= x if bounded.bound == "at least" else y <= x) and (exact.bound is None or free)


def _number(text: str) -> float:
    thousands = re.fullmatch(r"\d{1,3}(?:,\d{3})+", text)
    return min(_MAX, float(text.replace(",", "") if thousands else text.replace(",", ".")))


def _bound(text: str, start: int) -> Bound | None:
    before = text[max(0, start - 20) : start]
    if _AT_MOST.search(before):
        return "at most"
    return "at least" if _AT_LEAST.search(before) else None


def _read_mitoses(text: str) -> Measurement | None:
    match = _MITOSES.search(text)
    if match is None:
        alone = _MITOSES_ALONE.search(text)
        return alone and Measurement(
            "mitoses", (_number(alone["low"]),), _bound(text, alone.start("low"))
        )
    area = match["area"]
    if area is None and match["fields"] is None and "hpf" not in text and "field" not in text:
        scale = _PER_MM2
    elif area is not None:
        scale = _PER_MM2 / max(_number(area), 0.1)
    else:
        scale = 10 / max(_number(match["fields"] or "1"), 1)
    values = sorted((_number(match[k]) * scale for k in ("low", "high") if match[k]), reverse=True)
    return Measurement("mitoses", tuple(values), _bound(text, match.start()))


def _read_percent(text: str) -> Measurement | None:
    if not (match := _PERCENT.search(text)):
        return None
    values = sorted((_number(match[k]) for k in ("low", "high") if match[k]), reverse=True)
    return Measurement("percent", tuple(values), _bound(text, match.start()))


def _read_sizes(text: str) -> Measurement | None:
    if not (match := _SIZES.search(text)):
        return None
    kind, scale = _UNITS[match["unit"]]
    written = [match[k] for k in ("first", "second", "third") if match[k]]
    if kind == "length" and _DEPTH.search(text):
        kind = "depth"
    elif kind == "length" and _DISTANCE.search(text):
        kind = "distance"
    values = sorted((round(_number(w) * scale, 6) for w in written), reverse=True)
    # One in the last digit of the most exact of them
    decimals = [
        len(digits[1]) if (digits := re.search(r"[.,](\d+)$", w)) and _number(w) < 1000 else 0
        for w in written
    ]
    step = 10.0 ** -max(decimals) * scale
    return Measurement(kind, tuple(values), _bound(text, match.start()), step)


def _read_ratio(text: str) -> Measurement | None:
    if not (match := _RATIO.search(text)):
        return None
    below = _number(match["second"]) if match["second"] else 1.0
    if not below:
        return None
    return Measurement(
        "ratio", (_number(match["first"]) / below,), _bound(text, match.start("first"))
    )


def _read_share(text: str) -> Measurement | None:
    for match in _OF.finditer(text):
        part, whole = _number(match["part"]), _number(match["all"])
        if part <= whole:
            return Measurement("share", (part, whole))
    nodes = _NODES.search(text)
    if nodes and _NONE_THERE.search(text):
        return Measurement("share", (0.0, _number(nodes["all"])))
    return None


def _read_count(text: str) -> Measurement | None:
    match = _COUNT.search(text)
    return match and Measurement("count", (_number(match["n"]),), _bound(text, match.start()))


_READERS: tuple[Callable[[str], Measurement | None], ...] = (
    _read_mitoses, _read_percent, _read_sizes, _read_ratio, _read_share, _read_count,
)  # fmt: skip


def _tidied(phrase: str) -> str:
    text = in_figures(normalised(phrase).lower())
    for pattern, written in _TIDY:
        text = pattern.sub(written, text)
    return _SPELT.sub(lambda word: _SPELT_VALUES[word.group()], text).strip()


@lru_cache(maxsize=1 << 12)
def read_measurement(phrase: str) -> Measurement | None:
    """The measurement in a phrase, or None if it has no number."""
    text = _tidied(phrase)
    return next((reading for read in _READERS if (reading := read(text)) is not None), None)


@lru_cache(maxsize=1 << 12)
def is_length(phrase: str) -> bool:
    """True if a phrase is nothing but a length, such as 14 mm or 3 x 2 cm."""
    match = _SIZES.fullmatch(_tidied(phrase))
    return match is not None and _UNITS[match["unit"]][0] == "length"


@lru_cache(maxsize=1 << 12)
def read_percent(phrase: str) -> tuple[float, float] | None:
    """The lowest and the highest per cent that a phrase leaves open."""
    measurement = _read_percent(_tidied(phrase))
    return _range(measurement) if measurement else None

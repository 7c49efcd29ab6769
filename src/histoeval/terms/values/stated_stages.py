"""Stages of whole texts: the categories pT, pN and pM, and groups such as FIGO IC3."""

import re
from collections.abc import Iterator
from functools import lru_cache

from histoeval.terms.number_words import rank_number
from histoeval.terms.values.stages import DUKES
from histoeval.terms.values.stated import CRITICAL, MAJOR, MODERATE, StatedValue

_SUB = r"(?:mi|[a-d](?:\d|i{1,3})?)?"
_TNM = re.compile(
    rf"(?<![A-Za-z0-9])(?:(?P<prefix>y?[pcr]|u|a)\s?)?T\s?(?P<t>is|a|x|X|[0-4]{_SUB})(?![a-oq-z])"
    rf"(?:[\s,;/]*(?:\([^)]{{0,20}}\)[\s,]*)?(?:y?[pcr])?N\s?(?P<n>[0-3]{_SUB}|X|x)(?![a-oq-z]))?"
    rf"|(?<![A-Za-z0-9])y?[pc]\s?N\s?(?P<n2>[0-3]{_SUB}|X|x)(?![a-oq-z])"
    rf"|(?<![A-Za-z0-9])y?[pc]?\s?M\s?(?P<m>[01][a-d]?)(?![A-Za-z0-9])(?=[^A-Za-z]|$)"
)
FIGO = r"(?:figo|international federation of gyna?ecology and obstetrics)"
_OF = rf"(?:(?P<figo>{FIGO})|stage|ann arbor|masaoka(?:-koga)?|lugano|ajcc|uicc)"
_GROUP = re.compile(
    rf"\b{_OF}(?:\s+(?:20\d\d|stage|\d+th edition))*[\s:,(]{{1,3}}"
    r"(?P<group>(?-i:IV|I{1,3}|0)|(?(figo)[1-4]|(?!)))\s?"
    r"(?P<sub>[A-Ea-e](?:\d|i{1,3})?)?(?![\w-])",
    re.IGNORECASE,
)
_NOT_STAGE = re.compile(
    r"(?:olga|olgim|fibrosis|ishak|metavir|maternal|fo?etal|bartl|grade|class)\W{0,3}"
    r"(?:stage\W{0,3})?$",
    re.IGNORECASE,
)
_BLADDER = re.compile(r"bladder|urothelial|TURB", re.IGNORECASE)
_INVASIVE, _OF_LYMPHOMA = "muscle", "lymphoma"
_DISTANT = "4"  # the group of distant metastases, but for lymphomas


@lru_cache(maxsize=1 << 11)
def read_stages(text: str) -> tuple[StatedValue, ...]:
    return (*_categories(text), *_groups(text))


_REACH = 80  # characters in which an N stands before its M


def _categories(text: str) -> Iterator[StatedValue]:
    mark = frozenset({_INVASIVE}) if _BLADDER.search(text) else frozenset[str]()
    for match in _TNM.finditer(text):
        if match["t"] and not match["prefix"] and not match["n"]:
            continue
        if (
            match["m"]
            and not re.search(r"[pc]\s?M", match.group())
            and not re.search(r"N[0-3X]", text[max(0, match.start() - _REACH) : match.start()])
        ):
            continue
        for axis, value in (("T", match["t"]), ("N", match["n"] or match["n2"]), ("M", match["m"])):
            if value and value.lower() != "x":
                more = mark if axis == "T" else frozenset()
                yield StatedValue(f"stage {axis}", frozenset({value.lower()}) | more, *match.span())


def _groups(text: str) -> Iterator[StatedValue]:
    for match in _GROUP.finditer(text):
        if _NOT_STAGE.search(text[max(0, match.start() - 20) : match.start()]):
            continue
        written = match["group"]
        number = 0 if written == "0" else rank_number(written)
        value = {f"{number}{(match['sub'] or '').lower()}"}
        if re.match(r"ann arbor|lugano", match.group(), re.IGNORECASE):
            value.add(_OF_LYMPHOMA)
        yield StatedValue("stage group", frozenset(value), *match.span())
    for match in DUKES.finditer(text):
        group = str("abcd".index(match["letter"].lower()) + 1)
        yield StatedValue("stage group", frozenset({group}), *match.span())


def stage_severity(one: StatedValue, other: StatedValue) -> int:
    """Severity of stating one stage for another; 0 where they agree, as 2 and 2a do.

    One step changes the work-up; two steps, involved nodes, metastases and muscle could harm.
    """
    marks = {_INVASIVE, _OF_LYMPHOMA}
    (first_stage,), (second_stage,) = one.options - marks, other.options - marks
    if first_stage.startswith(second_stage) or second_stage.startswith(first_stage):
        return 0
    low, high = sorted((_step(first_stage), _step(second_stage)))
    if one.axis in ("stage N", "stage M"):
        return MODERATE if low == high else CRITICAL if low == 0 else MAJOR
    if one.axis == "stage group":
        if low == high:
            return MAJOR if first_stage[1:2] != second_stage[1:2] else MODERATE
        lymphoma = _OF_LYMPHOMA in one.options | other.options
        distant = _DISTANT in (first_stage[0], second_stage[0]) and not lymphoma
        return CRITICAL if distant or int(high) - int(low) >= 2 else MAJOR
    if low == high:
        return MODERATE
    muscle = _INVASIVE in one.options and low < 2 <= high
    return CRITICAL if muscle or _T_STEPS.index(high) - _T_STEPS.index(low) >= 2 else MAJOR


_T_STEPS = (0, 0.5, 1, 2, 3, 4)  # no tumour, a tumour that does not invade, and pT1 to pT4


def _step(value: str) -> float:
    return float(value[0]) if value[0].isdigit() else 0.5

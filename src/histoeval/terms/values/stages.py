"""The stage that a phrase gives: tumour, nodes and metastases, or a group such as IIIC."""

import re
from dataclasses import dataclass
from functools import lru_cache

from histoeval.terms.number_words import rank_number
from histoeval.terms.plain import normalised

_PREFIX = r"(?P<prefix>[yYrRmM]{0,2}(?:[pPcCuU]|a(?=T))?)"
_TUMOR = re.compile(
    rf"(?<![A-Za-z])(?!t[ol]|T[AI]\b|TO\b(?!\s?N)|\w{{0,3}}T\s+is\s+[a-z]{{2}}){_PREFIX}(?:T(?:\s?[-:]?\s?|\s+stage\W+)|t)"
    r"(?:(?P<word>[iI1][sS]|[aA]|[xX])(?![A-Za-z]{2})|(?P<n>[0-4]|[lIOo](?![a-zA-KO-Z]{2}|[A-Z])))"
    r"(?:\s?(?P<sub>mi|MI|[a-eA-E](?![a-hj-oq-z])[1-3]?)(?:ii|i)?)?"
)
_NODES = re.compile(
    rf"(?<![A-Za-z])(?!PNI\b|Pn\d|[nN]o\b){_PREFIX}(?:N(?:\s?[-:]?\s?|\s+stage\W+)|n)"
    r"(?:(?P<word>[xX+])|(?P<n>[0-3]|[lI](?![a-zA-Z])|[oO](?=\s*(?:$|[^\sA-Za-z]|[pcPC]?[mM]\s?[0-9xXoO]))))"
    r"(?:\s?\(?(?P<mi>mi|MI)\)?)?(?P<sub>[a-cA-C](?![a-z]))?"
)
_METASTASES = re.compile(
    r"(?<![A-Za-z])(?!MI[A-Z]?\b|m[lo])[pcPCyY]{0,2}(?:M(?:\s?[-:]?\s?|\s+stage\W+)|m)"
    r"(?:(?P<word>[xX])|(?P<n>[01]|[lIOo]))(?P<sub>[a-dA-D](?![a-z]))?(?![A-Za-z0-9.])"
)
_ROMAN = r"(?P<n>0|[1-4]|[IilL1|]{1,3}|[IilL1|]?[Vv])"
_SUB = (
    r"(?:\s?-?\s?(?P<sub>[A-Ea-eSs]\s?[1-3]?)(?:\s?\(?i{1,2}\)?)?)?"
    r"(?![A-Za-z0-9/]|\.\d|\s(?:out )?of\s\d)"
)
_OF_SYSTEM = r"(?:figo|ajcc|uicc|ann[ -]arbor|lugano|masaoka|inss|inrg|cotswolds?)"
_GROUP = re.compile(
    r"(?:\bstag(?:e|ing)(?:\s+group(?:ing)?)?|(?<!grade )(?<!isup )(?<!prognostic )\bgroup"
    rf"|\b{_OF_SYSTEM}(?:\W+(?:20\d\d|\d+th(?:\W+edition)?))?"
    rf"(?:\W+stag(?:e|ing))?)\W{{0,3}}(?:is\s|of\s)?(?!is\b)(?-i:{_ROMAN}{_SUB})",
    re.IGNORECASE,
)
_WHOLE_GROUP = re.compile(rf"(?!.*L)\W*{_ROMAN}{_SUB}\W*")
DUKES = re.compile(
    r"\bduke'?s?'?\W+(?:stage\W+|class\W+)?(?P<letter>[a-d])(?P<sub>[12])?\b", re.IGNORECASE
)
_BANFF = re.compile(r"\b(?:Banff|banff|tubulitis|ci[0-3]|cv[0-3]|i[0-3])\b")
_BANFF_SCORE = re.compile(r"\bc?t[0-3]\b")  # scores of a transplant, and no stage
_ROMANS = ("0", "I", "II", "III", "IV")
_ORDER = {"x": -1.0, "a": 0.5, "is": 0.5, "+": 1.0}
_UNKNOWN = "x"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: three axes in lower case ("2b", "is", "1mi", "x") and the group in Roman numerals.

    The stages of Dukes are groups: A is I, B is II, C is III and D is IV. `prefix` says how it was
    found (p, c, yp). An axis that is not named is empty.
    """

    t: str | None = None
    n: str | None = None
    m: str | None = None
    group: str | None = None
    prefix: str | None = None


def agreement(a: Stage, b: Stage) -> float:
    """Agreement of two stages, from 0 to 1: the mean over what both name; 0.5 if that is nothing.

    On each axis and for the group, 0.4 less for every step between the numbers, and 0.1 less if
    only the letters differ (0.05 if just one has a letter). Free nodes against involved ones
    are 0, and so is M0 against M1; what could not be assessed (X) is 0.5 against anything else. The
    prefix does not count.
    """
    if a == b:
        return 1.0
    parts: list[float] = []
    for x, y in ((a.t, b.t), (arabic_group(a), arabic_group(b))):
        if x is not None and y is not None:
            parts.append(_apart(x, y))
    for x, y in ((a.n, b.n), (a.m, b.m)):  # on these, none and some are opposites
        if x is not None and y is not None:
            opposite = x[0] != y[0] and "0" in (x[0], y[0]) and _UNKNOWN not in (x[0], y[0])
            parts.append(0.0 if opposite else _apart(x, y))
    return sum(parts) / len(parts) if parts else 0.5


def arabic_group(stage: Stage) -> str | None:
    """The group with an Arabic figure, like the axes: IIIC is 3c."""
    if stage.group is None:
        return None
    roman = re.match(r"[IV0]+", stage.group)
    return f"{_ROMANS.index(roman[0])}{stage.group[roman.end() :].lower()}" if roman else None


def _apart(x: str, y: str) -> float:
    if x == y:
        return 1.0
    if _UNKNOWN in (x[0], y[0]):
        return 0.5
    steps = abs(_order(x) - _order(y))
    letters = x.lstrip("01234+"), y.lstrip("01234+")
    if steps or not (x[0].isdigit() and y[0].isdigit()):
        return max(0.0, 1 - 0.4 * max(steps, 0.25))
    return 0.9 if all(letters) else 0.95


def _order(value: str) -> float:
    return _ORDER[value] if value in _ORDER else float(value[0])


@lru_cache(maxsize=1 << 12)
def read_stage(phrase: str) -> Stage | None:
    """The stage that a phrase gives, or None.

    Misread characters are corrected where the place leaves no doubt: pTl is pT1 and pNO is pN0.
    """
    text = " ".join(normalised(phrase).split())
    if _BANFF.search(text):
        text = _BANFF_SCORE.sub(" ; ", text)
    t, prefix, text = _axis(_TUMOR, text)
    n, prefix_n, text = _axis(_NODES, text)
    m, _, text = _axis(_METASTASES, text)
    group = _read_group(text, bare=_WHOLE_GROUP.fullmatch(text) if not (t or n or m) else None)
    if t is None and n is None and m is None and group is None:
        return None
    return Stage(t, n, m, group, (prefix or prefix_n or "").lower() or None)


def _axis(pattern: re.Pattern[str], text: str) -> tuple[str | None, str | None, str]:
    """The highest value of one axis, its prefix, and the text with gaps in the place of all."""
    matches = list(pattern.finditer(text))
    if not matches:
        return None, None, text
    highest = max(matches, key=lambda match: _order(_axis_value(match)))
    return _axis_value(highest), highest.groupdict().get("prefix"), pattern.sub(" ; ", text)


def _axis_value(match: re.Match[str]) -> str:
    got = match.groupdict()
    if got["word"]:
        return str(got["word"].lower().replace("1s", "is"))
    number = got["n"].translate(str.maketrans("lIoO", "1100"))
    sub = (got.get("mi") or "") + (got.get("sub") or "")
    return f"{number}{sub.lower().replace(' ', '')}"


def _read_group(text: str, bare: re.Match[str] | None) -> str | None:
    if dukes := DUKES.search(text):
        return _ROMANS["abcd".index(dukes["letter"].lower()) + 1]
    match = _GROUP.search(text) or bare
    if match is None or (number := rank_number(match["n"])) >= len(_ROMANS):
        return None
    return _ROMANS[number] + (match["sub"] or "").upper().replace(" ", "")

"""Gleason scores and grade groups, as the grade groups that they leave open."""

import re
from collections.abc import Iterator

from histoeval.resources import load_toml
from histoeval.terms.values.number_words import in_figures, rank_number
from histoeval.terms.values.stated import CRITICAL, MAJOR, StatedValue

_SCORE = re.compile(
    r"\b(?:gleason\W{0,3}(?:(?:score|grade|sum|pattern)s?\W{0,3}(?:of |is )?)?)?"
    r"(?<![\d+])(?P<a>[3-5])\s*\+\s*(?P<b>[3-5])(?![\d+]|\s*\+)(?:\s*=\s*\d+)?",
    re.IGNORECASE,
)
_PATTERNS = re.compile(
    r"\bprimary (?:gleason )?pattern\W{0,3}(?P<a>[3-5])\b\D{1,30}?"
    r"secondary (?:gleason )?pattern\W{0,3}(?P<b>[3-5])\b",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"\bgleason\W{0,3}(?:(?:score|grade|sum)\W{0,3}(?:of |is )?)?(?P<sum>10|[6-9])\b(?!\s*\+|\s*/)",
    re.IGNORECASE,
)
_GROUP = re.compile(
    r"\b(?:(?:isup |who |prognostic )?grade group|isup (?:grade|group)|prognostic group|(?-i:GG))"
    r"[\s:=(-]{0,3}(?:of )?(?P<group>[1-5]|(?-i:IV|I{1,3}|V)|one|two|three|four|five)(?![^\W_])",
    re.IGNORECASE,
)
_PLUS = re.compile(r"\bplus\b(?=\s+\d)", re.IGNORECASE)
_PROSTATE = re.compile(r"prostat|gleason|acinar|grade group", re.IGNORECASE)
_WORDS = ("one", "two", "three", "four", "five")


def read_gleason(text: str) -> Iterator[StatedValue]:
    """Grade groups of the prostate that a text states, by themselves or by a Gleason score."""
    if not _PROSTATE.search(text):
        return
    groups = load_toml("terms/data/grades.toml")["group"]
    text = _PLUS.sub("   +", in_figures(text))
    for pattern in (_SCORE, _PATTERNS):
        for found in pattern.finditer(text):
            group = groups["scores"].get(f"{found['a']}+{found['b']}", 1)
            yield _value(found, str(group))
    for found in _SUM.finditer(text):
        group = groups["sums"][found["sum"]]
        yield _value(found, *("23" if group == 2.5 else str(group)))
    for found in _GROUP.finditer(text):
        written = found["group"].lower()
        number = _WORDS.index(written) + 1 if written in _WORDS else rank_number(written)
        yield _value(found, str(number))


def _value(found: re.Match[str], *groups: str) -> StatedValue:
    return StatedValue("Gleason", frozenset(groups), found.start(), found.end())


def gleason_severity(one: StatedValue, other: StatedValue) -> int:
    """How severe it is to state one grade group for another; 0 where they agree."""
    if one.options & other.options:
        return 0
    apart = min(abs(int(a) - int(b)) for a in one.options for b in other.options)
    return CRITICAL if apart > 2 else MAJOR

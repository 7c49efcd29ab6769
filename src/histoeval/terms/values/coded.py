"""Codes of a phrase that are no stage: ranks of a class, and whether a code says none or some."""

import re
from collections.abc import Iterator

from histoeval.terms.number_words import rank_number

_CLASS = re.compile(
    r"\b(?:binet|rai|clark|breslow|haggitt|metavir|stage(?= F)|level|score|class)\s*"
    r"(?:(?:stage|group|level|score|class)\s*)?"
    r"(?:(?P<level>F?[0-4]|IV|I{1,3})\s?(?P<part>[A-Da-d]?)[1-3]?|(?P<letter>[A-D]))\b",
    re.IGNORECASE,
)
_NONE = re.compile(r"(?<![A-Za-z0-9.])(?:[a-z]{0,2}[A-Z][a-z]?)?0(?![0-9.]|\s?[mc]m|\s?%)")
_SOME = re.compile(r"(?<![A-Za-z0-9.])(?:[a-z]{0,2}[NMLRV]|Pn)[1-9][a-c]?\b")


def ranks(phrase: str) -> Iterator[tuple[str, str]]:
    """Levels (0 to 4) and parts (a to d, or nothing) of classes: Binet C, Clark level IV."""
    for match in _CLASS.finditer(phrase):
        if match["letter"]:
            yield str("ABCD".index(match["letter"].upper()) + 1), ""
        else:
            level = match["level"].upper().removeprefix("F")
            yield str(rank_number(level)), match["part"].lower()


def denying_codes(phrase: str) -> int:
    """Number of codes or counts that are none: N0, R0, 0 of 12."""
    return len(_NONE.findall(phrase))


def affirming_codes(phrase: str) -> int:
    """Number of codes that are positive: N1, L1, R1."""
    return len(_SOME.findall(phrase))

"""What makes a cell usable as the text of a report, or as a name."""

import math
import re
from functools import cache
from numbers import Real

from histoeval.io.tables.encoding import marked_byte
from histoeval.io.tables.row_faults import Fault, kind_of
from histoeval.resources import load_toml

CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r"))
"""Control characters that no text holds in number; form feeds are common in scanned text."""

LONGEST_NO_REPORT = 600
"""Characters of a refusal; a longer one is left to whoever reads the reports."""

_AROUND = " \t\r\n.,:;!?#*_~`'\"()[]<>|/\\-\u2013\u2014\u2026"
"""Marks around a placeholder, as in `#N/A!` and `(none)`."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def text_of(value: object) -> str | Fault:
    """The text of a report in a cell, or what is wrong with it."""
    if not isinstance(value, str):
        return _no_text(value)
    try:
        raw = value.encode()
    except UnicodeEncodeError as error:
        return half_character(value, error.start)
    if not value or value.isspace():
        return Fault("empty_text")
    controls = len(raw) - len(raw.translate(None, CONTROLS))
    if controls and _is_binary(value, controls):
        return Fault("binary_text", {"count": controls})
    return no_report(value) or value


def no_report(text: str) -> Fault | None:
    """Why a text is no report: a placeholder such as N/A, or a language model that refuses."""
    if len(text) > LONGEST_NO_REPORT:
        return None
    placeholders, refusal, addressed = _no_reports()
    plain = text.strip(_AROUND).casefold().replace("\u2019", "'")
    if plain in placeholders:
        return Fault("placeholder", {"written": text.strip()})
    if refusal.match(plain) and all(map(addressed.search, _SENTENCE_END.split(plain))):
        return Fault("refusal")
    return None


@cache
def _no_reports() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """Placeholders, how a refusal begins, and what each of its sentences has."""
    lists = load_toml("io/tables/no_report.toml")
    return (
        frozenset(lists["placeholders"]),
        re.compile("|".join(lists["refusals"])),
        re.compile(lists["addressed"]),
    )


def name_of(value: object, missing: Fault) -> str | Fault:
    """The name in a cell of ids or systems; a number is a name too."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return half_character(value, error.start)
        return missing if not value or value.isspace() else value
    if _is_missing(value):
        return missing
    if isinstance(value, Real) and not isinstance(value, bool):
        return str(value)
    return Fault("not_a_name", {"kind": kind_of(value)})


def half_character(text: str, start: int) -> Fault:
    """A lone surrogate: half an escaped character, or a byte that could not be decoded."""
    code = ord(text[start])
    details = {"surrogate": code, "byte": marked_byte(text[start]), "position": start + 1}
    return Fault("lone_surrogate", details)


def _no_text(value: object) -> Fault:
    if isinstance(value, Fault):
        return value
    if _is_missing(value):
        return Fault("missing_value")
    return Fault("not_text", {"kind": kind_of(value)})


def _is_missing(value: object) -> bool:
    """Nothing, or the number by which data frames say that there is nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_binary(text: str, controls: int) -> bool:
    """Whether there is a NUL, or more control characters than a careless scan leaves behind."""
    return "\0" in text or (controls > 2 and controls * 100 > len(text))

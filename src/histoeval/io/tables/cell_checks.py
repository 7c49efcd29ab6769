"""What makes a cell usable as the text of a report, or as a name."""

import math
from numbers import Real

from histoeval.io.tables.encoding import marked_byte
from histoeval.io.tables.row_faults import Fault, kind_of

CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r"))
"""Control characters that no text holds in number; form feeds are common in scanned text."""


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
    return value


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

"""The shapes of letters, for drawings that must not depend on the fonts of a machine."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "\N{REPLACEMENT CHARACTER}"

Contour = NDArray[np.float64]


def width_of(text: str, size: float) -> float:
    """How long a line of text is."""
    units = _outlines()["units"]
    return float(sum(_letter(each)["advance"] for each in text)) * size / float(units)


def contours_of(text: str, size: float) -> list[Contour]:
    """The outlines of a line of text that begins at 0, 0; y goes down."""
    scale = size / _outlines()["units"]
    found: list[Contour] = []
    at = 0.0
    for each in text:
        letter = _letter(each)
        for contour in letter["contours"]:
            points = np.array(contour, dtype=np.float64).reshape(-1, 2) * scale
            found.append(points * (1, -1) + (at, 0))
        at += letter["advance"] * scale
    return found


def _letter(character: str) -> Any:
    letters = _outlines()["letters"]
    return letters.get(character) or letters[UNKNOWN]


@cache
def _outlines() -> Any:
    return json.loads(files(__package__).joinpath("outlines.json").read_text("utf-8"))

"""Microns per pixel: stated by the file, given by a person, or missing. Never guessed.

An objective power ("20x") is not a resolution, and a picture's dots per inch are about paper. So
neither is taken for one; only a length per pixel that a microscope can have is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from histoeval.errors import SettingError

FINEST, COARSEST = 0.02, 10.0
"""Microns per pixel that a scanned slide can have. 72 dots per inch would be 353."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Microns per pixel of the finest level, along x and y, and who says so."""

    x: float
    y: float
    source: Literal["file", "given"]

    @property
    def mean(self) -> float:
        """One number for those who need no more."""
        return math.sqrt(self.x * self.y)


def is_plausible(microns: float) -> bool:
    """Whether a microscope can have made this."""
    return math.isfinite(microns) and FINEST <= microns <= COARSEST


def stated(x: float | None, y: float | None) -> Resolution | None:
    """What a file says, if it says it of both axes and it can be true."""
    if x is None or y is None or not (is_plausible(x) and is_plausible(y)):
        return None
    return Resolution(x, y, "file")


def given(mpp: float) -> Resolution:
    """What a person says; refused where it cannot be true."""
    if not is_plausible(mpp):
        raise SettingError(
            f"{mpp:g} microns per pixel is not a resolution of a slide; it must lie between "
            f"{FINEST:g} and {COARSEST:g}"
        )
    return Resolution(mpp, mpp, "given")


def text_number(text: str | None) -> float | None:
    """A number that metadata hold as text; nothing where it is not one."""
    if text is None:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def per_unit(pixels: float, unit_in_microns: float | None) -> float | None:
    """Microns per pixel from pixels per unit of length."""
    return unit_in_microns / pixels if unit_in_microns and pixels > 0 else None

"""Microns per pixel: stated by the file, given by the user, or missing. Never guessed.

An objective power ("20x") is not a resolution, and dots per inch of an image are about paper, so
neither is used; only a length per pixel that a microscope can have is.
"""

import math
from dataclasses import dataclass
from typing import Literal

from histoeval.errors import SettingError

FINEST, COARSEST = 0.02, 10.0
"""Range of microns per pixel of scanned slides. 72 dots per inch would be 353."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Microns per pixel of the finest level along x and y, and where they come from."""

    x: float
    y: float
    source: Literal["file", "given"]

    @property
    def mean(self) -> float:
        """The geometric mean of both axes."""
        return math.sqrt(self.x * self.y)


def is_plausible(microns: float) -> bool:
    """Whether a microscope can have this resolution."""
    return math.isfinite(microns) and FINEST <= microns <= COARSEST


def stated(x: float | None, y: float | None) -> Resolution | None:
    """The resolution that a file states, if it states both axes and they are plausible."""
    if x is None or y is None or not (is_plausible(x) and is_plausible(y)):
        return None
    return Resolution(x, y, "file")


def given(mpp: float) -> Resolution:
    """The resolution that the user gives; refused if it is not plausible."""
    if not is_plausible(mpp):
        raise SettingError(
            f"{mpp:g} microns per pixel is not the resolution of a slide; it must be between "
            f"{FINEST:g} and {COARSEST:g}"
        )
    return Resolution(mpp, mpp, "given")


def text_number(text: str | None) -> float | None:
    """A number from a metadata text; None if it is not one."""
    if text is None:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def per_unit(pixels: float, unit_in_microns: float | None) -> float | None:
    """Microns per pixel from pixels per unit of length."""
    return unit_in_microns / pixels if unit_in_microns and pixels > 0 else None

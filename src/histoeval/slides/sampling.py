"""A sample of places that is spread over the slide and drawn by a seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Protocol, TypeVar


class OnGrid(Protocol):
    """Something with a place on a grid."""

    @property
    def row(self) -> int:
        """From the top, from 0."""

    @property
    def column(self) -> int:
        """From the left, from 0."""


T = TypeVar("T", bound=OnGrid)


def spread_sample(places: Sequence[T], count: int, seed: int) -> list[T]:
    """So many of the places, in the order given, no two of them from one part of the slide.

    The places are put in a row along a Hilbert curve, in which neighbours in the row are
    neighbours on the slide; the row is cut into equal parts, and one place drawn from each.
    """
    if count >= len(places):
        return list(places)
    side = _side(places)
    along = sorted(range(len(places)), key=lambda n: _along_hilbert(places[n], side))
    draw = Random(seed)
    ends = [part * len(along) // count for part in range(count + 1)]
    chosen = (along[draw.randrange(*part)] for part in pairwise(ends))
    return [places[number] for number in sorted(chosen)]


def _side(places: Sequence[OnGrid]) -> int:
    """The smallest power of two that the grid fits in."""
    longest = max(max(place.row, place.column) for place in places) + 1
    return 1 << (longest - 1).bit_length()


def _along_hilbert(place: OnGrid, side: int) -> int:
    """How far along the Hilbert curve over a square of this side a place lies."""
    x, y, distance = place.column, place.row, 0
    step = side // 2
    while step:
        right, down = int(bool(x & step)), int(bool(y & step))
        distance += step * step * ((3 * right) ^ down)
        if not down:
            if right:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        step //= 2
    return distance

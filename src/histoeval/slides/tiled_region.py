"""Regions of what is stored in blocks: which of them to decode, and what of each goes where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Window = tuple[slice, slice]
"""Rows and columns."""


class RegionBlock(NamedTuple):
    """What one block gives to a region: `within` the block, and `target` in the region."""

    column: int
    row: int
    within: Window
    target: Window


class _Span(NamedTuple):
    """The same along one side."""

    number: int
    within: slice
    target: slice


def parts_of(
    x: int, y: int, width: int, height: int, block: tuple[int, int]
) -> Iterator[RegionBlock]:
    """The parts that make up a region, where blocks have this width and height."""
    for row in _spans(y, height, block[1]):
        for column in _spans(x, width, block[0]):
            within, target = (row.within, column.within), (row.target, column.target)
            yield RegionBlock(column.number, row.number, within, target)


def _spans(start: int, length: int, block: int) -> Iterator[_Span]:
    for number in range(start // block, (start + length - 1) // block + 1):
        first = max(start, number * block)
        last = min(start + length, (number + 1) * block)
        within = slice(first - number * block, last - number * block)
        yield _Span(number, within, slice(first - start, last - start))

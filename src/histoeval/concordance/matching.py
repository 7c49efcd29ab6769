"""Which value of one report goes with which of the other: the most alike first, each once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeVar

One = TypeVar("One")
Places = dict[One, deque[int]]


def paired(
    ones: Sequence[One], others: Sequence[One], alike: Callable[[One, One], float | None]
) -> list[tuple[int, int, float]]:
    """Places in both and how alike they are; None is for what cannot be compared at all.

    Of pairs that are as alike, the one comes first that stands first. Values that are the same are
    looked at once, so that a long report that repeats itself costs no more than its length.
    """
    free, free_others = _places(ones), _places(others)
    levels: dict[float, list[tuple[One, One]]] = {}
    for one in free:
        for other in free_others:
            if (value := alike(one, other)) is not None:
                levels.setdefault(value, []).append((one, other))
    return sorted(
        (i, j, value)
        for value in sorted(levels, reverse=True)
        for i, j in _taken(levels[value], free, free_others)
    )


def _places(values: Iterable[One]) -> Places[One]:
    """Where each value stands."""
    found: Places[One] = {}
    for place, value in enumerate(values):
        found.setdefault(value, deque()).append(place)
    return found


def _taken(
    pairs: Iterable[tuple[One, One]], free: Places[One], free_others: Places[One]
) -> Iterator[tuple[int, int]]:
    """Pairs of free places for values that are all as alike, taken from left to right."""
    partners: dict[One, list[One]] = {}
    for one, other in pairs:
        partners.setdefault(one, []).append(other)
    named = list(partners)
    waiting = [(free[one][0], which) for which, one in enumerate(named) if free[one]]
    heapify(waiting)
    while waiting:
        i, which = heappop(waiting)
        places = [free_others[other] for other in partners[named[which]] if free_others[other]]
        if places:
            yield i, min(places, key=lambda each: each[0]).popleft()
            free[named[which]].popleft()
            if free[named[which]]:
                heappush(waiting, (free[named[which]][0], which))

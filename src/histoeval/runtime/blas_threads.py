"""The same work for many items on all processors at once, with the same results on any number.

Linear algebra libraries start threads of their own for every product. For products as small as
these that costs more than it gains, and on a busy machine several times as much; so each item is
worked on by one thread, and the items are shared out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")
R = TypeVar("R")

MOST = 8
"""More threads than these only wait for each other."""


def side_by_side(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """What the work gives for each item, in the order of the items."""
    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(min(MOST, processors())) as pool,
    ):
        return list(pool.map(work, items))


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

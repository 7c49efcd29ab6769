"""Work in several threads, handed out in order, with never more than a few pieces in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

WORKERS = 2
"""Decoding is done outside of Python's lock, so that two threads use two cores."""


def in_order(
    work: Callable[[Given], Made], pieces: Iterable[Given], workers: int = WORKERS
) -> Iterator[Made]:
    """What `work` makes of each piece, in the order given, whatever the number of workers.

    Two pieces for each worker are under way or wait to be fetched; so memory does not depend on
    how many there are.
    """
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="histoeval") as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

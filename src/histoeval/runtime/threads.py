"""Threads: how many cores there are, streaming work in order, and linear algebra side by side."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")
R = TypeVar("R")
WORKERS = 2  # default for decoding, which releases the GIL, so two threads use two cores
MAX_THREADS = 8  # more threads than this only wait for each other
# in the environment: how many threads a process may compute with; worker processes have one
LIMIT = "HISTOEVAL_THREADS"


def cores() -> int:
    if (limit := os.environ.get(LIMIT, "")).isdigit():
        return max(1, int(limit))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[T], R], items: Iterable[T], workers: int = WORKERS) -> Iterator[R]:
    """The result for each item, in the order given, whatever the number of workers.

    At most two items per worker are in flight, so memory does not depend on their number.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="histoeval") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def side_by_side(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The result for each item, computed on all cores; the same on any number of them.

    Linear algebra libraries start threads of their own for every product. For products as small as
    ours that costs more than it gains, so each item is computed by one thread.
    """
    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(min(MAX_THREADS, cores())) as pool,
    ):
        return list(pool.map(work, items))

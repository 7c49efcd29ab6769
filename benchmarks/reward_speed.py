"""Concordance and HARE as a reward: 512 short pairs at once, and the memory of 10,000 calls.

`python -m benchmarks reward --workers 16`. Pairs are made of sentences of the bundled examples: a
reference of 40 to 60 words, and a candidate that leaves out a sentence of it and has one of another
report. Every pair has a number of its own in both texts, so that nothing is read twice. Workers are
processes of one thread each, with the metric loaded before time is taken.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

import histoeval
from benchmarks.reader_speed import example_texts
from histoeval.metric import Metric, Score
from histoeval.report import Pair
from histoeval.runtime.threads import LIMIT

Row = tuple[str, ...]
COLUMNS = ["metric", "workers", "pairs", "s", "pairs/s", "ms a pair a worker"]
MEMORY = ["metric", "calls", "MB"]
WORDS = 40
"""Words from which on a report is long enough."""
AT_A_TIME = 8
"""Pairs that a worker is given at once."""

_of_worker: list[Metric] = []
"""The metric of a worker process, once it is loaded."""


def short_pairs(start: int = 0) -> Iterator[Pair]:
    """Pairs without end, all different."""
    sentences = list(
        dict.fromkeys(
            each
            for text in example_texts()
            for each in re.split(r"(?<=[.;])\s+|\n+", text)
            if 4 <= len(each.split()) <= 18
        )
    )
    for number in count(start):
        choose = random.Random(number)
        said: list[str] = []
        while sum(len(each.split()) for each in said) < WORDS:
            said.append(choose.choice(sentences))
        told = [*said, choose.choice(sentences)]
        del told[choose.randrange(len(said))]
        size = f"Specimen of {number % 97 + 2} x {number // 97 + 2} mm."
        yield Pair(
            id=str(number),
            reference=" ".join([size, *said]),
            candidate=" ".join([size, *told]),
        )


def measure(options: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Seconds of a batch, and memory in use after some calls."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks reward")
    asked.add_argument("--metrics", default="concordance,concordance:verify=false,hare")
    asked.add_argument("--pairs", type=int, default=512)
    asked.add_argument("--workers", type=int, default=1, help="processes; 1: in this one")
    asked.add_argument("--calls", type=int, default=10_000, help="of one pair; 0: no memory")
    given = asked.parse_args(options)
    names = given.metrics.split(",")
    speed = [_speed(name, given.pairs, given.workers) for name in names]
    return speed, [row for name in names for row in _memory(name, given.calls)]


def _speed(name: str, pairs: int, workers: int) -> Row:
    batch = list(islice(short_pairs(), pairs))
    warm = list(islice(short_pairs(pairs), AT_A_TIME * workers))
    with _scorer(name, workers) as score:
        score(warm)
        start = time.perf_counter()
        score(batch)
        seconds = time.perf_counter() - start
    each = f"{1000 * seconds * workers / pairs:.0f}"
    return name, str(workers), str(pairs), f"{seconds:.2f}", f"{pairs / seconds:.0f}", each


@contextmanager
def _scorer(name: str, workers: int) -> Iterator[_Scorer]:
    os.environ[LIMIT] = "1"
    metric = histoeval.load(name)
    if workers == 1:
        yield _Scorer(metric, None)
        return
    started = pickle.dumps(metric)
    with ProcessPoolExecutor(workers, get_context("spawn"), _load, (started,)) as pool:
        yield _Scorer(metric, pool)


class _Scorer:
    """Scores a batch in this process, or in pieces in others."""

    def __init__(self, metric: Metric, pool: ProcessPoolExecutor | None) -> None:
        self._metric = metric
        self._pool = pool

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        """The reward of each pair."""
        if self._pool is None:
            return _values(self._metric, pairs)
        parts = [pairs[at : at + AT_A_TIME] for at in range(0, len(pairs), AT_A_TIME)]
        return [value for part in self._pool.map(_work, parts) for value in part]


def _load(metric: bytes) -> None:
    _of_worker[:] = [pickle.loads(metric)]


def _work(pairs: Sequence[Pair]) -> list[float]:
    return _values(_of_worker[0], pairs)


def _values(metric: Metric, pairs: Sequence[Pair]) -> list[float]:
    return [each.value if isinstance(each, Score) else 0.0 for each in metric.score(pairs)]


def _memory(name: str, calls: int) -> Iterator[Row]:
    """What this process has in memory after a tenth of the calls, half of them, and all."""
    metric, pairs = histoeval.load(name), short_pairs(1_000_000)
    for call in range(1, calls + 1):
        metric.score([next(pairs)])
        if call in (calls // 10, calls // 2, calls):
            yield name, f"{call:,}", f"{_resident_mb():.0f}"


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

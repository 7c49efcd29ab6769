"""Concordance and HARE as a reward: 512 short pairs at once, and the memory of 10,000 calls.

`python -m benchmarks reward --workers 16 [--words 8] [--group 8]`. Pairs are made of sentences of
the bundled examples: a reference of at least so many words (with 8, a report of 14 to 30 words, the
size of the challenge reports of REG2025; by default 46 to 63), and a candidate that leaves out a
sentence of it and has one of another report. Every case has a size of its own, so that nothing is
read twice but the reference that a group of candidates shares. Workers are processes of one thread
each, with the metric loaded before time is taken.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

import histoeval
from benchmarks.reader_speed import example_texts
from histoeval.report import Pair
from histoeval.runtime.threads import LIMIT

Row = tuple[str, ...]
COLUMNS = ["metric", "workers", "pairs", "s", "pairs/s", "processor ms a pair"]
MEMORY = ["metric", "calls", "MB"]
WORDS = 40
"""Words from which on a report is long enough."""
WARM_UP = 8
"""Pairs for each worker before time is taken."""


def short_pairs(start: int = 0, words: int = WORDS, group: int = 1) -> Iterator[Pair]:
    """Pairs without end, all different; as many in a row as a group has share a reference."""
    sentences = list(
        dict.fromkeys(
            each
            for text in example_texts()
            for each in re.split(r"(?<=[.;])\s+|\n+", text)
            if 4 <= len(each.split()) <= 18
        )
    )
    for number in count(start):
        case = number // group
        choose = random.Random(f"reference {case}")
        reference: list[str] = []
        while sum(len(each.split()) for each in reference) < words:
            reference.append(choose.choice(sentences))
        choose = random.Random(f"candidate {number}")
        candidate = [*reference, choose.choice(sentences)]
        del candidate[choose.randrange(len(reference))]
        size = f"Specimen of {case % 97 + 2} x {case // 97 + 2} mm."
        texts = (" ".join([size, *said]) for said in (reference, candidate))
        yield Pair(id=str(number), **dict(zip(("reference", "candidate"), texts, strict=True)))


def measure(options: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """Seconds of a batch, and memory in use after some calls."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks reward")
    asked.add_argument("--metrics", default="concordance,concordance:verify=false,hare")
    asked.add_argument("--pairs", type=int, default=512)
    asked.add_argument("--workers", type=int, default=1, help="processes; 1: in this one")
    asked.add_argument("--words", type=int, default=WORDS, help="of a reference, at least")
    asked.add_argument("--group", type=int, default=1, help="candidates that share a reference")
    asked.add_argument("--device", help="of the models, as in cuda; workers share it")
    asked.add_argument("--calls", type=int, default=10_000, help="of one pair; 0: no memory")
    given = asked.parse_args(options)
    names = given.metrics.split(",")
    speed = [_speed(name, given, 10**5 * at) for at, name in enumerate(names)]
    return speed, [row for name in names for row in _memory(name, given)]


def _speed(name: str, given: argparse.Namespace, first: int) -> Row:
    pairs, workers, device = given.pairs, given.workers, given.device
    made = short_pairs(first, given.words, given.group)
    warm, batch = list(islice(made, WARM_UP * workers)), list(islice(made, pairs))
    os.environ[LIMIT] = "1"
    models = histoeval.Models(device=device)
    metric = histoeval.load(name, models=models, workers=workers if workers > 1 else None)
    metric.score(warm)
    start, used = time.perf_counter(), time.process_time()
    metric.score(batch)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    getattr(metric, "close", lambda: None)()
    each = f"{1000 * used / pairs:.0f}" if workers == 1 else ""
    return name, str(workers), str(pairs), f"{seconds:.2f}", f"{pairs / seconds:.0f}", each


def _memory(name: str, given: argparse.Namespace) -> Iterator[Row]:
    """What this process has in memory after a tenth of the calls, half of them, and all."""
    calls, pairs = given.calls, short_pairs(1_000_000, given.words, given.group)
    metric = histoeval.load(name)
    for call in range(1, calls + 1):
        metric.score([next(pairs)])
        if call in (calls // 10, calls // 2, calls):
            yield name, f"{call:,}", f"{_resident_mb():.0f}"


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

"""How much faster more workers are, from the start of a run to its summary.

`python -m benchmarks scaling --workers 1,2,4 [--pairs 600] [--expert] [--metrics …]` scores pairs
with the local engine: short ones of 40 to 60 words, or those of the size of the expert sheet. All
texts are made of the bundled examples by a program. Equal results are checked by their hash.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.reader_speed import expert_sized_texts
from benchmarks.reward_speed import short_pairs
from histoeval.report import Pair

COLUMNS = ["workers", "pairs", "s", "pairs/s", "times the first", "scores.jsonl"]


def measure(options: Sequence[str]) -> Iterator[list[str]]:
    """A row for each number of workers."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks scaling")
    asked.add_argument("--workers", default="1,2")
    asked.add_argument("--pairs", type=int, default=600)
    asked.add_argument("--metrics", default="concordance,hare")
    asked.add_argument("--expert", action="store_true", help="reports of the size of the sheet")
    given = asked.parse_args(options)
    pairs = expert_pairs() if given.expert else short_pairs()
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "pairs.jsonl"
        fields = {"id", "reference", "candidate"}
        lines = [pair.model_dump_json(include=fields) for pair in islice(pairs, given.pairs)]
        table.write_text("\n".join(lines) + "\n", "utf-8")
        first = 0.0
        for workers in map(int, given.workers.split(",")):
            seconds, digest = _timed(table, given.metrics, workers)
            first = first or seconds
            speed = f"{len(lines) / seconds:.1f}", f"{first / seconds:.2f}"
            yield [str(workers), str(len(lines)), f"{seconds:.1f}", *speed, digest]


def expert_pairs() -> Iterator[Pair]:
    """Two reports of that size at a time; after the last, the first again with another number."""
    texts = expert_sized_texts()
    twos = list(zip(texts[::2], texts[1::2], strict=True))
    for number in range(1_000_000):
        end = f" Case {number}." if number >= len(twos) else ""
        reference, candidate = twos[number % len(twos)]
        yield Pair(id=str(number), reference=reference + end, candidate=candidate + end)


def _timed(table: Path, metrics: str, workers: int) -> tuple[float, str]:
    """Seconds of a run, and the hash of what it writes."""
    import histoeval

    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out"
        started = time.perf_counter()
        histoeval.score(table, metrics=metrics, output=output, engine="local", workers=workers)
        seconds = time.perf_counter() - started
        summary = json.loads((output / "summary.json").read_text("utf-8"))
        assert not summary["rows_with_errors"], summary["errors"]
        digest = hashlib.sha256((output / "scores.jsonl").read_bytes()).hexdigest()[:12]
    return seconds, digest

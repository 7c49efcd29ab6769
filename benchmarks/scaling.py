"""How much faster more workers are, from the start of a run to its summary.

`python -m benchmarks scaling --workers 1,2,4 [--pairs 600] [--expert] [--metrics …]` scores pairs
with the local engine: short ones of 40 to 60 words, or with `--expert` pairs of the size and shape
of the expert sheet, where four candidates share a reference. All texts are made of the bundled
examples by a program. Equal results are checked by their hash.
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

CANDIDATES = 4
"""Of each reference of the sheet."""
COLUMNS = ["workers", "pairs", "s", "pairs/s", "times the first", "scores.jsonl"]


def measure(options: Sequence[str]) -> Iterator[list[str]]:
    """A row for each number of workers."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks scaling")
    asked.add_argument("--workers", default="1,2")
    asked.add_argument("--pairs", type=int, default=600)
    asked.add_argument("--metrics", default="concordance,hare")
    asked.add_argument("--expert", action="store_true", help="pairs as those of the expert sheet")
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
    """A reference and four candidates at a time; after the last text, the first with a number."""
    texts = expert_sized_texts()
    for number in range(1_000_000):
        row, candidate = divmod(number, CANDIDATES)
        at = row * (CANDIDATES + 1)
        end = f" Case {row}." if at + CANDIDATES >= len(texts) else ""
        reference, *candidates = (
            texts[(at + place) % len(texts)] + end for place in range(CANDIDATES + 1)
        )
        yield Pair(id=str(number), reference=reference, candidate=candidates[candidate])


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

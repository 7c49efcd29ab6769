"""What Ray costs on one machine: `score` by the ray engine against the local one.

Both have the same number of worker processes. The time of a cluster to start is measured apart.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import histoeval
from benchmarks.memory import write_pairs
from histoeval.run.engines.engine import Engine
from histoeval.run.engines.local import LocalEngine
from histoeval.run.engines.ray_engine import RayEngine, connected

COLUMNS = ("metrics", "pairs", "workers", "local, s", "ray, s", "overhead", "start of Ray, s")


def measure(options: Sequence[str]) -> list[tuple[str, ...]]:
    """A row for each set of metrics: the fastest of several runs of each engine, by turns."""
    given = _parser().parse_args(options)
    started = perf_counter()
    with connected(None), tempfile.TemporaryDirectory() as folder:
        start = perf_counter() - started
        table = Path(folder) / "pairs.csv"
        write_pairs(table, given.rows)
        engines = {"local": LocalEngine(given.workers), "ray": RayEngine(given.workers)}
        seconds: dict[str, float] = {}
        for _ in range(given.repeat):
            for name, engine in engines.items():
                now = _seconds(table, given.metrics, engine)
                seconds[name] = min(now, seconds.get(name, now))
    local, ray = seconds["local"], seconds["ray"]
    timed = (f"{local:.1f}", f"{ray:.1f}", f"{ray / local - 1:+.0%}", f"{start:.1f}")
    return [(given.metrics, f"{given.rows:,}", str(given.workers), *timed)]


def _seconds(table: Path, metrics: str, engine: Engine) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        histoeval.score(table, metrics=metrics, output=Path(folder) / "out", engine=engine)
        return perf_counter() - started


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks ray")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--metrics", default="bleu,rouge_l,chrf")
    parser.add_argument("--repeat", type=int, default=3)
    return parser

"""How near `histoeval judge` comes to the throughput of its server, and whether memory stays flat.

The server runs on this machine and answers every request after half a second, however many there
are, so that the ideal time follows from the number of requests in flight alone.
"""

from __future__ import annotations

import csv
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONCURRENCY = 64
DELAY_S = 0.5
COLUMNS = ["pairs", "ideal, s", "s", "share of the ideal", "processor ms a pair", "peak MB"]


def write_pairs(path: Path, rows: int) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reference", "candidate"])
        for n in range(rows):
            scores = f"{n % 4 + 1} {n % 3 + 1} {n // 3 % 3 + 1} {n // 4 % 4 + 1}"
            reference = f"Case {n}: invasive carcinoma of the left breast, grade 2, 14 mm. " * 8
            writer.writerow([n, reference, f"{reference} This is scored {scores}."])


@contextmanager
def server() -> Iterator[int]:
    """The port of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.support.fake_server", "0", str(DELAY_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def judged(port: int, rows: int, folder: Path) -> tuple[float, float, float]:
    """Seconds from the first question to the last row, processor seconds, and peak MB."""
    pairs, out = folder / "pairs.csv", folder / "out"
    write_pairs(pairs, rows)
    command = [sys.executable, "-m", "histoeval.cli.main", "judge", str(pairs)]
    where = ["--endpoint", f"http://127.0.0.1:{port}/v1", "--model", "m", "--output", str(out)]
    how = ["--concurrency", str(CONCURRENCY), "--cache", str(folder / "cache.sqlite")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *where, *how], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (used,) = json.loads((out / "usage.json").read_text("utf-8")).values()
    assert used["requests"] == rows
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return used["seconds"], processor, peak


def measure(sizes: tuple[int, ...] = (1_000, 10_000)) -> list[list[str]]:
    """A row for each size, the smallest first: the peak is that of all processes so far."""
    rows = []
    for size in sizes:
        ideal = math.ceil(size / CONCURRENCY) * DELAY_S
        with tempfile.TemporaryDirectory() as folder, server() as port:
            seconds, processor, peak = judged(port, size, Path(folder))
        share, each = f"{ideal / seconds:.1%}", f"{processor / size * 1e3:.2f}"
        rows.append([f"{size:,}", f"{ideal:.1f}", f"{seconds:.1f}", share, each, f"{peak:.0f}"])
    return rows

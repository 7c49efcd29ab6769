"""Peak memory and speed of `histoeval extract` on a long file of distinct reports.

`python -m benchmarks reader-memory [--reports N] [--words N]`. The command runs in a process of
its own, which is sampled, to show whether memory stays flat.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.memory import WORDS

Row = tuple[str, str, str, str]
STEPS = 5
LIMIT_S = 1_400


def write_reports(path: Path, reports: int, words: int) -> None:
    """Texts of about this many words, each with its number in it, so that all are distinct."""
    choose = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(reports):
            drawn = choose.choices(WORDS, k=choose.randint(words - 3, words + 1))
            drawn.insert(choose.randrange(len(drawn)), str(number))
            file.write(json.dumps({"id": number, "text": " ".join(drawn)}) + "\n")


def measure(arguments: Sequence[str] = ()) -> list[Row]:
    """Reports read so far, peak memory until then in MB, seconds, reports per second."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks reader-memory")
    parser.add_argument("--reports", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=10, help="of a report, 4 or more")
    settings = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "reports.jsonl"), Path(folder, "found.jsonl")
        write_reports(given, settings.reports, settings.words)
        return list(_watch(_command(given, found), found, settings.reports))


def _command(given: Path, found: Path) -> list[str]:
    program = [sys.executable, "-m", "histoeval.cli.main", "extract"]
    return [*program, str(given), "--output", str(found)]


def _watch(command: list[str], found: Path, reports: int) -> Iterator[Row]:
    """A row for every fifth of the file; the last when it is done or the time is up."""
    start, lines = time.perf_counter(), _Lines(found)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, printed = 0.0, 0
    while process.poll() is None:
        time.sleep(0.5)
        peak = max(peak, _peak_so_far(process.pid))
        seconds = time.perf_counter() - start
        if lines.count() >= (printed + 1) * reports // STEPS and printed < STEPS - 1:
            printed += 1
            yield _row(lines.count(), peak, seconds)
        if seconds > LIMIT_S:
            process.terminate()
    if process.returncode not in {0, -15}:
        raise RuntimeError(f"histoeval extract ended with {process.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    whole = used / (1e6 if sys.platform == "darwin" else 1e3)
    yield _row(lines.count(), max(peak, whole), time.perf_counter() - start)


class _Lines:
    """Counts the lines of a growing file incrementally."""

    def __init__(self, path: Path) -> None:
        self.path, self.place, self.seen = path, 0, 0

    def count(self) -> int:
        if self.path.exists():
            with self.path.open("rb") as file:
                file.seek(self.place)
                while block := file.read(1 << 20):
                    self.seen += block.count(b"\n")
                self.place = file.tell()
        return self.seen


def _peak_so_far(pid: int) -> float:
    """The peak so far, if the system reports it; else the peak is that of the whole run."""
    path = Path(f"/proc/{pid}/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return max(
        (int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), default=0
    )


def _row(reports: int, megabytes: float, seconds: float) -> Row:
    return f"{reports:,}", f"{megabytes:.0f}", f"{seconds:.0f}", f"{reports / seconds:.0f}"

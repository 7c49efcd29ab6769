"""Memory of all processes, speed and disk of `histoeval score` on a table of many pairs.

`python -m benchmarks million [--rows N] [--metrics NAMES] [--input csv|jsonl|jsonl.gz|json|parquet]
[--workers N]`. The command runs as a child. Each second the memory of it and of all its children is
added up: their shares of what they have in common (PSS) where the system says so, else what is
resident. Then the same command turns the finished rows into each other form.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.memory import write_pairs
from histoeval.io.row_files import FORMS

COLUMNS = ["rows", "input", "metrics", "step", "peak MB", "s", "rows/s", "rows on disk, MB"]
INPUTS = ("csv", "jsonl", "jsonl.gz", "json", "parquet")


def measure(arguments: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """A row for the run, and one for each further form of its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks million")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=40, help="of a report")
    parser.add_argument("--metrics", default="bleu,rouge_l,chrf")
    parser.add_argument("--input", choices=INPUTS, default="csv")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=FORMS)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        table, output = Path(folder, f"pairs.{given.input}"), Path(folder, "out")
        write_table(table, given.rows, given.words)
        command = [sys.executable, "-m", "histoeval.cli.main", "score", str(table)]
        command += ["--metrics", given.metrics, "--output", str(output)]
        command += ["--workers", str(given.workers)] if given.workers else []
        for number, form in enumerate(given.forms):
            peak, seconds = watched([*command, "--format", form])
            yield (
                f"{given.rows:,}",
                given.input,
                given.metrics,
                f"{'to' if number else 'score, then'} {form}",
                f"{peak:,.0f}",
                f"{seconds:,.0f}",
                f"{given.rows / seconds:,.0f}",
                f"{(output / f'scores.{form}').stat().st_size / 1e6:,.1f}",
            )


def write_table(path: Path, rows: int, words: int) -> None:
    """Pairs of drawn words, by a program of their own, so that this process stays small."""
    code = f"from benchmarks.million import make_table; make_table({str(path)!r}, {rows}, {words})"
    subprocess.run([sys.executable, "-c", code], check=True)


def make_table(name: str, rows: int, words: int) -> None:
    """The same pairs in any form of table."""
    import polars as pl

    path = Path(name)
    plain = path.with_name("pairs.csv")
    write_pairs(plain, rows, words)
    table = pl.scan_csv(plain, infer_schema=False)
    if path.name.endswith(".parquet"):
        table.sink_parquet(path)
    elif path != plain:
        table.sink_ndjson(lines := path.with_name("pairs.lines"))
        _copy_lines(lines, path)
        lines.unlink()
    if path != plain:
        plain.unlink()


def _copy_lines(lines: Path, path: Path) -> None:
    """JSON lines as they are, compressed, or as one list."""
    is_list = path.suffix == ".json"
    opened = gzip.open if path.suffix == ".gz" else open
    with lines.open("rb") as given, opened(path, "wb") as file:
        for number, line in enumerate(given):
            file.write((b",\n" if number else b"[\n") + line.rstrip() if is_list else line)
        file.write(b"]\n" if is_list else b"")


def watched(command: Sequence[str]) -> tuple[float, float]:
    """The peak of memory of a command and its children in MB, and its seconds."""
    start, peak = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(
                peak, sum(map(share_of_memory, [process.pid, *processes_below(process.pid)]))
            )
            time.sleep(min(1.0, 0.05 + (time.perf_counter() - start) / 100))
    if process.returncode not in (0, 1):  # 1: some rows have errors, as such texts may
        raise RuntimeError(f"histoeval score ended with {process.returncode}")
    return peak, time.perf_counter() - start


def processes_below(pid: int) -> Iterator[int]:
    """All processes below one, where the system lists them."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, _text(tasks).split()):
            yield child
            yield from processes_below(child)


def share_of_memory(pid: int) -> float:
    """Of one process, in MB; nothing when it has gone."""
    for file, field in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        for line in _text(Path(f"/proc/{pid}/{file}")).splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1e3
    return 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""

"""Many at a time, with the server never left idle, and memory that does not grow with the file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.judge_speed import server, write_pairs
from histoeval.judge.prompt import load_prompt
from tests.support.command import environment
from tests.support.fake_server import Loopback
from tests.support.judge_pairs import bench_at, make_pair

PEAK = """
import resource, runpy, sys
sys.argv = ["histoeval", *sys.argv[1:]]
try:
    runpy.run_module("histoeval.cli.main", run_name="__main__")
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_a_server_that_takes_its_time_is_kept_busy(loopback: Loopback) -> None:
    pairs = [make_pair(number) for number in range(256)]
    prompt = load_prompt("rubric4")
    bench = bench_at(loopback.url, concurrency=64)
    bench.ask(prompt, [make_pair(999)])
    loopback.delay = 0.4
    began = time.perf_counter()
    bench.ask(prompt, pairs)
    took = time.perf_counter() - began
    assert loopback.most_at_once == 64
    assert took < 3 * len(pairs) / 64 * loopback.delay, "even on a busy machine"


def peak_kilobytes(folder: Path, rows: int, port: int) -> int:
    write_pairs(folder / f"{rows}.csv", rows)
    where = ["--endpoint", f"http://127.0.0.1:{port}/v1", "--model", "m"]
    rest = ["--output", f"out-{rows}", "--concurrency", "8", "--cache", f"{rows}.sqlite"]
    told = subprocess.run(
        [sys.executable, "-c", PEAK, "judge", f"{rows}.csv", *where, *rest],
        cwd=folder,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    usage = json.loads((folder / f"out-{rows}" / "usage.json").read_text("utf-8"))
    assert next(iter(usage.values()))["requests"] == rows
    return int(told.stdout.rsplit("peak", 1)[1])


def test_five_times_the_pairs_take_no_more_memory(tmp_path: Path) -> None:
    with server(delay=0.0) as port:
        few, many = (peak_kilobytes(tmp_path, rows, port) for rows in (300, 1500))
    factor = 1 if sys.platform != "darwin" else 1024
    assert (many - few) / factor < 12_000

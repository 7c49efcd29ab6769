"""A long run on Ray in which actors, worker processes and the command itself are killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.engine_jobs import worked
from tests.support.paths import ROOT
from tests.support.ray_jobs import small_cluster

pytest.importorskip("ray")
pytestmark = [pytest.mark.heavy, pytest.mark.release]

PROGRAM = """
import sys; from pathlib import Path
sys.path.insert(0, {root!r})
from histoeval.run.engines.ray_engine import RayEngine
from tests.support.ray_jobs import felled
texts = ["late" if n % 5 == 0 else "a" for n in range(5000)]
texts[300:5000:480] = ["fell"] * 10
texts[2222] = "poison"
felled(texts, Path(sys.argv[1]), RayEngine(4, sys.argv[2]), 25)
"""


def test_ten_killed_actors_two_killed_commands_and_a_poison_row(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "worked.txt").touch()
    with small_cluster() as ray:
        address = ray.get_runtime_context().gcs_address
        for wanted in (1200, 3000, None):
            done, before = finished(folder), Counter(worked(folder))
            run(folder, address, wanted)
            again = Counter(worked(folder)) - before
            assert not done & set(again), "a finished block was worked on again"
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]
    assert [row["id"] for row in rows] == [f"r{n}" for n in range(5000)]
    assert {row["id"]: row["error"] for row in rows if row["error"]} == {"r2222": "worker_died"}
    assert len(list(folder.glob("*.died"))) == 10


def run(folder: Path, address: str, wanted: int | None) -> None:
    """Run the command to its end, or kill it when so many rows were worked on."""
    program = PROGRAM.format(root=str(ROOT))
    process = subprocess.Popen([sys.executable, "-c", program, folder, address], cwd=ROOT)
    while wanted is not None and len(worked(folder)) < wanted:
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.05)
    if wanted is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    seen = -1
    while (now := len(worked(folder))) != seen:  # actors without a command end with their block
        seen = now
        time.sleep(1.5)


def finished(folder: Path) -> set[str]:
    """The rows that have results, in their place or in blocks that wait for it."""
    files = [*folder.glob("out.jsonl"), *folder.glob(".out.jsonl.blocks-*/*.jsonl")]
    return {json.loads(line)["id"] for file in files for line in file.read_bytes().splitlines()}

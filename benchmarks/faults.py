"""A run that is killed again and again: every row is there, and no finished block is done twice.

`python -m benchmarks faults [--engine local|ray] [--pairs 5000]` scores pairs with `hare` on short
texts while workers are killed with SIGKILL ten times and the whole run twice; one pair kills its
worker whenever it is scored. All texts are made by a program.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from histoeval.errors import Problem
from histoeval.metric import Metric, Score
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.report import Pair

ORGANS = "breast colon stomach lung prostate kidney skin bladder thyroid liver".split()
FINDINGS = "adenocarcinoma|chronic inflammation|squamous cell carcinoma|no tumour|fibrosis"
POISON = "the poisoned pair"


@dataclass(frozen=True, config=STRICT)
class Noting(ModelMetric):
    """Notes each pair that it scores in a file, and kills its process at the poisoned one."""

    notes: Path = Path()

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """1 for each pair."""
        if any(POISON in pair.candidate for pair in pairs):
            os.kill(os.getpid(), signal.SIGKILL)
        with self.notes.open("a") as file:
            file.write("".join(f"{pair.id}\n" for pair in pairs))
        return [Score(value=1.0, signature=self.signature) for _ in pairs]


def pairs(count: int) -> Iterator[dict[str, str]]:
    draw = random.Random(0)
    findings = FINDINGS.split("|")
    for number in range(count):
        organ = draw.choice(ORGANS)
        reference = f"{organ.title()}, biopsy {number}: {draw.choice(findings)}."
        candidate = f"{organ.title()}, biopsy {number}: {draw.choice(findings)}."
        if number == count // 2:
            candidate += f" {POISON}"
        yield {"id": f"c{number}", "reference": reference, "candidate": candidate}


def score(folder: Path, count: int, engine: str) -> None:
    """One run, which somebody kills."""
    import histoeval

    metrics: list[str | Metric] = ["hare", Noting("noting", folder / "notes.txt")]
    table = folder / "pairs.jsonl"
    if not table.exists():
        table.write_text("".join(json.dumps(pair) + "\n" for pair in pairs(count)))
    histoeval.score(table, metrics=metrics, output=folder / "out", engine=engine, workers=2)


def workers() -> list[int]:
    """The worker processes on this machine, whichever engine has started them."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"histoeval.run.engines.serve\0" in command:
            found.append(int(entry.name))
    return found


def finished(folder: Path) -> set[str]:
    """The pairs of all blocks that are finished."""
    out = folder / "out"
    files = [out / "scores.jsonl", *out.glob(".scores.jsonl.blocks-*/*.jsonl")]
    lines = (line for file in files if file.exists() for line in file.read_bytes().split(b"\n"))
    return {json.loads(line)["id"] for line in lines if line.endswith(b"}")}


def measure(options: Sequence[str]) -> list[list[str]]:
    """The table of one run and all that happened to it."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks faults")
    asked.add_argument("--engine", default="local")
    asked.add_argument("--pairs", type=int, default=5000)
    given = asked.parse_args(options)
    with tempfile.TemporaryDirectory() as name:
        return _measured(Path(name), given.pairs, given.engine)


def _measured(folder: Path, count: int, engine: str) -> list[list[str]]:
    command = [sys.executable, "-m", "benchmarks.faults", str(folder), str(count), engine]
    draw, started = random.Random(1), time.perf_counter()
    kills = drivers = twice = 0
    done: set[str] = set()
    notes = folder / "notes.txt"
    process = subprocess.Popen(command)
    while process.poll() is None:
        time.sleep(0.5)
        rows = len(notes.read_text().split()) if notes.exists() else 0
        if drivers < 2 and rows > (drivers + 1) * count // 3:
            process.kill()
            process.wait()
            drivers += 1
            time.sleep(3)  # what is left of it ends
            done = finished(folder)
            before = Counter(notes.read_text().split())
            process = subprocess.Popen(command)
        elif kills < 10 and rows > (kills + 1) * count // 12 and (there := workers()):
            os.kill(draw.choice(there), signal.SIGKILL)
            kills += 1
        if drivers and done:
            again = Counter(notes.read_text().split()) - before
            twice = max(twice, len(done & again.keys()))
    found = [json.loads(line) for line in (folder / "out" / "scores.jsonl").open()]
    errors = [row for row in found if row["errors"]]
    told = errors[0]["errors"][0]["code"] if errors else ""
    return [
        ["exit code of the last run", str(process.returncode)],
        ["workers killed, runs killed", f"{kills}, {drivers}"],
        ["rows, distinct", f"{len(found)}, {len({row['id'] for row in found})}"],
        ["in the order of the input", str([r["id"] for r in found] == _ids(count))],
        ["rows with errors", f"{len(errors)} ({told} of {', '.join(r['id'] for r in errors)})"],
        ["finished pairs scored again", str(twice)],
        ["seconds", f"{time.perf_counter() - started:.0f}"],
    ]


def _ids(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


if __name__ == "__main__":
    from benchmarks.faults import score as run  # by its name, as pickles call what is in it

    run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

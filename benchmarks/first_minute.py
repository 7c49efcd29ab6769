"""The first minute: from a built wheel to a scored table and its page, in an empty environment.

`python -m benchmarks first-minute [--wheel FILE] [--python PROGRAM] [--downloads DIR]` downloads
what the wheel needs (not counted), cuts the network off, hides every compiler, installs, runs
`histoeval demo`, and then the three commands that it prints.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.dist import ROOT
from histoeval.errors import HistoEvalError

COLUMNS = ["step", "s", "processor s"]
MOST_SECONDS = 60.0
TOTAL = "**from pip install to the page**"
PAIRS = 106
NO_COMPILER = {"CC": "false", "CXX": "false", "FC": "false", "RUSTC": "false", "CARGO": "false"}
GUARD = '''"""No socket of this process reaches another machine."""
import socket

def refuse(*_):
    raise OSError("the network is cut off")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
'''


class Step(NamedTuple):
    """A command that was run to its end, by the clock and by what it made processors do."""

    name: str
    seconds: float
    processor: float
    output: str = ""


def measure(options: Sequence[str]) -> list[list[str]]:
    """Each step with its seconds, their sum, and what was installed."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks first-minute")
    asked.add_argument("--wheel", type=Path, default=None)
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--downloads", type=Path, default=None)
    given = asked.parse_args(options)
    wheel = given.wheel or max((ROOT / "dist").glob("*.whl"), default=None)
    if wheel is None:
        raise HistoEvalError("dist has no wheel: run `make dist`, or give --wheel FILE")
    with tempfile.TemporaryDirectory() as folder:
        steps = lived(given, wheel, Path(folder))
    return [[step.name, f"{step.seconds:.1f}", f"{step.processor:.1f}"] for step in steps]


def lived(given: argparse.Namespace, wheel: Path, home: Path) -> list[Step]:
    """All that a new user does, from the environment to the third command."""
    shell = _offline(home)
    bin_ = home / "environment" / "bin"
    shell["PATH"] = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    steps = [
        _run("make an empty environment", [given.python, "-m", "venv", home / "environment"], {})
    ]
    downloads = given.downloads or _download(bin_, wheel, home / "downloads")
    install = [bin_ / "python", "-m", "pip", "install", "--quiet", "--no-index"]
    local = ["--find-links", str(downloads), str(wheel.resolve())]
    steps.append(_run("pip install, downloaded before", [*install, *local], shell, home))
    demo = ["histoeval", "demo", "--no-open"]
    steps.append(_run("histoeval demo", demo, shell, home))
    _check_demo(home / "histoeval-demo" / "results", bin_)
    counted = steps[1:]
    total = Step(TOTAL, sum(e.seconds for e in counted), sum(e.processor for e in counted))
    commands = re.findall(r"^  (histoeval .+)$", steps[-1].output, re.MULTILINE)
    more = [_run(line, shlex.split(line), shell, home) for line in commands]
    return [*steps, total, *more]


def _download(bin_: Path, wheel: Path, target: Path) -> Path:
    """What the wheel needs, and what builds the one dependency that comes as source, in Python."""
    pip = [bin_ / "python", "-m", "pip", "download", "--quiet", "--dest", target]
    _run("download", [*pip, wheel.resolve(), "setuptools", "wheel"], {})
    return target


def _offline(home: Path) -> dict[str, str]:
    """Variables under which no compiler is found and, where namespaces are not, no network."""
    guard = home / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return NO_COMPILER | {"PYTHONPATH": str(guard), "HOME": str(home), "COLUMNS": "100"}


def _cut_off() -> list[str]:
    """What starts a command in a world without a network, where this machine allows it."""
    words = ["unshare", "--map-root-user", "--net"]
    found = shutil.which("unshare") and not subprocess.call([*words, "true"], stderr=-3)
    return words if found else []


def _run(
    name: str, command: Sequence[object], variables: Mapping[str, str], cwd: Path | None = None
) -> Step:
    outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [*(_cut_off() if variables else ()), *map(str, command)]
    start, before = time.perf_counter(), _processor_seconds()
    ran = subprocess.run(
        words, cwd=cwd, env={**outside, **variables}, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise HistoEvalError(f"{shlex.join(words)}: {ran.stdout}{ran.stderr}")
    spent = _processor_seconds() - before
    return Step(name, time.perf_counter() - start, spent, ran.stdout)


def _processor_seconds() -> float:
    """Of all commands that have ended; on a busy machine the clock says little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check_demo(results: Path, bin_: Path) -> None:
    """The demo has scored every pair, made its page, and brought in no torch."""
    rows = (results / "scores.jsonl").read_text("utf-8").count("\n")
    page = (results / "report.html").stat().st_size
    heavy = [*bin_.parent.glob("lib/python*/site-packages/torch")]
    if rows != PAIRS or not page or heavy:
        raise HistoEvalError(f"{rows} rows, a page of {page} bytes, {heavy}")

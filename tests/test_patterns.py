"""No regular expression of the package takes more than linear time.

`tests/support/patterns.py` finds and times them, in processes of its own: one that hangs is ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread, Timer

import pytest

from tests.support.paths import ROOT
from tests.support.patterns import Found, attacks, slow_on

LIMIT_S = 120
"""For one pattern, which takes some milliseconds; long, because other tests run beside this."""

KNOWN: dict[str, str] = {
    "(?:regular|straight|parallel)(?:,?": "quadratic only where its own words are repeated; part "
    "of the signature of logic",
}
"""Patterns that may be slow, by how they begin or what they contain, and why."""

pytestmark = pytest.mark.slow


def worker(task: str, lines: str = "") -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.support.patterns", task],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    Thread(target=_send, args=(process, lines), daemon=True).start()
    return process


def _send(process: subprocess.Popen[str], lines: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(lines)
        process.stdin.close()
    except BrokenPipeError:
        pass


def slow_ones(lines: list[str]) -> list[str]:
    """What is slow about the patterns of these lines; a worker that hangs is replaced."""
    slow = []
    while lines:
        with worker("time", "".join(lines)) as process:
            assert process.stdout is not None
            for at, line in enumerate(lines):
                timer = Timer(LIMIT_S, process.kill)
                timer.start()
                answer = process.stdout.readline()
                timer.cancel()
                if not answer:
                    slow.append(f"no answer in {LIMIT_S} s: {line}")
                    lines = lines[at + 1 :]
                    break
                if answer != "null\n":
                    slow.append(answer)
            else:
                return slow
    return slow


def test_no_pattern_takes_more_than_linear_time() -> None:
    with worker("collect") as process:
        assert process.stdout is not None
        lines = process.stdout.readlines()
    assert process.returncode == 0
    assert len(lines) > 1_000
    repeating = [line for line in lines if attacks(*json.loads(line)[:2])]
    assert len(repeating) > 250
    with ThreadPoolExecutor(2) as pool:
        halves = pool.map(slow_ones, (repeating[::2], repeating[1::2]))
        slow = [found for half in halves for found in half]
    new = [found for found in slow if not any(_quoted(known) in found for known in KNOWN)]
    assert not new, "".join(new)


def _quoted(text: str) -> str:
    return json.dumps(text)[1:-1]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d+[a-z]",
        r"\s*%",
        r"score\s*:?\s*\d",
        r"[.;:]+(?=\s|$)",
        r"\([^)]*\)",
        r"#+\s+(?:[^\n]{1,120}?)[ \t]*(?=[ \t]*\n)",
    ],
)
def test_slow_patterns_are_noticed(pattern: str) -> None:
    assert slow_on(Found(pattern, 0, "here", False)) is not None


@pytest.mark.parametrize("pattern", [r"(?<!\d)\d++[a-z]", r"score\s*(?::\s*)?\d", r"\s{0,20}%"])
def test_their_linear_forms_are_not(pattern: str) -> None:
    assert slow_on(Found(pattern, 0, "here", False)) is None

"""Start-up time of the import and of commands."""

from __future__ import annotations

import subprocess
import sys
import time


def best_of(command: list[str], tries: int = 10) -> float:
    """Milliseconds of the fastest run."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def measure() -> list[tuple[str, str]]:
    python = sys.executable
    bare = best_of([python, "-c", "pass"])
    imported = best_of([python, "-c", "import histoeval"]) - bare
    helped = best_of([python, "-m", "histoeval.cli.main", "--help"])
    return [("import histoeval", f"{imported:.0f}"), ("histoeval --help", f"{helped:.0f}")]

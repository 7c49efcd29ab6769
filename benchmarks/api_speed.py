"""What a user of the Python API waits for: importing, loading, one pair, and a second call."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.startup import best_of

PAIRS = 25
WORDS = 20

SECOND_CALL = """
import time, histoeval
pairs = ["Left breast: carcinoma."] * 4
histoeval.score(pairs, pairs, metrics="concordance")
began = time.perf_counter()
histoeval.score(pairs, pairs, metrics="concordance")
print((time.perf_counter() - began) * 1000)
"""


def pair_times(pairs: int = PAIRS, words: int = WORDS) -> list[float]:
    """Milliseconds of single pairs that a loaded concordance has not seen, sorted."""
    import histoeval
    from tests.support.report_words import make_report

    source = random.Random(3)
    concordance = histoeval.load("concordance")
    texts = [(make_report(source, words), make_report(source, words)) for _ in range(pairs + 3)]
    found = []
    for reference, candidate in texts:
        began = time.perf_counter()
        concordance(reference, candidate)
        found.append((time.perf_counter() - began) * 1000)
    return sorted(found[3:])


def measure() -> Iterator[tuple[str, str]]:
    bare = best_of([sys.executable, "-c", "pass"])
    imported = best_of([sys.executable, "-c", "import histoeval"])
    yield "import histoeval", f"{imported - bare:.0f}"
    began = time.perf_counter()
    times = pair_times()
    yield f"concordance of one pair, {WORDS} words a side, median", f"{times[len(times) // 2]:.0f}"
    yield "the same, slowest of ten", f"{times[int(len(times) * 0.9)]:.0f}"
    yield "loading it, with all pairs", f"{(time.perf_counter() - began) * 1000:.0f}"
    second = subprocess.check_output([sys.executable, "-c", SECOND_CALL], text=True)
    yield "second call of histoeval.score, 4 pairs", f"{float(second):.0f}"

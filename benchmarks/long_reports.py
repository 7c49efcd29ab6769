"""Processor time of concordance on a pair with a very long report, by its length and its kind.

`python -m benchmarks long-reports --chars 50000,200000`: stretches of the bundled examples one
after the other, one of them again and again, and texts that no one would write. The candidate has
90 words.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

import histoeval
from benchmarks.reader_speed import expert_sized_texts
from histoeval.report import Pair
from histoeval.runtime.threads import LIMIT

Row = tuple[str, ...]
COLUMNS = ["the reference", "characters", "processor s", "answer"]


def measure(options: Sequence[str]) -> list[Row]:
    """Seconds for each kind and length, read by a fresh metric."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks long-reports")
    asked.add_argument("--chars", default="20000,50000,100000,200000")
    asked.add_argument("--kinds", default="", help="those that have this in their name")
    given = asked.parse_args(options)
    texts = expert_sized_texts()
    kinds = {
        "many reports": "\n\n".join(texts),
        "one report, repeated": f"{texts[0]}\n",
        "one word, repeated": "carcinoma ",
        "no spaces": "adenocarcinoma",
        "digits": "1234567890",
        "line ends": "\n",
        "letters and commas": "a, ",
    }
    os.environ[LIMIT] = "1"
    return [
        _timed(kind, (text * (int(size) // len(text) + 1))[: int(size)], texts[-3])
        for kind, text in kinds.items()
        if given.kinds in kind
        for size in given.chars.split(",")
    ]


def _timed(kind: str, reference: str, candidate: str) -> Row:
    metric = histoeval.load("concordance")
    start = time.process_time()
    (answer,) = metric.score([Pair(id="1", reference=reference, candidate=candidate)])
    seconds = time.process_time() - start
    shown = answer.message if isinstance(answer, histoeval.Problem) else f"{answer.value:.3f}"
    return kind, f"{len(reference):,}", f"{seconds:.1f}", shown

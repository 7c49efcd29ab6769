"""Time of concordance and HARE on a workload of the size of the expert sheet.

The paper's HARE took 192 s on an A5000 for these 600 pairs. Both metrics share one reader, which
reads each text once, as `histoeval score` does. Reports of twice the length show how time grows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeVar

from benchmarks.reader_speed import expert_sized_texts
from histoeval.align.aligner import LexicalAligner
from histoeval.metrics.concordance import Concordance
from histoeval.metrics.hare import Hare
from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Pair

Row = tuple[str, ...]
T = TypeVar("T")


def measure() -> list[Row]:
    """Seconds for reading, for HARE and for concordance, at one length and at twice that."""
    texts = expert_sized_texts()
    once = [Pair(id=str(i), reference=a, candidate=b) for i, (a, b) in enumerate(_twos(texts))]
    doubled = [
        Pair(
            id=one.id,
            reference=f"{one.reference}\n{two.reference}",
            candidate=f"{one.candidate}\n{two.candidate}",
        )
        for one, two in _twos(once)
    ]
    half = once[: len(doubled)]
    return [
        _timed(f"{len(once)} pairs", once),
        _timed(f"{len(half)} pairs", half),
        _timed(f"{len(doubled)} pairs of twice the length", doubled),
    ]


def _twos(items: Sequence[T]) -> list[tuple[T, T]]:
    return list(zip(items[::2], items[1::2], strict=True))


def _timed(what: str, pairs: Sequence[Pair]) -> Row:
    reader, aligner = BuiltinReader(), LexicalAligner()
    reader.read(["Warm-up: no tumour seen."])
    texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
    steps = (
        lambda: reader.read(texts),
        lambda: Hare(name="hare", reader=reader, aligner=aligner).score(pairs),
        lambda: Concordance(name="concordance", reader=reader, aligner=aligner).score(pairs),
    )
    seconds = []
    for step in steps:
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return (what, *(f"{each:.1f}" for each in seconds), f"{sum(seconds):.1f}")

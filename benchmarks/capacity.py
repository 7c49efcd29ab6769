"""What a core does in a second, what the process that writes does, and where more cores end.

`python -m benchmarks capacity [--pairs 30] [--slides 1]` measures processor seconds of one core for
each instrument on reports of the size of the expert sheet, and of the process that reads and
writes for each row; and works out from both what 2 million reports and 100,000 slides take on 1,
10 and 100 machines of 16 such cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.painted_slide import SIDE, paint, write_slide
from benchmarks.reader_speed import expert_sized_texts
from histoeval.report import Pair
from histoeval.runtime.threads import LIMIT

REPORTS, SLIDES = 2_000_000, 100_000
CORES = 16
MACHINES = (1, 10, 100)
START_S = 20.0
"""Until all workers of a cluster have loaded their models."""

COLUMNS = ["instrument", "ms of a core", "a core, per hour"]
PLAN_COLUMNS = ["what", "1 machine", "10 machines", "100 machines", "the writer is full at"]


class Cost(NamedTuple):
    """Processor seconds of one core for one row."""

    name: str
    seconds: float
    rows: int = REPORTS
    is_lexical: bool = False


def measure(options: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """The costs by instrument, and what they come to."""
    asked = argparse.ArgumentParser(prog="python -m benchmarks capacity")
    asked.add_argument("--pairs", type=int, default=30)
    asked.add_argument("--slides", type=int, default=1)
    given = asked.parse_args(options)
    os.environ[LIMIT] = "1"
    costs = [*_of_texts(given.pairs), *_of_slides(given.slides)]
    lexical, with_evidence = _writer_seconds("bleu", 3000), _writer_seconds("concordance", 150)
    rows = [
        [cost.name, f"{1000 * cost.seconds:,.1f}", f"{3600 / cost.seconds:,.0f}"] for cost in costs
    ]
    what = "the process that reads and writes, per row of"
    rows.append([f"{what} bleu", f"{1000 * lexical:.2f}", ""])
    rows.append([f"{what} concordance", f"{1000 * with_evidence:.2f}", ""])
    return rows, [_plan(cost, lexical if cost.is_lexical else with_evidence) for cost in costs]


def _of_texts(count: int) -> list[Cost]:
    import histoeval

    texts = expert_sized_texts()
    warm, own = texts[:4], texts[4 : 4 + 2 * count]
    pairs = [
        Pair(id=str(n), reference=a, candidate=b)
        for n, (a, b) in enumerate(zip(own[::2], own[1::2], strict=True))
    ]
    costs = []
    for name in ("bleu", "rouge_l", "chrf", "hare", "concordance", "rubric_offline"):
        metric = histoeval.load(name)
        metric.score([Pair(id="0", reference=warm[0], candidate=warm[1])])
        seconds = _timed(partial(metric.score, pairs)) / len(pairs)
        is_lexical = name in ("bleu", "rouge_l", "chrf")
        costs.append(Cost(f"score, {name}", seconds, is_lexical=is_lexical))
        _forget()
    reader = histoeval.run.models.load_reader(histoeval.Models())
    reader.read(warm)
    _forget()
    costs.append(Cost("extract", _timed(lambda: reader.read(own)) / len(own)))
    histoeval.contradictions(warm[0])
    some = own[:count]
    seconds = _timed(lambda: [histoeval.contradictions(text) for text in some])
    return [*costs, Cost("trust, logic alone", seconds / len(some))]


def _forget() -> None:
    """Let no metric profit from what another has read."""
    from histoeval.runtime import memo

    memo._LOADED.clear()


def _of_slides(count: int) -> list[Cost]:
    import histoeval

    if not count:
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        slide = folder / "slide.tif"
        write_slide(slide, SIDE, SIDE, 0.5, paint())
        rows = [
            {"id": str(n), "image": slide.name, "report": "Colon: adenocarcinoma."}
            for n in range(count)
        ]
        seconds = _timed(lambda: histoeval.trust(rows, images=folder, engine="inline"))
    return [Cost("trust, 128 tiles of a slide", seconds / count, SLIDES)]


def _writer_seconds(metric: str, rows: int) -> float:
    """Processor seconds for each row of the process that reads, orders, counts and writes."""
    _run_seconds(metric, 1)  # what is loaded once
    few, many = (_run_seconds(metric, count) for count in (rows // 5, rows))
    return (many - few) / (rows - rows // 5)


def _run_seconds(metric: str, rows: int) -> float:
    import histoeval

    with tempfile.TemporaryDirectory() as name:
        table, output = Path(name) / "pairs.csv", Path(name) / "out"
        lines = [f"c{n},Colon: adenoma {n}.,Colon: carcinoma {n}.\n" for n in range(rows)]
        table.write_text("id,reference,candidate\n" + "".join(lines))
        score = partial(histoeval.score, table, metrics=metric, output=output)
        return _timed(partial(score, engine="local", workers=1))


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _plan(cost: Cost, writer: float) -> list[str]:
    """Hours on so many machines: as long as the slower of the workers and the writer."""
    hours = [
        (START_S + max(cost.rows * cost.seconds / (CORES * machines), cost.rows * writer)) / 3600
        for machines in MACHINES
    ]
    full = cost.seconds / writer
    return [
        f"{cost.rows:,} x {cost.name}",
        *(f"{each:,.2f} h" for each in hours),
        f"{full:,.0f} cores",
    ]

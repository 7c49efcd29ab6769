"""Speed of the builtin reader, and its speed-up over two models run pair by pair.

The published scheme is run with an encoder of the reader's own shape (MiniLM-L6) and random
weights, once as a token classifier and once as a relation classifier: a tagging pass per text, and
for every ordered pair of entities one pass padded to 512 tokens. It would take hours, so that its
cost is timed on a seeded sample of equally long passes and multiplied by their number, as in
`hare_speed`. Both sides read the same texts, and the pairs are those of the entities that the
builtin reader finds in them. All in one process on the same cores; needs the extra [hf].
"""

from __future__ import annotations

import csv
import random
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TypeVar

from histoeval.reader.builtin import BuiltinReader
from histoeval.report import Report

EXPERT_PAIRS = 600
EXPERT_WORDS = 90
"""Words of a report in the expert sheet of the HARE paper, on average."""
SAMPLE = 16
TRIES = 3
VOCABULARY = 30_522
Row = tuple[str, ...]
T = TypeVar("T")


def measure() -> list[Row]:
    """Speed on the bundled examples, and on a workload of the size of the expert sheet."""
    return [
        _speed("bundled examples", example_texts(), TRIES),
        _speed(f"{EXPERT_PAIRS} pairs of {EXPERT_WORDS} words a side", expert_sized_texts(), 1),
    ]


def example_texts() -> list[str]:
    """The distinct references and candidates of the bundled examples."""
    text = (files("histoeval") / "examples" / "pairs.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines(keepends=True))
    columns = ("reference", "candidate_good", "candidate_bad")
    return list(dict.fromkeys(row[column] for row in rows for column in columns))


def expert_sized_texts() -> list[str]:
    """References and candidates, all distinct: examples in any order, cut at the sheet's length."""
    choose, texts = random.Random(0), example_texts()
    made: dict[str, None] = {}
    while len(made) < 2 * EXPERT_PAIRS:
        choose.shuffle(texts)
        words = re.findall(r"\S+\s*", "\n".join(texts))
        whole = len(words) // EXPERT_WORDS
        stretches = ("".join(words[n * EXPERT_WORDS :][:EXPERT_WORDS]) for n in range(whole))
        made |= dict.fromkeys(stretches)
    return list(made)[: 2 * EXPERT_PAIRS]


def _read(texts: Sequence[str], tries: int) -> tuple[float, list[Report]]:
    """The median of several times, each with an empty cache."""
    times: list[float] = []
    for _ in range(tries):
        reader = BuiltinReader()
        reader.read(["Warm-up: no tumour seen."])
        seconds, reports = _timed(lambda reader=reader: reader.read(texts))  # type: ignore[misc]
        times.append(seconds)
    return median(times), reports


def _speed(what: str, texts: Sequence[str], tries: int) -> Row:
    seconds, reports = _read(texts, tries)
    reader = BuiltinReader()
    tokens = sum(len(reader.tokenizer.encode(text, add_special_tokens=False)) for text in texts)
    return (
        what,
        f"{len(texts):,}",
        f"{tokens:,}",
        f"{sum(len(report.entities) for report in reports):,}",
        f"{seconds:.1f}",
        f"{len(texts) / seconds:.1f}",
        f"{tokens / seconds:,.0f}",
    )


def compare() -> list[Row]:
    """The published scheme and the builtin reader on the bundled examples."""
    if not (find_spec("torch") and find_spec("transformers")):
        return [("two models, pair by pair: not measured, needs the extra [hf]", *[""] * 4)]
    texts = example_texts()
    seconds, reports = _read(texts, TRIES)
    passes, published = _published(reports)
    ours = ("builtin reader, one pass per window (int8)", len(texts), seconds)
    theirs = ("two models, pair by pair, padded to 512", passes, published)
    return [
        (what, f"{n:,}", f"{s:,.1f}", f"{len(texts) / s:.2f}", f"{published / s:,.0f}")
        for what, n, s in (theirs, ours)
    ]


def _published(reports: Sequence[Report]) -> tuple[int, float]:
    """Passes of the published scheme over these reports, and the seconds they would take."""
    from benchmarks import hare_speed
    from benchmarks.random_models import Shape, make_models
    from histoeval.reader.huggingface import HuggingFaceReader
    from histoeval.reader.upstream import ChunkEntity, UpstreamReader

    texts = [report.text for report in reports]
    found = {
        report.text: [ChunkEntity(e.text, e.start, e.end, e.score) for e in report.entities]
        for report in reports
    }
    pairs = sum(len(entities) * (len(entities) - 1) for entities in found.values())
    sample = hare_speed._sample(found)
    shape = Shape(hidden=384, layers=6, heads=12, vocabulary=VOCABULARY)
    with tempfile.TemporaryDirectory() as folder:
        folders = make_models(Path(folder), texts, shape)
        two = HuggingFaceReader(folders.entities, folders.relations, runtime=hare_speed.CPU)
        tagger = UpstreamReader(two)
        few = random.Random(0).sample(texts, SAMPLE)
        tagger._entities(few[0])
        hare_speed._pass_seconds(two, sample[:2], padding="max_length")
        tagging = _timed(lambda: [tagger._entities(text) for text in few])[0] / len(few)
        relating = hare_speed._pass_seconds(two, sample, padding="max_length")
    return len(texts) + pairs, len(texts) * tagging + pairs * relating


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done

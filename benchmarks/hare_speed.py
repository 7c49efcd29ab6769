"""Speed-up of paper mode over the published loop, step by step.

Both run the same random model, shaped like GatorTronS (hidden 1024, 16 heads) with 6 of its 24
layers, on the 60 longest pairs of the bundled examples, in one process on the same threads. The
published loop would take hours, so that its cost is timed on a seeded sample of its passes and
multiplied by their number; every pass of it is padded to the same 512 tokens, so that a sample is
enough. Paper mode is timed whole.
"""

from __future__ import annotations

import csv
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from benchmarks.random_models import ModelFolders, Shape, make_models
from histoeval import Pair
from histoeval.align.huggingface import HuggingFaceEncoder
from histoeval.metrics.registry import create
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.upstream import ChunkEntity, UpstreamReader, marked_as_published
from histoeval.runtime.transformer import Runtime

CPU = Runtime(device="cpu")
PAIRS = 60
SAMPLE = 16
GATORTRON_6_LAYERS = Shape(hidden=1024, layers=6, heads=16, outside=6.0)


def example_pairs(most: int = PAIRS) -> list[Pair]:
    text = (files("histoeval") / "examples" / "pairs.csv").read_text("utf-8")
    pairs = [
        Pair(id=row["id"], reference=row["reference"], candidate=row[column], system=column)
        for row in csv.DictReader(text.splitlines(keepends=True))
        for column in ("candidate_good", "candidate_bad")
    ]
    longest = sorted(pairs, key=lambda pair: -len(pair.reference + pair.candidate))
    return longest[:most]


def measure() -> list[tuple[str, str, str, str]]:
    """Rows of the ladder: step, passes of the relation model, seconds, times faster."""
    pairs = example_pairs()
    texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
    with tempfile.TemporaryDirectory() as folder:
        folders = make_models(Path(folder), texts, GATORTRON_6_LAYERS)
        return _ladder(pairs, texts, folders)


def _ladder(
    pairs: list[Pair], texts: list[str], folders: ModelFolders
) -> list[tuple[str, str, str, str]]:
    reader = HuggingFaceReader(folders.entities, folders.relations, runtime=CPU)
    aligner = HuggingFaceEncoder(folders.aligner, runtime=CPU)
    tagger = UpstreamReader(reader)
    distinct = list(dict.fromkeys(texts))
    found = {text: tagger._entities(text) for text in distinct}
    tagging = _seconds(lambda: [tagger._entities(text) for text in distinct[:SAMPLE]]) / SAMPLE
    passes = {text: len(found[text]) * (len(found[text]) - 1) for text in distinct}
    count = sum(passes[text] for text in texts)
    asked_once = sum(passes.values())
    sample = _sample(found)

    _pass_seconds(reader, sample[:2], padding="max_length")  # the first passes are slow
    padded = _pass_seconds(reader, sample, padding="max_length")
    unpadded = _pass_seconds(reader, sample, padding="do_not_pad")
    batched = _batched_seconds(reader, sample)
    steps = [
        ("published loop, one pass at a time, padded to 512", count, padded, len(texts)),
        ("no padding", count, unpadded, len(texts)),
        ("batched by token budget, longest first", count, batched, len(texts)),
        ("each distinct text once", asked_once, batched, len(distinct)),
    ]
    timed = [(name, n, n * each + reads * tagging) for name, n, each, reads in steps]

    counted = _count_candidates(reader)
    metric = create("hare:mode=paper", {"reader": reader, "aligner": aligner})
    whole = _seconds(lambda: metric.score(pairs))
    timed.append(("only compatible types in one window (paper mode, whole run)", counted(), whole))
    entities = sum(len(found[text]) for text in distinct) / len(distinct)
    print(f"{len(pairs)} pairs, {len(distinct)} distinct texts, {entities:.1f} entities each")
    return [
        (name, f"{n:,}", f"{seconds:,.1f}", f"{timed[0][2] / seconds:.1f}")
        for name, n, seconds in timed
    ]


def _sample(found: dict[str, list[ChunkEntity]]) -> list[str]:
    choose = random.Random(0)
    rich = [text for text, entities in found.items() if len(entities) > 1]
    weights = [len(found[text]) * (len(found[text]) - 1) for text in rich]
    chosen = choose.choices(rich, weights, k=SAMPLE)
    return [marked_as_published(text, *choose.sample(found[text], 2)) for text in chosen]


def _pass_seconds(reader: HuggingFaceReader, marked: Sequence[str], padding: str) -> float:
    assert reader.relater is not None
    tokenizer, model = reader.relater.tokenizer, reader.relater.model

    def one_by_one() -> None:
        for text in marked:
            with torch.inference_mode():
                model(
                    **tokenizer(
                        text, max_length=512, truncation=True, padding=padding, return_tensors="pt"
                    )
                )

    return _seconds(one_by_one) / len(marked)


def _batched_seconds(reader: HuggingFaceReader, marked: Sequence[str]) -> float:
    assert reader.relater is not None
    relater = reader.relater
    ids = relater.tokenizer(list(marked))["input_ids"]
    return _seconds(lambda: relater.forward(ids, lambda output: output.logits)) / len(marked)


def _count_candidates(reader: HuggingFaceReader) -> Callable[[], int]:
    """Count the candidates of the relation model from now on."""
    counted = 0
    original = reader._probabilities

    def counting(candidates: Any) -> Any:
        nonlocal counted
        counted += len(candidates)
        return original(candidates)

    reader._probabilities = counting  # type: ignore[method-assign]
    return lambda: counted


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

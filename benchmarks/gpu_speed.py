"""How busy a GPU is kept: the published scheme with large random models, and the builtin models.

`python -m benchmarks.gpu_speed [--device cuda] [--layers 24] [--pairs 600]` prints, as it goes:

- paper mode of HARE with random 24-layer models (hidden 1024, 306 M parameters): seconds for 600
  pairs of the size of the expert sheet, and the share of them in which the GPU was at work;
- concordance and HARE with the builtin models on the device: 512 short pairs and the 600 pairs;
- how their scores compare with those of the CPU on 100 of the pairs.

Each is timed after a warm-up on other pairs; the cache of readings is empty. `--seconds-only`
leaves out the comparison with the CPU and the profile, which slows what it measures.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.random_models import Shape, make_models
from benchmarks.reader_speed import expert_sized_texts
from histoeval.metric import Metric, Score
from histoeval.metrics.registry import create
from histoeval.report import Pair
from histoeval.runtime.transformer import Runtime

COLUMNS = ["what", "measured"]
SHORT_PAIRS, SHORT_WORDS = 512, 50
COMPARED = 100
WARM_UP = 24
Row = tuple[str, str]
T = TypeVar("T")


def measure(options: Sequence[str]) -> list[Row]:
    """Rows of the table; each is printed as soon as it is known."""
    given = _options(options)
    pairs = _pairs(expert_sized_texts())
    rows: list[Row] = []

    def tell(what: str, measured: str) -> None:
        rows.append((what, measured))
        print(f"{what}: {measured}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        _published(given, pairs, Path(folder), tell)
    if not given.published_only:
        _builtin(given, pairs, tell)
    return rows


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_speed")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--entities", type=float, default=8.9, help="that are found in a text")
    parser.add_argument(
        "--even-types",
        action="store_true",
        help="a tagger that finds all types alike",
    )
    parser.add_argument("--published-only", action="store_true")
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--seconds-only", action="store_true")
    return parser.parse_args(options)


def _pairs(texts: Sequence[str]) -> list[Pair]:
    both = zip(texts[::2], texts[1::2], strict=True)
    return [Pair(id=str(n), reference=one, candidate=two) for n, (one, two) in enumerate(both)]


def _short(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of 40 to 60 words a side."""

    def cut(text: str, number: int) -> str:
        return " ".join(text.split()[: SHORT_WORDS - 10 + number % 21])

    return [
        Pair(id=p.id, reference=cut(p.reference, n), candidate=cut(p.candidate, n + 7))
        for n, p in enumerate(pairs[:SHORT_PAIRS])
    ]


def _published(
    given: argparse.Namespace, pairs: list[Pair], folder: Path, tell: Callable[[str, str], None]
) -> None:
    from histoeval.align.huggingface import HuggingFaceEncoder
    from histoeval.reader.huggingface import HuggingFaceReader

    heads = max(1, given.hidden // 64)
    shape = Shape(given.hidden, given.layers, heads)
    texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
    folders = make_models(folder, texts, shape)
    runtime = Runtime(given.device)
    reader = HuggingFaceReader(folders.entities, folders.relations, runtime=runtime)
    aligner = HuggingFaceEncoder(folders.aligner, runtime=runtime)
    parameters = sum(each.numel() for each in reader.tagger.model.parameters())
    if given.even_types:
        _even_types(reader, texts[::4])
    _set_entities(reader, texts[::4], given.entities)
    tell("random models", f"{given.layers} layers, {parameters / 1e6:.0f} M parameters each")
    metric = create("hare:mode=paper", {"reader": reader, "aligner": aligner})
    metric.score(_pairs([text.upper() for text in texts[: 2 * WARM_UP]]))
    gc.freeze()  # as `histoeval score` does
    some = pairs[: given.pairs]
    tell(f"paper mode, {len(some)} pairs, s", f"{_seconds(given, lambda: metric.score(some)):.2f}")
    read = reader.read(texts[: 2 * len(some)])
    found = sum(len(report.entities) for report in read) / len(read)
    tell("entities a text", f"{found:.1f}")
    tell("put to the relation model", f"{_candidates(reader, read)} pairs of entities")
    if not given.seconds_only and given.device != "cpu":
        reader._cached._known.clear()
        busy, whole = _busy(given, lambda: metric.score(some))
        tell("GPU at work", f"{busy:.2f} s of {whole:.2f} s ({busy / whole:.0%}), profiled")


def _candidates(reader: Any, reports: Sequence[Any]) -> int:
    """Pairs of entities whose types can be related."""
    kinds = [[entity.type for entity in report.entities] for report in reports]
    return sum((h, t) in reader.relation_types for each in kinds for h in each for t in each)


def _even_types(reader: Any, texts: Sequence[str]) -> None:
    """Take from each label's bias what a random tagger prefers it by."""
    import numpy as np
    import torch

    encoded = [each.ids for each in reader.tagger.encodings(texts)]
    logits = reader.tagger.forward(encoded, lambda output: output.logits)
    with torch.no_grad():
        bias = reader.tagger.model.classifier.bias
        bias -= torch.from_numpy(np.concatenate(logits).mean(axis=0)).to(bias)


def _set_entities(reader: Any, texts: Sequence[str], wanted: float) -> None:
    """Let a random tagger find as many entities in a text as reports have: by its bias."""
    import torch

    bias, low, high = reader.tagger.model.classifier.bias, 0.0, 60.0
    for _ in range(10):
        middle = (low + high) / 2
        with torch.no_grad():
            bias[0] = middle
        found = sum(len(report.entities) for report in reader._read(texts)) / len(texts)
        low, high = (middle, high) if found > wanted else (low, middle)


def _builtin(
    given: argparse.Namespace, pairs: list[Pair], tell: Callable[[str, str], None]
) -> None:
    metrics = _metrics(given.device)
    for metric in metrics:
        metric.score(_pairs([text.upper() for p in pairs[:WARM_UP] for text in _both(p)]))
    scored: dict[str, list[Any]] = {}
    for what, every in (("short", _short(pairs)), ("expert-sized", pairs)):
        some = every[: given.pairs]
        for metric in metrics:
            work = partial(_keep, scored, metric, some)
            seconds = _seconds(given, work)
            tell(f"builtin {metric.name}, {len(some)} {what} pairs, s", f"{seconds:.2f}")
    if not given.seconds_only:
        for metric in _metrics("cpu"):
            compared = pairs[: min(COMPARED, given.pairs)]
            tell(f"{metric.name} against the CPU", _likeness(scored[metric.name], metric, compared))


def _keep(scored: dict[str, list[Any]], metric: Metric, pairs: Sequence[Pair]) -> None:
    scored[metric.name] = metric.score(pairs)


def _both(pair: Pair) -> tuple[str, str]:
    return pair.reference, pair.candidate


def _metrics(device: str) -> list[Metric]:
    """Concordance and HARE with builtin models that they share; concordance reads first."""
    from histoeval.run.models import Models, load_metrics

    return load_metrics("concordance,hare", Models(device=device))


def _likeness(scores: list[Any], metric: Metric, pairs: Sequence[Pair]) -> str:
    expected = metric.score(pairs)
    apart = [
        abs(one.value - two.value)
        for one, two in zip(scores, expected, strict=False)
        if isinstance(one, Score) and isinstance(two, Score)
    ]
    same = sum(each < 1e-6 for each in apart)
    return (
        f"{len(apart)} pairs, {same} the same, mean difference {sum(apart) / len(apart):.4f}, "
        f"largest {max(apart):.4f}"
    )


def _seconds(given: argparse.Namespace, work: Callable[[], object]) -> float:
    import torch

    start = time.perf_counter()
    work()
    if given.device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _busy(given: argparse.Namespace, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds in which a kernel ran, and seconds in all."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        whole = _seconds(given, work)
    spans = sorted(
        (event.time_range.start, event.time_range.end)
        for event in profiled.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    )
    busy, reached = 0.0, 0.0
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy / 1e6, whole


if __name__ == "__main__":
    import sys

    measure(sys.argv[1:])

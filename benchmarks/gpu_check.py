"""On a machine with CUDA: do answers in bfloat16 depend on neighbours or order?

`python -m benchmarks.gpu_check` prints, for a random GatorTronS-shaped model with 6 layers, in how
many of 200 reports the entities, relations or their confidences change when the reports are
shuffled and batched by 1, 7 and 64; and reports per second.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from benchmarks.random_models import Shape, make_models
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.report import Report
from histoeval.runtime.transformer import Runtime

WORDS = (
    "invasive ductal lobular carcinoma grade well poorly differentiated margins negative positive "
    "lymph node left right breast colon kidney invasion necrosis ER PR HER2 Ki-67 with of the in"
).split()


def check(folder: Path) -> None:
    choose = random.Random(0)
    texts = [" ".join(choose.choices(WORDS, k=choose.randint(5, 300))) for _ in range(200)]
    shape = Shape(hidden=1024, layers=6, heads=16, outside=3.0)
    models = make_models(folder, texts, shape)
    runtime = Runtime(device="cuda")
    whole = HuggingFaceReader(models.entities, models.relations, runtime=runtime)
    print(whole.identity)
    start = time.perf_counter()
    expected = dict(zip(texts, whole._read(texts), strict=True))
    print(f"{len(texts) / (time.perf_counter() - start):.1f} reports per second")
    entities = sum(len(report.entities) for report in expected.values())
    relations = sum(len(report.relations) for report in expected.values())
    print(f"{entities} entities, {relations} relations")
    for size in (1, 7, 64):
        choose.shuffle(texts)
        found: dict[str, Report] = {}
        for first in range(0, len(texts), size):
            some = texts[first : first + size]
            found |= zip(some, whole._read(some), strict=True)
        changed = sum(found[text] != expected[text] for text in texts)
        print(f"{size} at a time: {changed} of {len(texts)} reports differ in any bit")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        check(Path(name))

"""The scores of the shipped probes as a digest, to compare processors and numbers of threads.

`python -m benchmarks digest --output here.json` on one machine, `python -m benchmarks digest
--against here.json` on another, or with `--device cuda`: the table shows how far the scores of each
metric are apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
from collections.abc import Sequence
from pathlib import Path

from histoeval.evaluate.probes import pairs_of, read_probes
from histoeval.metric import Score
from histoeval.run.models import Models, load_metrics

METRICS = "concordance,hare,hare:of=conclusion,hare:mode=paper"
COLUMNS = ["metric", "pairs", "mean", "digest", "differ by more than 1e-4", "most"]
DECIMALS = 4


def measure(options: Sequence[str]) -> list[list[str]]:
    asked = argparse.ArgumentParser(prog="python -m benchmarks digest")
    asked.add_argument("--metrics", default=METRICS)
    asked.add_argument("--probes", type=int, default=20, help="how many references")
    asked.add_argument("--device", help="of the models, as in cuda")
    asked.add_argument("--output", type=Path, help="write the scores here")
    asked.add_argument("--against", type=Path, help="compare with the scores of such a file")
    given = asked.parse_args(options)
    pairs = pairs_of(read_probes()[: given.probes])
    scores = {
        metric.name: [a.value if isinstance(a, Score) else None for a in metric.score(pairs)]
        for metric in load_metrics(given.metrics, Models(device=given.device))
    }
    if given.output:
        content = {"processor": platform.machine(), "scores": scores}
        given.output.write_text(json.dumps(content), "utf-8")
    others = json.loads(given.against.read_text("utf-8"))["scores"] if given.against else {}
    return [_row(name, values, others.get(name)) for name, values in scores.items()]


def _row(
    name: str, values: Sequence[float | None], others: Sequence[float | None] | None
) -> list[str]:
    known = [value for value in values if value is not None]
    rounded = [None if value is None else round(value, DECIMALS) for value in values]
    digest = hashlib.sha256(json.dumps(rounded).encode()).hexdigest()[:12]
    row = [name, str(len(values)), f"{sum(known) / len(known):.6f}", digest]
    if others is None:
        return [*row, "", ""]
    gaps = [
        abs(one - other)
        for one, other in zip(values, others, strict=True)
        if one is not None and other is not None
    ]
    return [*row, str(sum(gap > 1e-4 for gap in gaps)), f"{max(gaps):.1e}"]

"""Are the files of a run the same bytes on every engine?

`python -m benchmarks same-bytes [--pairs 12]` scores short pairs, a broken row and a double id with
every metric that is ready here, on each engine with 1, 2 and 4 workers and three sizes of blocks,
and prints the hash of scores.jsonl and summary.json. Ray is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path

from benchmarks.reward_speed import short_pairs

COLUMNS = ["engine", "workers", "rows a block", "files", "as inline"]
WORKERS, BLOCKS = (1, 2, 4), (1, 5, 64)


def measure(options: Sequence[str]) -> Iterator[list[str]]:
    """A row for each run."""
    import histoeval

    asked = argparse.ArgumentParser(prog="python -m benchmarks same-bytes")
    asked.add_argument("--pairs", type=int, default=12)
    given = asked.parse_args(options)
    metrics = [metric.name for metric in histoeval.list_metrics(runnable=True)]
    with tempfile.TemporaryDirectory() as name:
        table = _table(Path(name) / "pairs.jsonl", given.pairs)
        expected = ""
        for engine, workers, rows in _settings():
            output = Path(name) / f"{engine}-{workers}-{rows}"
            histoeval.score(
                table,
                metrics=metrics,
                output=output,
                engine=engine,
                workers=workers,
                batch_size=rows,
            )
            digest = _digest(output)
            expected = expected or digest
            shown = [str(each or "") for each in (workers, rows)]
            yield [engine, *shown, digest, "yes" if digest == expected else "NO"]


def _settings() -> Iterator[tuple[str, int | None, int | None]]:
    yield "inline", None, None
    engines = ["local", *(["ray"] if find_spec("ray") else [])]
    yield from product(engines, WORKERS, BLOCKS)


def _table(path: Path, count: int) -> Path:
    rows = [
        {"id": pair.id, "reference": pair.reference, "candidate": pair.candidate}
        for pair in islice(short_pairs(), count)
    ]
    rows += [rows[0], {"id": "empty", "reference": "Colon: adenoma.", "candidate": ""}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def _digest(folder: Path) -> str:
    content = b"".join((folder / name).read_bytes() for name in ("scores.jsonl", "summary.json"))
    return hashlib.sha256(content).hexdigest()[:12]

"""Peak memory and speed of `histoeval score` with lexical metrics on a long file."""

from __future__ import annotations

import csv
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METRICS = "bleu,rouge_1,rouge_2,rouge_l,meteor:matchers=exact+stem,chrf"
WORDS = (
    "invasive ductal lobular carcinoma adenocarcinoma grade well moderately poorly "
    "differentiated margins negative positive lymph node metastasis left right breast colon "
    "kidney prostate lymphovascular invasion identified not seen necrosis measuring cm ER PR "
    "HER2 Ki-67 with of the in and tumor benign hyperplasia chronic inflammation biopsy "
    "excision stage pT2 N0"
).split()


def write_pairs(path: Path, rows: int, words: int = 40) -> None:
    choose = random.Random(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reference", "candidate"])
        for number in range(rows):
            reference = [choose.choice(WORDS) for _ in range(words)]
            candidate = [w if choose.random() < 0.7 else choose.choice(WORDS) for w in reference]
            writer.writerow([number, " ".join(reference), " ".join(candidate)])


def measure(rows: int = 200_000) -> list[tuple[str, str, str, str]]:
    """Rows, peak memory in MB, seconds, pairs per second."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        write_pairs(path, rows)
        command = [sys.executable, "-m", "histoeval.cli.main", "score", str(path)]
        start = time.perf_counter()
        subprocess.run(
            [*command, "--metrics", METRICS, "--output", folder + "/out"],
            check=True,
            capture_output=True,
        )
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    megabytes = peak / (1e6 if sys.platform == "darwin" else 1e3)
    return [(f"{rows:,}", f"{megabytes:.0f}", f"{seconds:.0f}", f"{rows / seconds:.0f}")]

"""Expert sheets of our own writing, for tests of the verbs that study them."""

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WORDS = (
    "carcinoma adenoma benign malignant invasive ductal lobular grade left right breast colon "
    "margin clear negative positive"
).split()
COLUMNS = ("id", "system", "case", "organ", "reference", "candidate", "anna", "ben")


def rows(count: int = 24) -> list[dict[str, Any]]:
    """Candidates that share some words with their reference, and raters who saw how many."""
    source = random.Random(4)
    found = []
    for number in range(count):
        reference = source.sample(WORDS, 8)
        shared = source.randint(0, 8)
        candidate = reference[:shared] + source.sample(WORDS, 8 - shared)
        score = min(5, shared * 5 // 8 + source.randint(0, 1))
        values = (
            f"r{number}",
            "AB"[number % 2],
            f"c{number // 4}",
            ("lung", "skin")[number % 2],
            " ".join(reference),
            " ".join(candidate),
            score,
            "" if number % 7 == 0 else max(0, score - 1),
        )
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def write(
    path: Path, table: Sequence[Mapping[str, Any]], columns: tuple[str, ...] | None = None
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        names = columns or tuple(table[0] if table else COLUMNS)
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(table)
    return path


def write_wide(path: Path, table: list[dict[str, Any]]) -> Path:
    """The same in HARE's layout: two candidates for each reference, and tabs."""
    lines = ["ground_truth\t0\t1\tScoring 0\tScoring 1"]
    for one, two in zip(table[::2], table[1::2], strict=True):
        cells = (one["reference"], one["candidate"], two["candidate"], one["anna"], two["anna"])
        lines.append("\t".join(map(str, cells)))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path

"""`python -m benchmarks [startup] [memory] [hare]`: measure, and print tables in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n### {title}\n")
    for line in (columns, ["---"] * len(columns), *rows):
        print("| " + " | ".join(line) + " |")


def main(wanted: Sequence[str]) -> None:
    if "startup" in wanted:
        from benchmarks import startup

        table("Start-up", ["what", "ms"], startup.measure())
    if "memory" in wanted:
        from benchmarks import memory

        table("Lexical metrics", ["rows", "peak MB", "s", "pairs/s"], memory.measure())
    if "hare" in wanted:
        from benchmarks import hare_speed

        columns = ["step", "relation passes", "s", "times faster"]
        table("HARE, paper mode against the published loop", columns, hare_speed.measure())


main(sys.argv[1:] or ["startup", "memory", "hare"])

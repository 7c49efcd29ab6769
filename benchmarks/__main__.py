"""`python -m benchmarks [NAME ...] [OPTIONS]`: measures, and prints tables in Markdown.

Names are startup, memory, hare, reader, concordance, agreement, judge and reader-memory, to which
the options belong; without a name all of them are measured.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import takewhile

NAMES = "startup memory hare reader concordance agreement reader-memory".split()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n### {title}\n")
    for line in (columns, ["---"] * len(columns), *rows):
        print("| " + " | ".join(line) + " |")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    named = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    options = arguments[len(named) :]
    wanted = named or [
        "startup",
        "memory",
        "hare",
        "reader",
        "concordance",
        "judge",
        "agreement",
        "reader-memory",
    ]
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
    if "reader" in wanted:
        from benchmarks import reader_speed

        columns = ["texts", "tokens", "entities", "s", "reports/s", "tokens/s"]
        table("The builtin reader", ["what", *columns], reader_speed.measure())
        columns = ["scheme", "passes", "s", "reports/s", "times faster"]
        table("The builtin reader against two models", columns, reader_speed.compare())
    if "concordance" in wanted:
        from benchmarks import concordance_speed

        columns = ["what", "reading, s", "hare, s", "concordance, s", "all, s"]
        table("Concordance and HARE", columns, concordance_speed.measure())
    if "judge" in wanted:
        from benchmarks import judge_speed

        columns = ["pairs", "server's limit/s", "judged/s", "share", "peak MB"]
        table("The judge", columns, judge_speed.measure())
        from benchmarks import judge_carriers

        columns = ["carrier", "processor ms a request"]
        table("What carries a request", columns, judge_carriers.measure())
    if "agreement" in wanted:
        from benchmarks import agreement_speed

        columns = ["what", "cases", "s", "processor s", "peak MB"]
        title = "Agreement: 10 metrics, 600 pairs, 10,000 resamples"
        table(title, columns, agreement_speed.measure())
    if "reader-memory" in wanted:
        from benchmarks import reader_memory

        columns = ["reports", "peak MB", "s", "reports/s"]
        table("Extracting a long file", columns, reader_memory.measure(options))


main(sys.argv[1:])

"""Clinical values at their limits: the tables of `tests/data/boundaries`, and the answers of today.

`python -m tests.support.boundaries` lists the rows whose answer differs from the table; with
`--write` it puts the answers of today in (severity, closeness, logic; `git diff` shows which).
"""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path

from histoeval.align.lexical import LexicalAligner
from histoeval.concordance.compare import OF_FACTS
from histoeval.concordance.evidence import Severity
from histoeval.errors import Problem
from histoeval.metrics.concordance import Concordance
from histoeval.pathgls.logic.score import logic_of
from histoeval.report import Pair
from tests.support.logic_reports import FixedEntailer, read
from tests.support.paths import DATA
from tests.support.shipped_models import shipped_reader

FOLDER = DATA / "boundaries"
NO_ERROR = "none"
CONTRADICTION, CONSISTENT, MISSED = "contradiction", "consistent", "missed"
_XFAIL = "xfail: "


@dataclass(frozen=True)
class Row:
    """Two values of one axis: how severe it is to report b for a, and whether both can be true."""

    axis: str
    a: str
    b: str
    severity: str
    closeness: str
    logic: str
    note: str

    @property
    def id(self) -> str:
        """What the row is called in the output of tests."""
        return f"{self.axis}: {self.a} -> {self.b}"

    @property
    def answer(self) -> tuple[str, float, str]:
        """What is to be found: severity, closeness, logic."""
        return self.severity, float(self.closeness), self.logic

    @property
    def known_wrong(self) -> str:
        """Why the product does not answer as the table says; empty where it does."""
        return self.note.removeprefix(_XFAIL) if self.note.startswith(_XFAIL) else ""


def tables() -> list[Path]:
    """The files of the tables."""
    return sorted(FOLDER.glob("*.tsv"))


def rows_of(table: Path) -> list[Row]:
    """The rows of a file, whose first lines are comments."""
    with table.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [Row(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


@cache
def _metric() -> Concordance:
    return Concordance(
        name="concordance", reader=shipped_reader(), aligner=LexicalAligner(), verify=False
    )


def answer_now(row: Row) -> tuple[str, float, str]:
    """What the product says of the two values, by its rules and without an NLI model."""
    (score,) = _metric().score([Pair(id=row.id, reference=row.a, candidate=row.b)])
    if isinstance(score, Problem):
        raise AssertionError(f"{row.id}: {score.message}")
    worst = max((error["severity"] for error in score.evidence["errors"]), default=0)
    severity = Severity(worst).name.lower() if worst else NO_ERROR
    closeness = min(value for part, value in score.parts.items() if part in OF_FACTS)
    return severity, round(closeness, 2), _logic(row)


def _logic(row: Row) -> str:
    """Whether the rules find a contradiction in one report that states both values.

    A contradiction that they do not find is `missed`: whether it is one only the table can say.
    """
    found = logic_of(read(f"{row.a} {row.b}"), FixedEntailer(0.0))
    if not isinstance(found, Problem) and found.contradictions:
        return CONTRADICTION
    return CONSISTENT if row.logic == CONSISTENT else MISSED


def _written(table: Path, rows: list[Row]) -> None:
    header = [
        line for line in table.read_text("utf-8").splitlines(keepends=True) if line.startswith("#")
    ]
    names = [field.name for field in fields(Row)]
    lines = ["\t".join(names), *("\t".join(asdict(row).values()) for row in rows)]
    table.write_text("".join(header) + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Compare every table with the answers of today."""
    for table in tables():
        rows = rows_of(table)
        now = []
        for row in rows:
            severity, closeness, logic = answer_now(row)
            now.append(
                replace(row, severity=severity, closeness=f"{closeness:g}", logic=logic)
                if not row.known_wrong
                else row
            )
            if (severity, closeness, logic) != row.answer and not row.known_wrong:
                sys.stdout.write(
                    f"{table.name}\t{row.id}\n  table {row.answer}\n  now   {now[-1].answer}\n"
                )
        if "--write" in sys.argv[1:]:
            _written(table, now)


if __name__ == "__main__":
    main()

"""Clinical values at their limits: the tables of `tests/data/boundaries`, and the answers of today.

`python -m tests.support.boundaries` lists the rows whose answer differs from the table; with
`--write` it puts the answers of today in (severity, closeness, logic; `git diff` shows which), and
keeps what else is said of each row in `answers.jsonl.gz`, which nobody has read.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from histoeval.align.lexical import LexicalAligner
from histoeval.concordance.compare import OF_FACTS
from histoeval.concordance.evidence import Severity
from histoeval.errors import Problem
from histoeval.metric import Score
from histoeval.metrics.concordance import Concordance
from histoeval.nli.features.extract import extract_features
from histoeval.pathgls.logic.score import logic_of
from histoeval.report import Pair
from histoeval.terms.values import implied_grades
from histoeval.terms.values.amounts import read_amounts
from histoeval.terms.values.counts import counts
from histoeval.terms.values.grade_phrases import find_grades
from histoeval.terms.values.grades import read_grade
from histoeval.terms.values.laterality import named_sides
from histoeval.terms.values.margins import read_margins
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.markers import named_markers
from histoeval.terms.values.measurements import read_measurement
from histoeval.terms.values.nodes import read_nodes
from histoeval.terms.values.quantities import quantities
from histoeval.terms.values.schemes import read_schemes
from histoeval.terms.values.stages import read_stage
from histoeval.terms.values.stated_stages import read_stages
from tests.support.logic_reports import FixedEntailer, read
from tests.support.paths import DATA
from tests.support.shipped_models import shipped_reader

FOLDER = DATA / "boundaries"
KEPT = FOLDER / "answers.jsonl.gz"
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


@cache
def _score(row: Row) -> Score:
    (score,) = _metric().score([Pair(id=row.id, reference=row.a, candidate=row.b)])
    if isinstance(score, Problem):
        raise AssertionError(f"{row.id}: {score.message}")
    return score


READERS: Mapping[str, Callable[[str], Any]] = {
    "amounts": read_amounts,
    "counts": counts,
    "grade": read_grade,
    "grades": find_grades,
    "grades implied": lambda text: implied_grades.graded(text.lower()),
    "margins": read_margins,
    "marker result": read_result,
    "marker statements": read_marker_statements,
    "markers": named_markers,
    "measurement": read_measurement,
    "nodes": read_nodes,
    "quantities": quantities,
    "schemes": read_schemes,
    "sides": named_sides,
    "stage": read_stage,
    "stages": read_stages,
}


def all_of(row: Row) -> dict[str, Any]:
    """All that is said of a row: its errors and matches, and what each reader finds in b."""
    score = _score(row)
    read = {name: _plain(reader(row.b)) for name, reader in READERS.items()}
    features = extract_features(row.a, row.b) or {}
    return {
        "parts": {part: round(score.parts[part], 2) for part in OF_FACTS if part in score.parts},
        "errors": [
            [each["kind"], each["severity"], *_places(each)] for each in score.evidence["errors"]
        ],
        "matches": [_places(each) for each in score.evidence["matches"]],
        "values": {
            name: value for name, value in read.items() if value not in ("()", "None", "[]")
        },
        "features": {name: round(value, 3) for name, value in features.items() if value},
    }


def _places(told: Mapping[str, Any]) -> list[str]:
    entities = (told["reference"], told["candidate"])
    return [
        told["part"],
        *(f"{each['start']} {each['text']}" if each else "" for each in entities),
    ]


def _plain(value: Any) -> str:
    """A value in words that are the same in every process: sets have no order."""
    if isinstance(value, frozenset | set):
        return str(sorted(map(str, value)))
    if isinstance(value, tuple | list | Iterator) and not hasattr(value, "_fields"):
        return "\n".join(map(_plain, value)) or "()"
    if hasattr(value, "_fields"):
        return " ".join(map(_plain, value))
    if hasattr(value, "__dataclass_fields__"):
        return " ".join(_plain(getattr(value, name)) for name in value.__dataclass_fields__)
    return str(value)


@cache
def kept_answers() -> dict[str, dict[str, Any]]:
    """All that was said of each row when it was last accepted."""
    with gzip.open(KEPT, "rt", encoding="utf-8") as lines:
        return {row.pop("id"): row for row in map(json.loads, lines)}


def answer_now(row: Row) -> tuple[str, float, str]:
    """What the product says of the two values, by its rules and without an NLI model."""
    score = _score(row)
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
    if "--write" in sys.argv[1:]:
        said = ({"id": row.id, **all_of(row)} for table in tables() for row in rows_of(table))
        lines = "".join(json.dumps(each, sort_keys=True) + "\n" for each in said)
        KEPT.write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main()

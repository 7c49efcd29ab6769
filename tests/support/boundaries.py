"""Clinical values at their limits: the tables of `tests/data/boundaries`, and the answers of today.

`python -m tests.support.boundaries` lists the rows whose answer differs from the table; with
`--write` it puts the answers of today in (severity, closeness, logic; `git diff` shows which), and
keeps what else is said of each row in `answers.jsonl.gz`, which nobody has read.
"""

import csv
import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.compare import OF_FACTS, PARTS
from histoeval.concordance.evidence import Severity
from histoeval.errors import Problem
from histoeval.evaluate.probes import shipped
from histoeval.facts.normalise import normalised
from histoeval.metrics.concordance import Concordance
from histoeval.nli.features.extract import extract_features
from histoeval.pathgls.logic.score import logic_of
from histoeval.report import Pair, Report
from tests.golden import readers, sources
from tests.golden.golden import is_empty
from tests.support.logic_reports import FixedEntailer, cases, read
from tests.support.paths import DATA
from tests.support.shipped_models import shipped_reader

FOLDER = DATA / "boundaries"
KEPT = FOLDER / "answers.jsonl.gz"
NO_ERROR = "none"
CONTRADICTION, CONSISTENT, MISSED = "contradiction", "consistent", "missed"
_XFAIL = "xfail: "
PROBES_ONE_OF = 48
_SLOW = {"facts", "findings, decisive", "logic"}
"""Readers that are asked by comparing."""


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
        return f"{self.axis}: {self.a} -> {self.b}"

    @property
    def answer(self) -> tuple[str, float, str]:
        return self.severity, float(self.closeness), self.logic

    @property
    def known_wrong(self) -> str:
        """Why the product does not answer as the table says; empty where it does."""
        return self.note.removeprefix(_XFAIL) if self.note.startswith(_XFAIL) else ""


def tables() -> list[Path]:
    return sorted(FOLDER.glob("*.tsv"))


def rows_of(table: Path) -> list[Row]:
    with table.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [Row(**row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


@cache
def _metric() -> Concordance:
    return Concordance(
        name="concordance", reader=shipped_reader(), aligner=LexicalAligner(), verify=False
    )


def read_ahead(threads: int) -> None:
    """Has the model read all rows, and the kept answers read: both are remembered."""
    kept_answers()
    rows = [row for table in tables() for row in rows_of(table)]
    texts = [text for row in rows for text in (row.a, row.b, f"{row.a} {row.b}")]
    reader = shipped_reader()
    reader.threads, before = threads, reader.threads
    reader.read(sorted({normalised(text).text for text in texts} | {*texts}))
    reader.threads = before


class _ByNames:
    """A reader without a model: what catalogues name, and a few patterns."""

    identity = "by names"
    reads_relations = True

    def read(self, texts: Sequence[str]) -> list[Report]:
        return [readers.cheap(text) for text in texts]


@cache
def _by_names() -> Concordance:
    return replace(_metric(), reader=_ByNames())


def others() -> list[Row]:
    """Other pairs, of which nobody has said how far apart they are."""
    probes = [
        (f"probe {edit['kind']}", row["reference"], edit["text"])
        for _, row in sources.rows_of(shipped())
        for edit in row["edits"]
    ]
    errors = [(f"report {case.kind}", case.true, case.wrong) for case in cases()]
    opposites = [
        (f"opposite {row['axis']}", row["phrase"], row["opposite"])
        for at, row in sources.rows_of(DATA / "opposites.jsonl")
        if at % 2
    ]
    stated = [row for _, row in sources.rows_of(DATA / "each_against_each.tsv")]
    diagnoses = [
        (f"{one['group']} {at}", one["statement"], other["statement"])
        for at, one in enumerate(stated)
        for other in stated[at : at + 7]
        if one["group"] == other["group"]
    ]
    pairs = [*probes[::PROBES_ONE_OF], *errors, *opposites, *diagnoses]
    return [Row(axis, a, b, "", "", "", "") for axis, a, b in pairs]


def all_of(row: Row) -> dict[str, Any]:
    is_edit = not row.severity
    metric = _by_names() if is_edit else _metric()
    ways = {"b for a": (row.a, row.b), "a for b": (row.b, row.a)}
    said: dict[str, Any] = {way: _explained(metric, *texts) for way, texts in ways.items()}
    for way, texts in ways.items():
        features = extract_features(*texts) or {}
        said[f"{way}, relations"] = {name: value for name, value in features.items() if value}
    if is_edit and row.a != row.b:
        return _filled(said)
    said["logic"] = {} if is_edit else {"contradictions": _contradictions(row)}
    for way, (_, text) in ways.items():
        said[f"read in {way[0]}"] = {
            name: reader(text) for name, reader in readers.READERS.items() if name not in _SLOW
        }
    return _filled(said)


def _filled(said: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found = {
        topic: {name: readers.as_json(value) for name, value in values.items()}
        for topic, values in said.items()
    }
    return {
        topic: {name: value for name, value in values.items() if not is_empty(value)}
        for topic, values in found.items()
    }


@cache
def _explained(metric: Concordance, reference: str, candidate: str) -> dict[str, Any]:
    told = metric.explain(Pair(id="", reference=reference, candidate=candidate))
    if isinstance(told, Problem):
        return {"problem": told.code}
    return {
        "parts": {part: told.parts[part] for part in PARTS if part in told.parts},
        "errors": [
            [each["kind"], each["severity"], *_places(each), each["without"]]
            for each in told.evidence["errors"]
        ],
        "matches": [[*_places(each), each["similarity"]] for each in told.evidence["matches"]],
    }


def _places(told: Mapping[str, Any]) -> list[str]:
    entities = (told["reference"], told["candidate"])
    return [
        told["part"],
        *(f"{each['start']} {each['text']}" if each else "" for each in entities),
    ]


@cache
def _contradictions(row: Row) -> list[list[str]]:
    found = logic_of(read(f"{row.a} {row.b}"), FixedEntailer(0.0))
    if isinstance(found, Problem):
        return []
    return [[each.source, each.first.text, each.second.text] for each in found.contradictions]


@cache
def kept_answers() -> dict[str, dict[str, Any]]:
    with gzip.open(KEPT, "rt", encoding="utf-8") as lines:
        return {row.pop("id"): row for row in map(json.loads, lines)}


def answer_now(row: Row) -> tuple[str, float, str]:
    """What the product says of the two values, by its rules and without an NLI model."""
    told = _explained(_metric(), row.a, row.b)
    worst = max((severity for _, severity, *_ in told["errors"]), default=0)
    severity = Severity(worst).name.lower() if worst else NO_ERROR
    closeness = min(value for part, value in told["parts"].items() if part in OF_FACTS)
    return severity, round(closeness, 2), _logic(row)


def _logic(row: Row) -> str:
    """Whether the rules find a contradiction in one report that states both values.

    A contradiction that they do not find is `missed`: whether it is one only the table can say.
    """
    if _contradictions(row):
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
        rows = [row for table in tables() for row in rows_of(table)]
        said = ({"id": row.id, **all_of(row)} for row in (*rows, *others()))
        lines = "".join(json.dumps(each, sort_keys=True) + "\n" for each in said)
        KEPT.write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main()

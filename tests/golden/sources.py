"""The texts and pairs that goldens are made of; those of `../shared` are never committed."""

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.evaluate.probes import shipped
from tests.support.paths import DATA, EXAMPLES, ROOT, SHARED

OURS = (
    *sorted(DATA.glob("*.jsonl")),
    *sorted(DATA.glob("**/*.tsv")),
    ROOT / "src/histoeval/examples/pairs.csv",
    shipped(),
    *ROOT.glob("**/nli/data/llm_edits.jsonl.gz"),
)
PATTERNS = (
    "probes/*.jsonl expert/*.jsonl expert/hare_expert_dev.tsv reg_systems/*.json "
    "corpora/reg2025_reports.jsonl.gz corpora/tcga_reports.jsonl.gz"
)
THEIRS = tuple(
    path for pattern in PATTERNS.split() for path in sorted((SHARED / "data").glob(pattern))
)
ONE_OF = {
    "languages.jsonl": 4,
    "llm_edits.jsonl.gz": 6,
    "logic_blind.jsonl": 2,
    "logic_blind_second.jsonl": 3,
    "probes.jsonl.gz": 3,
    "probes_blind.jsonl": 2,
    "tcga_reports.jsonl.gz": 40,
}
"""Of files whose texts are many or much alike, one text of so many is read."""
SCORED_ONE_OF = {
    "pairs.csv": 1,
    "probes.jsonl.gz": 2,
    "probes_blind.jsonl": 1,
    "grades.tsv": 6,
    "margins.tsv": 6,
    "markers.tsv": 6,
    "nodes.tsv": 6,
    "stages.tsv": 6,
    "adversarial_dev.jsonl": 12,
    "judged_dev.jsonl": 7,
    "judged_reg_systems_dev.jsonl": 2,
}
"""Whose references and candidates are scored, one row of so many."""
FIELDS = frozenset(
    "text report reference candidate candidate_good candidate_bad premise hypothesis phrase "
    "synonym opposite opposite_synonym a b ground_truth 0 1 2 3".split()
)
CANDIDATES = ("candidate", "candidate_good", "candidate_bad", "b", "text")
MOST_CHARS = 2_000
"""Of a text; what stands behind is not read."""


class Case(NamedTuple):
    """A text, two that are compared, or a command."""

    id: str
    texts: tuple[str, ...]
    shown: bool = True
    """Whether the golden may have what is read in it, and not only a digest."""
    counted: bool = False
    """Whether only the number of those that moved is told: blind sets are not looked at."""

    @property
    def key(self) -> str:
        """What it is found by, wherever its file stands."""
        return digest(self.texts)


def digest(value: Any, digits: int = 16) -> str:
    """Of any JSON value."""
    content = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def rows_of(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a table or of a file of JSON, with their numbers."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    if ".jsonl" in path.name:
        return enumerate(map(json.loads, filter(str.strip, text.split("\n"))), 1)
    if path.suffix == ".json":
        return enumerate(json.loads(text), 1)
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    named = ["organ", "phrase", "diagnosis"] if path.stem == "diagnosis_phrases" else None
    mark = "\t" if path.suffix == ".tsv" else ","
    return enumerate(csv.DictReader(lines, named, delimiter=mark), 1)


def case(path: Path, number: int, *texts: str) -> Case:
    """A case of a file."""
    blind = "blind" in path.name or path.name.startswith("pathology_nli")
    cut = tuple(text[:MOST_CHARS] for text in texts)
    return Case(f"{path.name}:{number}", cut, path in OURS and not blind, blind)


def once(cases: Iterator[Case]) -> list[Case]:
    """Each case at its first place."""
    found: dict[str, Case] = {}
    for each in cases:
        found.setdefault(each.key, each)
    return list(found.values())


def texts() -> list[Case]:
    """What every reader reads."""
    return once(
        each
        for path in (*OURS, *THEIRS)
        for number, row in rows_of(path)
        for each in (case(path, number, text) for text in strings(row))
        if int(each.key[:8], 16) % ONE_OF.get(path.name, 1) == 0
    )


def strings(row: Any) -> Iterator[str]:
    """The texts of a row, also of what it holds."""
    if isinstance(row, list):
        for each in row:
            yield from strings(each)
    elif isinstance(row, dict):
        for name, value in row.items():
            if isinstance(value, str) and name in FIELDS and value.strip():
                yield value
            yield from strings(value)


def pairs() -> list[Case]:
    """What an NLI model is asked about."""
    return once(
        case(path, number, row["premise"], row["hypothesis"])
        for path in OURS
        if "nli" in path.stem
        for number, row in rows_of(path)
    )


def scored() -> list[Case]:
    """References with candidates."""
    return once(_scored())


def _scored() -> Iterator[Case]:
    reference = ""
    for path in (*OURS, *THEIRS):
        for number, row in rows_of(path) if path.name in SCORED_ONE_OF else ():
            own = row["text"] if row.get("edit") == "reference" else row.get("a")
            reference = row.get("reference") or own or reference
            edits = row.get("edits") or [row]
            if number % SCORED_ONE_OF[path.name] == 0 and row.get("edit") != "reference":
                edit = edits[number % len(edits)]
                for name in filter(edit.get, CANDIDATES):
                    yield case(path, number, reference, edit[name])


def logic_reports(most: int = 200) -> list[Case]:
    """Reports of `logic_*.jsonl`, of all files alike."""
    files = [path for path in OURS if path.name.startswith("logic_")]
    found = once(case(path, n, row["report"]) for path in files for n, row in rows_of(path))
    return sorted(found, key=lambda each: each.key)[:most]


def passages() -> list[Case]:
    """What the reader is measured on."""
    path = DATA / "reader_blind.jsonl"
    return [case(path, number, row["text"]) for number, row in rows_of(path)]


def examples() -> list[Case]:
    """The bundled reports with images."""
    rows = rows_of(EXAMPLES / "trust" / "reports.csv")
    return [Case(row["id"], (row["id"], row["report"])) for _, row in rows]


def commands() -> list[Case]:
    """The lines of `commands.txt`."""
    lines = Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines()
    return [Case(line, (line,)) for line in lines if not line.startswith("#")]

"""Meaning on texts of strangers: edited reports, real outputs, reports that contradict themselves.

`python -m benchmarks meaning [--sets w01,b02] [--metrics concordance,rouge_l] [--output FILE]`.
Sets of this repository are described in research/src/histoeval_research/written; those of
`--shared` (adversarial pairs, outputs of real generators read blind, contradicted reports) are left
out where that folder is absent. `--output` keeps every score and verdict as JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from histoeval.metric import Score
from histoeval.pathgls.logic.score import logic_of
from histoeval.pathgls.results import Contradiction, Logic
from histoeval.report import Pair
from histoeval.run.models import Models, load_entailer, load_metrics, load_reader
from histoeval.table import ResultTable

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "research/src/histoeval_research/written"
PASSED = 0.70
"""A critical candidate above this would be taken for a good one."""
ALARM = 0.5
"""The value of logic below which trust takes a report to contradict itself."""


class Candidate(NamedTuple):
    """A text that is scored against its reference, and what is known of it."""

    set: str
    reference_id: str
    pair: Pair
    edit: str = ""
    severity: int | None = None
    expert: float | None = None


class Version(NamedTuple):
    """A report, true or contradicted, with the two places that contradict each other."""

    set: str
    kind: str
    text: str
    places: Sequence[tuple[int, int]] = ()


def measure(arguments: Sequence[str] = ()) -> Iterator[ResultTable]:
    """The tables, each when it is finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks meaning")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--sets", help="names of sets, separated by commas; by default all")
    parser.add_argument("--metrics", default="concordance,rouge_l")
    parser.add_argument("--output", type=Path, help="every score and verdict, as JSON")
    options = parser.parse_args(arguments)
    wanted = options.sets.split(",") if options.sets else None
    candidates = [c for c in _candidates(options.shared) if not wanted or c.set in wanted]
    versions = [v for v in _versions(options.shared) if not wanted or v.set in wanted]
    kept: dict[str, Any] = {}
    if candidates:
        scores = {
            metric.name: [
                answer.value if isinstance(answer, Score) else None
                for answer in metric.score([candidate.pair for candidate in candidates])
            ]
            for metric in load_metrics(options.metrics, Models())
        }
        kept["candidates"] = [
            candidate._asdict()
            | {"pair": candidate.pair.model_dump()}
            | {"scores": {name: values[place] for name, values in scores.items()}}
            for place, candidate in enumerate(candidates)
        ]
        yield _edits_table(candidates, scores)
        yield _experts_table(candidates, scores)
    if versions:
        reports = load_reader(Models()).read([version.text for version in versions])
        entailer = load_entailer(None)
        answers = [logic_of(report, entailer) for report in reports]
        kept["logic"] = [
            version._asdict() | {"value": answer.value if isinstance(answer, Logic) else None}
            for version, answer in zip(versions, answers, strict=True)
        ]
        yield _logic_table(versions, answers)
    if options.output:
        options.output.write_text(json.dumps(kept), "utf-8")


# --- sets ----------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _written() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(WRITTEN.glob("*.jsonl.gz")):
        for row in _rows(path):
            yield path.name.partition(".")[0], row


def _candidates(shared: Path) -> Iterator[Candidate]:
    for name, row in _written():
        for number, candidate in enumerate(row.get("candidates", ())):
            pair = Pair(
                id=f"{row['id']}/{number}",
                reference=row["reference"],
                candidate=candidate["text"],
            )
            facts = (candidate[key] for key in ("edit", "severity", "expert"))
            yield Candidate(name, row["id"], pair, *facts)
    adversarial = shared / "data/probes/adversarial_dev.jsonl"
    if adversarial.exists():
        rows = list(_rows(adversarial))
        references = {row["ref_id"]: row["text"] for row in rows if row["edit"] == "reference"}
        for number, row in enumerate(rows):
            if row["edit"] != "reference":
                pair = Pair(
                    id=str(number), reference=references[row["ref_id"]], candidate=row["text"]
                )
                yield Candidate("adversarial", row["ref_id"], pair, row["edit"], row["severity"])
    for file in ("judged_reg_systems_dev.jsonl", "judged_dev.jsonl"):
        path = shared / "data/expert" / file
        for row in _rows(path) if path.exists() else ():
            pair = Pair(id=str(row["id"]), reference=row["reference"], candidate=row["candidate"])
            name = "outputs" if "systems" in file else f"judged {row['set']}"
            severity = row.get("harm")
            yield Candidate(
                name, str(row["id"]), pair, severity=severity, expert=row["expert_scale"]
            )


def _versions(shared: Path) -> Iterator[Version]:
    for name, row in _written():
        if row["kind"] != "logic":
            continue
        report = row["report"]
        yield Version(name, "true", report)
        yield Version(name, "reworded", row["reworded"])
        for edit in row["contradictions"]:
            text = report.replace(edit["old"], edit["new"], 1)
            yield Version(name, edit["level"], text, _places(text, edit["new"], edit["other"]))
        for edit in row["harmless"]:
            yield Version(name, "harmless", report.replace(edit["old"], edit["new"], 1))
    path = shared / "data/probes/logic_dev.jsonl"
    kinds = {"true": "true", "r1": "reworded", "c1": "plain", "c2": "subtle"}
    for row in _rows(path) if path.exists() else ():
        places = _places(row["text"], *row["spans"])
        yield Version("logic", kinds[row["version"]], row["text"], places)


def _places(text: str, *stretches: str) -> list[tuple[int, int]]:
    starts = [(text.find(stretch), len(stretch)) for stretch in stretches]
    return [(start, start + length) for start, length in starts if start >= 0]


# --- tables --------------------------------------------------------------------------------------


def _edits_table(
    candidates: Sequence[Candidate], scores: dict[str, list[float | None]]
) -> ResultTable:
    """How edits of known effect are ordered, within each reference."""
    rows = []
    names = dict.fromkeys(candidate.set for candidate in candidates if candidate.edit)
    for metric, name in product(scores, names):
        groups = defaultdict(list)
        for candidate, value in zip(candidates, scores[metric], strict=True):
            if candidate.set == name and candidate.severity is not None and value is not None:
                groups[candidate.reference_id].append((candidate.edit, candidate.severity, value))
        edits = [edit for group in groups.values() for edit in group]
        apart = [(a, b) for group in groups.values() for a, b in product(group, group)]
        harmful = [a[2] > b[2] for a, b in apart if a[1] == 0 and b[1] > 1]
        ordered = [a[2] > b[2] for a, b in apart if 0 < a[1] < b[1]]
        critical = [value > PASSED for _, severity, value in edits if severity == 4]
        kinds = [
            _mean(value for edit, _, value in edits if edit == kind)
            for kind in ("h1", "h2", "h3", "d2", "d3", "d4", "d6")
        ]
        shares = [_mean(harmful), _mean(ordered), _mean(critical)]
        rows.append([f"{metric}, {name}", str(len(edits)), *shares, *kinds])
    columns = "harmless above harmful|order of severity|critical above 0.7|h1|h2|h3|d2|d3|d4|d6"
    return ResultTable("Edited reports", ["metric, set", "n", *columns.split("|")], rows)


def _experts_table(
    candidates: Sequence[Candidate], scores: dict[str, list[float | None]]
) -> ResultTable:
    """How scores follow those of a reader: in all pairs, and in those above half a point."""
    rows = []
    names = dict.fromkeys(c.set for c in candidates if c.expert is not None)
    for metric, name in product(scores, names):
        rated = [
            (value, candidate.expert, candidate.severity)
            for candidate, value in zip(candidates, scores[metric], strict=True)
            if candidate.set == name and candidate.expert is not None and value is not None
        ]
        above = [pair for pair in rated if pair[1] > ALARM]
        dangerous = [value > PASSED for value, _, severity in rated if severity == 4]
        rows.append(
            [
                f"{metric}, {name}",
                str(len(rated)),
                _spearman(rated),
                str(len(above)),
                _spearman(above),
                _mean(value == 0 for value, _, _ in rated),
                _mean(dangerous),
            ]
        )
    columns = ["n", "Spearman", "n above 0.5", "Spearman", "share at 0", "dangerous above 0.7"]
    return ResultTable("Scored candidates", ["metric, set", *columns], rows)


def _logic_table(versions: Sequence[Version], answers: Sequence[Any]) -> ResultTable:
    """How reports that contradict themselves are told from those that do not."""
    rows = []
    for name in dict.fromkeys(version.set for version in versions):
        values: dict[str, list[float]] = defaultdict(list)
        places = []
        for version, answer in zip(versions, answers, strict=True):
            if version.set == name and isinstance(answer, Logic):
                values[version.kind].append(answer.value)
                if version.places and answer.value < ALARM and answer.contradictions:
                    places.append(_names_both(answer.contradictions[0], version.places))
        true = values["true"] + values["reworded"] + values["harmless"]
        alarms = [
            _mean(value < ALARM for value in values[kind])
            for kind in ("true", "reworded", "harmless", "plain", "subtle")
        ]
        areas = [_auroc(values[kind], true) for kind in ("plain", "subtle")]
        rows.append([name, str(sum(map(len, values.values()))), *alarms, *areas, _mean(places)])
    columns = "true|reworded|harmless|plain|subtle|AUROC plain|AUROC subtle|both places right"
    return ResultTable("Reports below 0.5 by logic", ["set", "n", *columns.split("|")], rows)


def _names_both(found: Contradiction, places: Sequence[tuple[int, int]]) -> bool:
    """True if each of the two places meets another one of the two spans."""
    spans = [(span.start, span.end) for span in (found.first, found.second)]

    def meet(span: tuple[int, int], place: tuple[int, int]) -> bool:
        return span[0] < place[1] and place[0] < span[1]

    return any(
        all(meet(span, place) for span, place in zip(order, places, strict=False))
        for order in (spans, spans[::-1])
    )


def _auroc(contradicted: Sequence[float], true: Sequence[float]) -> str:
    below = [(one < other) + (one == other) / 2 for one, other in product(contradicted, true)]
    return _mean(below)


def _spearman(rated: Sequence[tuple[Any, ...]]) -> str:
    values = np.array([row[:2] for row in rated], np.float64)
    if len(values) < 3 or not all(np.ptp(values, axis=0)):
        return ""
    return f"{spearmanr(values[:, 0], values[:, 1])[0]:.3f}"


def _mean(numbers: Iterable[float]) -> str:
    values = list(numbers)
    return f"{np.mean(values):.3f}" if values else ""

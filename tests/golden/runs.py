"""What the shipped models come to: scores, trust, readings; and what commands print."""

import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import histoeval
from histoeval.errors import HistoEvalError
from histoeval.report import Report
from tests.golden.readers import as_json
from tests.golden.sources import Case
from tests.support import docs_inputs
from tests.support.command import run_in
from tests.support.paths import ROOT

Values = dict[str, Any]
METRICS = ("concordance", "hare", "rubric_offline")
NORMAL = (
    (re.compile(r"\S*(?:golden-desk|histoeval-golden)-\w+"), "DESK"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min|kB|MB|GB)\b"), "AMOUNT"),
    (re.compile(r"\b\d[\d,.]* (?:rows|pairs|reports|tiles)(?:/s| (?:per|a) second)"), "SPEED"),
    (re.compile(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])"), "VERSION"),
    (re.compile(r"(?<![\w.])(?=[a-f]*\d)[0-9a-f]{7,64}\b"), "HASH"),
    (re.compile(r"(\d\.\d{4})\d+"), r"\1"),
    (re.compile(r"[─━]{2,}"), "─"),
)
"""What differs from machine to machine and from day to day, and what stands for it."""


def spans(mention: Any) -> Any:
    """Where an entity stands, in place of its words."""
    return None if mention is None else [mention["start"], mention["end"]]


def errors_of(evidence: Any) -> Any:
    """The errors of a score, each with what it is, how bad, and where."""
    fields = ("kind", "part", "severity", "specimen", "without")
    return [
        [spans(error["reference"]), spans(error["candidate"]), *map(error.get, fields)]
        for error in evidence.get("errors", ())
    ]


def scores(cases: Sequence[Case]) -> Iterator[Values]:
    """Each metric on each pair, of concordance also what each error costs."""
    for case in cases:
        found: Values = {}
        for metric in METRICS:
            try:
                reference, candidate = case.texts
                score = histoeval.explain(reference, candidate, metric)
            except HistoEvalError as error:
                found[metric] = str(error)
                continue
            found[metric] = score.value
            found[f"{metric}: parts"] = score.parts
            if metric == "concordance":
                found["concordance: errors"] = errors_of(score.evidence)
                found["concordance: messages"] = [
                    error["message"] for error in score.evidence["errors"]
                ]
                found["concordance: matches"] = [
                    [match["part"], spans(match["reference"]), spans(match["candidate"])]
                    for match in score.evidence["matches"]
                ]
        yield as_json(found)


def without_signatures(value: Any) -> Any:
    """Evidence without the names of models."""
    if isinstance(value, dict):
        return {k: without_signatures(v) for k, v in value.items() if k != "signature"}
    return [without_signatures(each) for each in value] if isinstance(value, list) else value


def trust(cases: Sequence[Case]) -> Iterator[Values]:
    """Reports without images."""
    yield from _verdicts([{"id": case.key, "report": case.texts[0]} for case in cases])


def examples(cases: Sequence[Case]) -> Iterator[Values]:
    """The three dimensions of the bundled reports with images."""
    return _verdicts(ROOT / "examples/trust/reports.csv")


def _verdicts(data: Any) -> Iterator[Values]:
    for row in histoeval.trust(data).rows:
        evidence = without_signatures(row.evidence)
        yield as_json(
            {
                "grounding": row.grounding,
                "logic": row.logic,
                "stability": row.stability,
                "trust": row.trust,
                "route": row.route,
                "cancer": row.cancer_check,
                "missing": [(each.dimension, each.code) for each in row.errors],
                **{f"{name}: evidence": each for name, each in evidence.items()},
            }
        )


def extract(cases: Sequence[Case]) -> Iterator[Values]:
    """Entities and relations of the shipped reader."""
    for report in histoeval.extract([case.texts[0] for case in cases]).reports:
        assert isinstance(report, Report)
        yield as_json({"entities": report.entities, "relations": report.relations})


def commands(cases: Sequence[Case]) -> Iterator[Values]:
    """Each command, run in one folder: exit code, what it prints, the files it leaves."""
    with tempfile.TemporaryDirectory(prefix="golden-desk-") as name:
        desk = Path(name)
        docs_inputs.write_inputs(desk)
        for case in cases:
            yield as_json(_command(case.texts[0], desk))


def _command(line: str, desk: Path) -> Values:
    before = _files(desk)
    outcome = run_in(desk, *shlex.split(line), COLUMNS="100")
    return {
        "exit code": outcome.code,
        "out": _normal(outcome.out),
        "err": _normal(outcome.err),
        "files": sorted(_files(desk) - before),
    }


def _files(desk: Path) -> set[str]:
    return {_normal(str(each.relative_to(desk))) for each in desk.rglob("*") if each.is_file()}


def _normal(text: str) -> str:
    for pattern, stands_for in NORMAL:
        text = pattern.sub(stands_for, text)
    return "\n".join(line.rstrip() for line in text.splitlines())

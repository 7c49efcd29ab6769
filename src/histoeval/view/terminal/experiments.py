"""Tables and figures of the paper's experiments, for a terminal, for Markdown and as CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.experiments.benchmark import COLUMNS, BenchmarkRow, Gap, JudgeVariation
from histoeval.experiments.edits.registry import levels
from histoeval.experiments.hierarchy import Ablation, Follows
from histoeval.experiments.sensitivity import Drop
from histoeval.io.store import write_json, writing_to
from histoeval.report import Noun
from histoeval.statistics.resampling import Estimate
from histoeval.table import ResultTable, footnotes, markdown

if TYPE_CHECKING:
    from histoeval.view.figures.canvas import Canvas

NONE = "none"
TITLES = {
    "rewording": "other words",
    "slip": "minor slip",
    "detail": "wrong detail",
    "visual": "visual hallucination",
    "logic": "logic error",
}


def sensitivity_table(drops: Sequence[Drop], lacking: Mapping[str, str]) -> ResultTable:
    """Table 1: the score of each group, and by how many per cent it is below its controls."""
    groups = list(dict.fromkeys(drop.group for drop in drops))
    titles = [TITLES.get(group, group) for group in groups]
    heads = [head for title in titles for head in (title, "drop, %")]
    rows = []
    for measure in dict.fromkeys(drop.measure for drop in drops):
        own = {drop.group: drop for drop in drops if drop.measure == measure}
        rows.append([measure, _control(own), *_cells(own, groups)])
    rows += [[name, NONE, *[NONE] * len(heads)] for name in lacking]
    cases = max((drop.cases for drop in drops), default=0)
    title = f"Sensitivity to errors, {cases:,} reports (95 % interval by report)"
    return ResultTable(title, ["measure", "control", *heads], rows)


def _control(own: Mapping[str, Drop]) -> str:
    """The control of the group that most reports have; each group is held against its own."""
    most = max(own.values(), key=lambda drop: drop.cases)
    return _number(most.control)


def _cells(own: Mapping[str, Drop], groups: Sequence[str]) -> list[str]:
    return [
        text
        for group in groups
        for text in (_number(own[group].score), _estimate(own[group].drop, 1))
    ]


def sensitivity_notes(drops: Sequence[Drop], lacking: Mapping[str, str]) -> list[str]:
    """What to know when reading the table."""
    return [
        "Metrics have the true report as their reference, so their control is the best they give. "
        "Grounding, logic and stability have no reference.",
        *footnotes((name, reason) for name, reason in lacking.items()),
        *footnotes((f"{d.measure}, {d.group}", d.drop.reason) for d in drops),
    ]


def hierarchy_tables(found: Sequence[Follows]) -> list[ResultTable]:
    """Rank correlations with the error level, and the mean at every level."""
    ranks = [
        [
            each.measure,
            _estimate(each.spearman, 3),
            _p(each.spearman),
            _estimate(each.within, 3),
            f"{each.rows:,}",
        ]
        for each in found
    ]
    names = sorted({step.level for each in found for step in each.levels})
    means = []
    for each in found:
        known = {step.level: step.mean for step in each.levels}
        means.append([each.measure, *(_number(known.get(name)) for name in names)])
    told = ", ".join(f"{level} {what}" for level, what in levels().items())
    return [
        ResultTable(
            "Rank correlation with the error hierarchy (Spearman, 95 % interval by report)",
            ["measure", "rho", "p", "mean rho within a case", "reports"],
            ranks,
        ),
        ResultTable(f"Mean by error level ({told})", ["measure", *map(str, names)], means),
    ]


def ablation_table(found: Ablation) -> ResultTable:
    """Figure 3b as numbers."""
    whole = ["all dimensions", _estimate(found.spearman, 3), "", ""]
    rows = [
        [
            f"without {each.dimension}",
            _estimate(each.spearman, 3),
            _estimate(each.lost, 3),
            _number(each.lost_per_cent, 1),
        ]
        for each in found.without
    ]
    columns = ["trust", "rho (95 % interval)", "lost", "lost, %"]
    title = f"Ablation: {found.rows:,} reports of {found.cases:,} cases"
    return ResultTable(title, columns, [whole, *rows])


def benchmark_table(found: Sequence[BenchmarkRow]) -> ResultTable:
    """Table 2."""
    rows = []
    for each in found:
        cells = [_estimate(each.means[name], 2) for name in COLUMNS]
        routes = ", ".join(f"{count:,} {route}" for route, count in each.routes.items())
        rows.append([each.dataset, each.model, *cells, f"{each.reports:,}", routes])
    heads = ["dataset", "model", *COLUMNS, "reports", "routes"]
    return ResultTable("Benchmark: means over reports (95 % interval)", heads, rows)


def benchmark_notes(found: Sequence[BenchmarkRow]) -> list[str]:
    """How many reports have no number, and what of."""
    return [
        f"{each.dataset}, {each.model}: {name} is missing for {count:,} of {each.reports:,} reports"
        for each in found
        for name, count in each.missing.items()
        if count
    ]


def gap_table(found: Sequence[Gap]) -> ResultTable:
    """Table 3."""
    rows = [
        [g.model, g.measure, _number(g.inside, 3), _number(g.outside, 3), _estimate(g.drop, 3)]
        for g in found
    ]
    columns = ["model", "measure", "public", "private", "drop (95 % interval)"]
    return ResultTable("Domain gap", columns, rows)


def variance_table(found: Sequence[JudgeVariation]) -> ResultTable:
    """Figure 3a as numbers."""
    rows = [
        [
            v.name,
            _estimate(v.spread, 4),
            _number(v.widest, 3),
            _number(None if v.steady is None else 100 * v.steady, 1),
            f"{v.reports:,}",
        ]
        for v in found
    ]
    columns = ["who", "mean standard deviation", "widest", "same each time, %", "reports"]
    return ResultTable("Variance between repeats", columns, rows)


def _number(value: float | None, digits: int = 3) -> str:
    """A number of so many digits; a nothing has no sign."""
    return NONE if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _estimate(found: Estimate, digits: int) -> str:
    if found.value is None:
        return NONE
    text = _number(found.value, digits)
    if found.low is None or found.high is None:
        return text
    return f"{text} ({_number(found.low, digits)} to {_number(found.high, digits)})"


def _p(found: Estimate) -> str:
    if found.p is None:
        return NONE
    return f"{found.p:.4f}" if found.p >= 0.0001 else "<0.0001"


def as_csv(rows: Sequence[Noun]) -> str:
    """One line for each finding, estimates spread over columns."""
    flat = [_flat(row.model_dump(mode="json")) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    text = StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}_")
        elif isinstance(value, list):
            found[f"{before}{name}"] = json.dumps(value, ensure_ascii=False)
        else:
            found[f"{before}{name}"] = value
    return found


def write_tables(
    folder: Path,
    name: str,
    tables: Sequence[ResultTable],
    notes: Sequence[str],
    rows: Sequence[Noun],
    about: Mapping[str, Any],
) -> list[Path]:
    """The same findings as Markdown, as CSV and as JSON."""
    parts = [*map(markdown, tables), "\n".join(f"- {note}" for note in notes)]
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}{ending}" for ending in (".md", ".csv", ".json")]
        paths[0].write_text("\n\n".join(part for part in parts if part) + "\n", "utf-8")
        paths[1].write_text(as_csv(rows), "utf-8")
        found = [row.model_dump(mode="json") for row in rows]
        write_json(paths[2], {**about, "found": found})
    return paths


def write_picture(folder: Path, name: str, picture: Canvas) -> list[Path]:
    """A figure as SVG and as PNG."""
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        paths[0].write_text(picture.svg(), "utf-8")
        paths[1].write_bytes(picture.png())
    return paths

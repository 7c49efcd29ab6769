"""Tables of the PathGLS experiments, and their files in Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.report import Noun
from histoeval.statistics.resampling import Estimate
from histoeval.table import NONE, ResultTable, footnotes, markdown, number
from histoeval.view.exports import flat
from histoeval.view.terminal.agreement import estimate_text
from histoeval_research.experiments.benchmark import COLUMNS, BenchmarkRow, Gap, JudgeVariation
from histoeval_research.experiments.edits.registry import levels
from histoeval_research.experiments.hierarchy import Ablation, Follows
from histoeval_research.experiments.sensitivity import Drop

if TYPE_CHECKING:
    pass

TITLES = {
    "rewording": "other words",
    "slip": "minor slip",
    "detail": "wrong detail",
    "visual": "visual hallucination",
    "logic": "logic error",
}


def sensitivity_table(drops: Sequence[Drop], lacking: Mapping[str, str]) -> ResultTable:
    """Table 1: the score of each group, and its drop from its controls in per cent."""
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
    """The control of the group with the most reports; each group is compared with its own."""
    most = max(own.values(), key=lambda drop: drop.cases)
    return number(most.control)


def _cells(own: Mapping[str, Drop], groups: Sequence[str]) -> list[str]:
    return [
        text
        for group in groups
        for text in (number(own[group].score), estimate_text(own[group].drop, 1))
    ]


def sensitivity_notes(drops: Sequence[Drop], lacking: Mapping[str, str]) -> list[str]:
    """How to read the table."""
    return [
        "Metrics have the true report as their reference, so their control is the best they give. "
        "Grounding, logic and stability have no reference.",
        *footnotes((name, reason) for name, reason in lacking.items()),
        *footnotes((f"{d.measure}, {d.group}", d.drop.reason) for d in drops),
    ]


def hierarchy_tables(found: Sequence[Follows]) -> list[ResultTable]:
    """Rank correlations with the error level, and the mean at every level."""
    known = sorted({step.level for each in found for step in each.levels})
    means = [[number(_means(each).get(level)) for level in known] for each in found]
    steps = ", ".join(f"{level} {name}" for level, name in levels().items())
    return [
        ResultTable.of(
            "Rank correlation with the error hierarchy (Spearman, 95 % interval by report)",
            found,
            {
                "measure": lambda each: each.measure,
                "rho": lambda each: estimate_text(each.spearman, 3),
                "p": lambda each: _p(each.spearman),
                "mean rho within a case": lambda each: estimate_text(each.within, 3),
                "reports": lambda each: f"{each.rows:,}",
            },
        ),
        ResultTable(
            f"Mean by error level ({steps})",
            ["measure", *map(str, known)],
            [[each.measure, *row] for each, row in zip(found, means, strict=True)],
        ),
    ]


def _means(each: Follows) -> dict[int, float]:
    return {step.level: step.mean for step in each.levels}


def ablation_table(found: Ablation) -> ResultTable:
    """Figure 3b as numbers."""
    whole = ["all dimensions", estimate_text(found.spearman, 3), "", ""]
    rows = [
        [
            f"without {each.dimension}",
            estimate_text(each.spearman, 3),
            estimate_text(each.lost, 3),
            number(each.lost_per_cent, 1),
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
        cells = [estimate_text(each.means[name], 2) for name in COLUMNS]
        routes = ", ".join(f"{count:,} {route}" for route, count in each.routes.items())
        rows.append([each.dataset, each.model, *cells, f"{each.reports:,}", routes])
    heads = ["dataset", "model", *COLUMNS, "reports", "routes"]
    return ResultTable("Benchmark: means over reports (95 % interval)", heads, rows)


def benchmark_notes(found: Sequence[BenchmarkRow]) -> list[str]:
    """How many reports lack which dimension."""
    return [
        f"{each.dataset}, {each.model}: {name} is missing for {count:,} of {each.reports:,} reports"
        for each in found
        for name, count in each.missing.items()
        if count
    ]


def gap_table(found: Sequence[Gap]) -> ResultTable:
    """Table 3."""
    return ResultTable.of(
        "Domain gap",
        found,
        {
            "model": lambda gap: gap.model,
            "measure": lambda gap: gap.measure,
            "public": lambda gap: number(gap.inside),
            "private": lambda gap: number(gap.outside),
            "drop (95 % interval)": lambda gap: estimate_text(gap.drop, 3),
        },
    )


def variance_table(found: Sequence[JudgeVariation]) -> ResultTable:
    """Figure 3a as numbers."""
    return ResultTable.of(
        "Variance between repeats",
        found,
        {
            "who": lambda each: each.name,
            "mean standard deviation": lambda each: estimate_text(each.spread, 4),
            "widest": lambda each: number(each.widest),
            "same each time, %": lambda each: _per_cent(each.steady),
            "reports": lambda each: f"{each.reports:,}",
        },
    )


def _per_cent(share: float | None) -> str:
    return number(None if share is None else 100 * share, 1)


def _p(found: Estimate) -> str:
    if found.p is None:
        return NONE
    return f"{found.p:.4f}" if found.p >= 0.0001 else "<0.0001"


def as_csv(rows: Sequence[Noun]) -> str:
    """One line for each finding, with nested values as columns of their own."""
    return csv_text([flat(row.model_dump(mode="json")) for row in rows])


def write_tables(
    folder: Path,
    name: str,
    tables: Sequence[ResultTable],
    notes: Sequence[str],
    rows: Sequence[Noun],
    about: Mapping[str, Any],
) -> list[Path]:
    """Write the findings as Markdown, CSV and JSON."""
    parts = [*map(markdown, tables), "\n".join(f"- {note}" for note in notes)]
    with writing_to(folder):
        make_folder(folder)
        paths = [folder / f"{name}{ending}" for ending in (".md", ".csv", ".json")]
        write_text(paths[0], "\n\n".join(part for part in parts if part) + "\n")
        write_text(paths[1], as_csv(rows))
        found = [row.model_dump(mode="json") for row in rows]
        write_json(paths[2], {**about, "found": found})
    return paths

"""Tables of experiments in the terminal, and the page of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.errors import InputError
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.report import Noun
from histoeval.statistics.resampling import Estimate
from histoeval.table import NONE, ResultTable, footnotes, markdown, number
from histoeval.view.exports import flat
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import data_uri, jpeg, render
from histoeval.view.terminal.agreement import estimate_text
from histoeval_research.experiments.benchmark import COLUMNS, BenchmarkRow, Gap, JudgeVariation
from histoeval_research.experiments.edits.registry import CONTROL, levels
from histoeval_research.experiments.hierarchy import Ablation, Follows
from histoeval_research.experiments.measures import PerturbedRow
from histoeval_research.experiments.pathgls.answers import (
    PublishedDrop,
    assumptions,
    differences,
    published_ranks,
)
from histoeval_research.experiments.pathgls.beside import (
    THEIRS,
    AblationBeside,
    BenchmarkBeside,
    DropBeside,
    GapBeside,
    RankBeside,
)
from histoeval_research.experiments.pathgls.cases import MeasuredCases
from histoeval_research.experiments.sensitivity import Drop, ScoredReports

if TYPE_CHECKING:
    from markupsafe import Markup


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


NOTHING = ""
"""In a cell that the paper has no number for, or that our row cannot have."""


def drops_beside(found: Sequence[DropBeside]) -> ResultTable:
    """Table 1."""

    def paper(cell: Callable[[PublishedDrop], str]) -> Callable[[DropBeside], str]:
        return lambda row: NOTHING if row.paper is None else cell(row.paper)

    return ResultTable.of(
        "Table 1: sensitivity to errors (95 % interval by patient)",
        found,
        {
            "data": lambda row: row.data,
            "measure": lambda row: row.measure,
            "control": lambda row: number(row.visual.control),
            "visual hallucination": lambda row: number(row.visual.score),
            "drop, %": lambda row: estimate_text(row.visual.drop, 1),
            "logic error": lambda row: number(row.logic.score),
            "its drop, %": lambda row: estimate_text(row.logic.drop, 1),
            "reports": lambda row: f"{row.visual.cases:,} and {row.logic.cases:,}",
            "paper": paper(lambda row: row.measure),
            "paper: control": paper(lambda row: number(row.control, 2)),
            "paper: visual": paper(lambda row: f"{number(row.visual, 2)} ({row.visual_drop:g} %)"),
            "paper: logic": paper(lambda row: f"{number(row.logic, 2)} ({row.logic_drop:g} %)"),
        },
    )


def benchmark_beside(found: Sequence[BenchmarkBeside]) -> ResultTable:
    """Table 2."""
    rows = []
    for row in found:
        theirs = row.source == THEIRS
        cells = [estimate_text(row.means[name], 2) for name in COLUMNS]
        routes = ", ".join(f"{count:,} {route}" for route, count in row.routes.items())
        reports = NOTHING if theirs else f"{row.reports:,}"
        rows.append([row.source, row.dataset, row.model, row.scale, *cells, reports, routes])
    heads = ["whose", "dataset", "model", "scale", *COLUMNS, "reports", "routes"]
    return ResultTable("Table 2: means over reports (95 % interval by patient)", heads, rows)


def gaps_beside(found: Sequence[GapBeside]) -> ResultTable:
    """Table 3."""
    return ResultTable.of(
        "Table 3: domain gap (95 % interval by patient)",
        found,
        {
            "whose": lambda gap: gap.source,
            "model": lambda gap: gap.model,
            "measure": lambda gap: gap.measure,
            "public": lambda gap: number(gap.inside),
            "private": lambda gap: number(gap.outside),
            "drop": lambda gap: estimate_text(gap.drop, 3),
        },
    )


def repeats_beside(found: Sequence[JudgeVariation]) -> ResultTable:
    """Figure 3a as numbers."""
    paper = number(published_ranks().spread, 2)
    return ResultTable.of(
        "Figure 3a: standard deviation between repeats",
        found,
        {
            "who": lambda each: each.name,
            "mean standard deviation": lambda each: estimate_text(each.spread, 4),
            "widest": lambda each: number(each.widest, 4),
            "reports": lambda each: f"{each.reports:,}",
            "paper": lambda each: paper if each.name == "PathGLS" else NOTHING,
        },
    )


def ablation_beside(found: Sequence[AblationBeside]) -> ResultTable:
    """Figure 3b as numbers."""
    return ResultTable.of(
        "Figure 3b: rank correlation of trust with the error hierarchy, without each dimension",
        found,
        {
            "data": lambda bar: bar.data,
            "answers under attack": lambda bar: bar.answers,
            "trust": lambda bar: f"without {bar.without}" if bar.without else bar.trust,
            "rho (95 % interval)": lambda bar: estimate_text(bar.spearman, 3),
            "lost": lambda bar: estimate_text(bar.lost, 3) if bar.without else NOTHING,
            "lost, %": lambda bar: number(bar.lost_per_cent, 1) if bar.without else NOTHING,
            "reports": lambda bar: f"{bar.reports:,}",
            "paper: rho": lambda bar: NOTHING if bar.paper is None else number(bar.paper, 2),
            "paper: lost, %": lambda bar: (
                NOTHING if bar.paper_lost_per_cent is None else number(bar.paper_lost_per_cent, 1)
            ),
        },
    )


def ranks_beside(found: Sequence[RankBeside]) -> ResultTable:
    """How every measure follows the error hierarchy."""
    return ResultTable.of(
        "Rank correlation with the error hierarchy (Spearman, 95 % interval by patient)",
        found,
        {
            "data": lambda rank: rank.data,
            "measure": lambda rank: rank.measure,
            "rho": lambda rank: estimate_text(rank.spearman, 3),
            "mean rho within a case": lambda rank: estimate_text(rank.within, 3),
            "reports": lambda rank: f"{rank.reports:,}",
            "paper": lambda rank: NOTHING if rank.paper is None else number(rank.paper, 2),
        },
    )


def table_notes(table: str, sets: Sequence[MeasuredCases]) -> list[str]:
    """In what our table differs from the paper's, and what could not be measured."""
    lacking = ((f"{each.name}, {name}", why) for each in sets for name, why in each.lacking.items())
    return [*differences(table), *footnotes(lacking)]


def answer_notes() -> list[str]:
    """What the model is assumed to answer under stain and attack."""
    return [f"Answers under attack, {each.name}: {each.about}." for each in assumptions()]


def judge_notes() -> list[str]:
    """What the paper's judge reaches."""
    judge = published_ranks().judge
    return [f"The paper's best judge, Gemini 3.0 Pro, has a coefficient of {judge:g}."]


PIXELS = 480
"""The longer side of a picture on the page."""

HARMLESS = 1
"""Up to this level an edit is not an error."""


def experiment_page(
    rows: Sequence[PerturbedRow],
    scored: Sequence[ScoredReports],
    *,
    images: Path | None = None,
    most: int = 12,
) -> str:
    """One page with at most this many cases, in the order of the rows."""
    numbers = {row.id: row for row in scored}
    by_case: dict[str, list[PerturbedRow]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    shown = list(by_case.items())[:most]
    steps = "; ".join(f"{level}: {name}" for level, name in levels().items())
    return render(
        "experiment.html",
        title="What each measure sees",
        facts=f"{len(shown):,} of {len(by_case):,} reports. Orange: what makes a report wrong. "
        f"Green: only other words. Levels: {steps}.",
        cases=[_case(name, some, numbers, images) for name, some in shown],
    )


def _case(
    name: str,
    rows: Sequence[PerturbedRow],
    numbers: Mapping[str, ScoredReports],
    images: Path | None,
) -> dict[str, Any]:
    measures = list(
        dict.fromkeys(m for row in rows if row.id in numbers for m in numbers[row.id].scores)
    )
    picture, reason = _picture(rows[0].image, images)
    return {
        "name": name,
        "image": rows[0].image,
        "picture": picture,
        "reason": reason,
        "measures": measures,
        "rows": [_row(row, numbers.get(row.id), measures) for row in rows],
    }


def _row(
    row: PerturbedRow, scored: ScoredReports | None, measures: Sequence[str]
) -> dict[str, Any]:
    scores = {} if scored is None else scored.scores
    reasons = {} if scored is None else scored.errors
    return {
        "edit": row.edit if row.edit == CONTROL else f"{row.edit} ({row.level})",
        "text": edited_text(row),
        "cells": [
            ("none" if (value := scores.get(m)) is None else f"{value:.2f}", reasons.get(m, ""))
            for m in measures
        ],
    }


def edited_text(row: PerturbedRow) -> Markup:
    """The true report with deletions and insertions; the edited one if they are not known."""
    text, shown, at = row.reference or "", "", 0
    spans: list[HighlightSpan] = []
    inserted = "ins same" if row.level <= HARMLESS else "ins"
    for change in sorted(row.changes, key=lambda c: c.start):
        if change.start < at or not text.startswith(change.before, change.start):
            return html(row.report or "", ())
        shown += text[at : change.start]
        for added, kind in ((change.before, "del"), (change.after, inserted)):
            spans.append(HighlightSpan(len(shown), len(shown) + len(added), kind=kind))
            shown += added
        at = change.start + len(change.before)
    return html(shown + text[at:], spans)


def _picture(image: str | None, folder: Path | None) -> tuple[str | None, str]:
    """A small picture as a data URI, or why there is none."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    if image is None or folder is None:
        return None, "no image"
    path = folder / image
    try:
        with open_slide(path) as slide:
            return data_uri(jpeg(make_thumbnail(slide, PIXELS))), ""
    except InputError as error:
        return None, str(error).replace(str(path), image)

"""Tables 1 to 3 and figure 3 of the PathGLS paper as tables, ours beside the paper's."""

from collections.abc import Callable, Sequence

from histoeval.table import ResultTable, footnotes, number
from histoeval.view.terminal.agreement import estimate_text
from histoeval_research.experiments.benchmark import COLUMNS, JudgeVariation
from histoeval_research.experiments.pathgls.answers import assumptions
from histoeval_research.experiments.pathgls.beside import (
    THEIRS,
    AblationBeside,
    BenchmarkBeside,
    DropBeside,
    GapBeside,
    RankBeside,
)
from histoeval_research.experiments.pathgls.cases import MeasuredCases
from histoeval_research.experiments.pathgls.published import (
    PublishedDrop,
    differences,
    published_ranks,
)

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

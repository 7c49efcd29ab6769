"""The findings of the paper's tables 1 to 3 and figure 3, each with the paper's number beside.

In tables 2 and 3 stand-ins take the place of models: how often they err, and what they answer
under attack, is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, read_policy
from histoeval.statistics.resampling import Estimate
from histoeval_research.experiments.edits.registry import CONTROL
from histoeval_research.experiments.measures import KEYS, STABILITY
from histoeval_research.experiments.pathgls.cases import (
    MeasuredCases,
    assumptions,
    paper,
    stability_by,
)
from histoeval_research.experiments.tables import (
    COLUMNS,
    FEWEST_DIMENSIONS,
    TRUST,
    USUAL,
    VERDICTS,
    Draws,
    Row,
    ablation,
    benchmark_row,
    dimensions_in,
    hierarchy,
    measures_of,
    model_gaps,
    sensitivity,
    trust_name,
    weighted_sum,
)

if TYPE_CHECKING:
    import polars as pl

OURS, THEIRS = "ours", "paper"
VISUAL, LOGIC_ERROR = "visual", "logic"
GRAVE = 4  # errors of at least this level are what a stand-in says where it errs


def table_1(sets: Sequence[MeasuredCases], draws: Draws = USUAL) -> list[Row]:
    """How far every measure falls on hallucinations and on logic errors."""
    published = {row["ours"]: row for row in paper()["table1"]}
    reason = Estimate(reason="no report could be edited so")
    rows = []
    for cases in sets:
        drops = {(row["measure"], row["group"]): row for row in sensitivity(cases.scores, draws)}
        for measure in measures_of(cases.scores):
            if measure.startswith(STABILITY):
                continue
            row: Row = {"data": cases.name, "measure": measure}
            for group in (VISUAL, LOGIC_ERROR):
                lacking = {"measure": measure, "group": group, "cases": 0}
                lacking |= {"control": None, "score": None, "drop": reason}
                row[group] = drops.get((measure, group), lacking)
            rows.append(row | {"paper": published.get(measure)})
    return rows


def verdicts_on(stand_in: Row, scores: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """The verdicts on what a stand-in says of every case."""
    # A case of which no grave error could be made is left out where the stand-in is to err.
    import polars as pl

    rows: list[Row] = []
    for (case,), own in scores.group_by("case", maintain_order=True):
        chance = Random(f"{seed}/{stand_in['name']}/{case}")
        errs = chance.random() < stand_in["errs"]
        pool = [
            r for r in own.to_dicts() if (r["level"] >= GRAVE if errs else r["group"] == CONTROL)
        ]
        if pool:
            said = chance.choice(pool)
            said[STABILITY] = said.get(stability_by(stand_in["answers"]))
            values: Row = {name: said.get(name) for name in DIMENSIONS}
            grounding, logic, stability = values.values()
            trust = fuse(grounding, logic, stability, weights=PAPER, policy=read_policy())
            verdict = {"trust": trust.value, "route": trust.route}
            rows.append({"id": case, "cluster": said["cluster"], **values, **verdict})
    return pl.DataFrame(rows, schema={**VERDICTS, "cluster": str})


def table_2(
    sets: Sequence[MeasuredCases], real: Sequence[Row] = (), draws: Draws = USUAL
) -> list[Row]:
    """The means of every dimension for stand-ins, for real models, and in the paper."""
    rows = []
    for cases in sets:
        for stand_in in paper()["standin"]:
            verdicts = verdicts_on(stand_in, cases.scores, draws.seed)
            row = benchmark_row(cases.name, stand_in["name"], verdicts, draws)
            rows.append({**row, "source": OURS, "scale": cases.scale})
    rows += [{**row, "source": OURS, "scale": ""} for row in real]
    for block in paper()["table2"]:
        for published in block["models"]:
            means = {name: Estimate(value=published[name]) for name in COLUMNS}
            row = {"dataset": block["dataset"], "model": published["model"], "reports": 0}
            row |= {"means": means, "missing": {}, "routes": {}}
            rows.append({**row, "source": THEIRS, "scale": block["scale"]})
    return rows


def table_3(
    public: MeasuredCases | None,
    private: MeasuredCases | None,
    real: Sequence[Row] = (),
    draws: Draws = USUAL,
) -> list[Row]:
    """How much trust is lost on unseen data: stand-ins, real models, and the paper's models."""
    rows = []
    if public is not None and private is not None:
        for stand_in in paper()["standin"]:
            known, unseen = (
                verdicts_on(stand_in, side.scores, draws.seed) for side in (public, private)
            )
            rows += model_gaps(stand_in["name"], known, unseen, draws)
    rows = [{**row, "source": OURS} for row in (*rows, *real)]
    for row in paper()["table3"]:
        gap = {"model": row["model"], "measure": TRUST}
        gap |= {"inside": row["inside"], "outside": row["outside"]}
        rows.append({**gap, "drop": Estimate(value=row["drop"]), "source": THEIRS})
    return rows


def _levelled(scores: pl.DataFrame, assumption: str) -> pl.DataFrame:
    columns = [*KEYS, *(name for name in DIMENSIONS[:2] if name in scores.columns)]
    stability = scores.get_column(stability_by(assumption), default=None)
    return scores.select(columns).with_columns(**{STABILITY: stability})


def ranks(sets: Sequence[MeasuredCases], draws: Draws = USUAL) -> list[Row]:
    """How every measure, and trust by every assumption, follows the error hierarchy."""
    whole = {f"{TRUST}_{assumption}" for assumption in assumptions()}
    rows = []
    for cases in sets:
        scores = cases.scores
        for assumption in assumptions():
            levelled = _levelled(cases.scores, assumption)
            used = dimensions_in(levelled)
            if len(used) >= FEWEST_DIMENSIONS:
                trust = levelled.select(weighted_sum(used)).to_series()
                name = trust_name(used, f"{TRUST}_{assumption}")
                scores = scores.with_columns(trust.alias(name))
        for row in hierarchy(scores, draws):
            published = paper()["figure3"]["trust"] if row["measure"] in whole else None
            rows.append(
                {
                    "data": cases.name,
                    "measure": row["measure"],
                    "reports": row["rows"],
                    "cases": row["cases"],
                    "spearman": row["spearman"],
                    "within": row["within"],
                    "paper": published,
                }
            )
    return rows


def figure_3b(sets: Sequence[MeasuredCases], draws: Draws = USUAL) -> list[Row]:
    """What trust loses without each dimension, for every assumption about answers."""
    published = paper()["figure3"]
    rows = []
    for cases in sets:
        for assumption in assumptions():
            levelled = _levelled(cases.scores, assumption)
            used = dimensions_in(levelled)
            if len(used) < FEWEST_DIMENSIONS or levelled.drop_nulls(used).is_empty():
                continue
            ablated = ablation(levelled, PAPER, draws)
            is_whole = len(used) == len(DIMENSIONS)
            bars = [{"dimension": "", "spearman": ablated["spearman"]}, *ablated["without"]]
            for bar in bars:
                lost = published["lost"].get(bar["dimension"]) if is_whole else None
                rho = published["trust"] * (1 - (lost or 0.0) / 100) if is_whole else None
                rows.append(
                    {
                        "data": cases.name,
                        "answers": assumption,
                        "without": bar["dimension"],
                        "trust": " + ".join(used),
                        "reports": ablated["rows"],
                        "cases": ablated["cases"],
                        "spearman": bar["spearman"],
                        "lost": bar.get("lost", Estimate()),
                        "lost_per_cent": bar.get("lost_per_cent"),
                        "paper": rho,
                        "paper_lost_per_cent": lost,
                    }
                )
    return rows

"""Tables 1 to 3 and figure 3 of the PathGLS paper, from frames of scores and folders of verdicts.

A frame has a row for each report, with `cluster`, what is drawn as one for intervals, and a column
for each measure. A row of a table is a mapping; its numbers with intervals are `Estimate`s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from histoeval.errors import InputError, SettingError
from histoeval.io.results import ResultFolder
from histoeval.judges.panel import SPREAD
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, DimensionWeights
from histoeval.run.trust.rows import ROWS, TrustFolder
from histoeval.settings import Option
from histoeval.statistics.correlation import (
    Coefficient,
    correlate,
    correlate_within,
    mean_of,
    ratio,
    undefined_reason,
    weighted,
)
from histoeval.statistics.resampling import (
    RESAMPLES,
    Estimate,
    Numbers,
    Resamples,
    Statistic,
    by_case,
    estimate,
    resample,
)
from histoeval_research.experiments.edits.registry import CONTROL, groups
from histoeval_research.experiments.measures import KEYS, SCORES, read_scored, score_frame
from histoeval_research.experiments.perturb import Seed, read_perturbed

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]

TRUST = "trust"
COLUMNS = (*DIMENSIONS, TRUST)
FEWEST_DIMENSIONS = 2
NO_NUMBER = Estimate(reason="no report has a number")


@dataclass(frozen=True)
class Draws:
    resamples: Annotated[int, Option("Resamples for confidence intervals.", min=1)] = RESAMPLES
    seed: Seed = 0

    def of(self, clusters: Iterable[Hashable]) -> Resamples:
        return resample(list(clusters), self.resamples, self.seed)


USUAL = Draws()


def measures_of(scores: pl.DataFrame) -> list[str]:
    return [name for name in scores.columns if name not in KEYS]


def sensitivity(scores: pl.DataFrame, draws: Draws = USUAL) -> list[Row]:
    """Table 1: by how many per cent each measure falls in each group, below the controls."""
    # `control` and `score` are means over the cases that have both.
    present = set(scores["group"]) - {CONTROL}
    ordered = [name for name in dict.fromkeys([*groups(), *scores["group"]]) if name in present]
    controls = scores.filter(group=CONTROL)
    pairs = scores.join(controls, on="case", suffix=" of control", maintain_order="left")
    rows = []
    for measure, group in product(measures_of(scores), ordered):
        own = pairs.filter(group=group).select(
            "case", "cluster", control=f"{measure} of control", score=measure
        )
        own = own.drop_nulls(["control", "score"])
        drop = Estimate(reason="no report of this group has a number beside its control")
        if len(own):
            drawn = draws.of(own["cluster"])
            sums = by_case(own.select("control", "score").to_numpy(), drawn.case, len(drawn.times))

            def per_cent(times: Numbers, sums: Numbers = sums) -> Numbers:
                before, after = (times.T @ sums).T
                return 100 * ratio(before - after, before)

            drop = estimate(per_cent, drawn, null=0.0)
        means = {name: own[name].mean() for name in ("control", "score")}
        cases = own["case"].n_unique()
        rows.append({"measure": measure, "group": group, "cases": cases, **means, "drop": drop})
    return rows


def read_graded(results: Path, perturbed: Path | None = None) -> pl.DataFrame:
    """Scores with levels: of `experiment sensitivity`, or of `trust` beside the perturbed set."""
    import polars as pl

    if not (results.is_dir() and (results / ROWS).is_file()) or (results / SCORES).is_file():
        return score_frame(read_scored(results))
    if perturbed is None:
        raise SettingError("results of `trust` need --perturbed FILE, which says the levels")
    known = {row.id: row for row in read_perturbed(perturbed).reports}
    rows = []
    for row in TrustFolder(results):
        if row.id not in known:
            raise InputError(f"{perturbed} has no report {row.id!r}, which {results} has")
        report = known[row.id]
        rows.append({"cluster": report.cluster, "level": report.level, **vars(row)})
    keys = {"cluster": str, "level": int}
    return pl.DataFrame(rows, schema=keys | dict.fromkeys(DIMENSIONS, float))


def dimensions_in(scores: pl.DataFrame) -> list[str]:
    return [d for d in DIMENSIONS if d in scores.columns and scores[d].count()]


def weighted_sum(used: Iterable[str], weights: DimensionWeights = PAPER) -> pl.Expr:
    """The weighted sum of some dimensions; none where one of them is missing."""
    import polars as pl

    return pl.sum_horizontal(
        *(pl.col(name) * getattr(weights, name) for name in used), ignore_nulls=False
    )


def trust_name(used: Sequence[str], name: str = TRUST) -> str:
    """The name of trust from these dimensions, which says what it lacks."""
    missing = [dimension for dimension in DIMENSIONS if dimension not in used]
    return f"{name} without {' and '.join(missing)}" if missing else name


def with_trust(scores: pl.DataFrame, weights: DimensionWeights = PAPER) -> pl.DataFrame:
    """The scores with one more column: trust, by the dimensions that any report has."""
    # Ranks do not care that nothing is re-scaled where a dimension is missing in all reports.
    used = dimensions_in(scores)
    if len(used) < FEWEST_DIMENSIONS:
        return scores
    return scores.with_columns(weighted_sum(used, weights).alias(trust_name(used)))


def hierarchy(scores: pl.DataFrame, draws: Draws = USUAL) -> list[Row]:
    """How every measure follows the error level: Spearman's coefficient with it turned round."""
    # 1 is for a measure that falls with every step. `within` is the mean of the coefficients inside
    # each case, where no report is compared with one of another case.
    import polars as pl

    rows = []
    for measure in measures_of(scores):
        own = scores.select("cluster", "level", score=measure).drop_nulls()
        levels = own.group_by("level").agg(
            pl.len().alias("rows"), pl.col("score").mean().alias("mean")
        )
        clusters, spearman, within = own["cluster"].to_list(), NO_NUMBER, Estimate()
        if clusters:
            drawn, falling = draws.of(clusters), -own["level"].to_numpy().astype(float)
            score = own["score"].to_numpy()
            spearman = _spearman(score, falling, drawn)
            within = correlate_within(Coefficient.SPEARMAN, score, falling, clusters, drawn)
        row = {"measure": measure, "rows": len(own), "cases": own["cluster"].n_unique()}
        row |= {"spearman": spearman, "within": within}
        rows.append(row | {"levels": levels.sort("level").to_dicts()})
    return rows


def _spearman(score: Numbers, falling: Numbers, drawn: Resamples) -> Estimate:
    return _of_reports(correlate(Coefficient.SPEARMAN, score, falling, drawn))


def _of_reports(estimate: Estimate) -> Estimate:
    reason = estimate.reason and estimate.reason.replace(
        "the experts give all pairs the same score", "all errors are of one level"
    ).replace("pairs", "reports")
    return estimate.model_copy(update={"reason": reason})


def ablation(scores: pl.DataFrame, weights: DimensionWeights = PAPER, draws: Draws = USUAL) -> Row:
    """Figure 3b: how trust follows the error level, and how much is lost without each dimension."""
    used = dimensions_in(scores)
    if len(used) < FEWEST_DIMENSIONS:
        raise InputError("an ablation needs at least two dimensions of trust")
    own = scores.drop_nulls(used)
    drawn, falling = draws.of(own["cluster"]), -own["level"].to_numpy().astype(float)

    def trust(dimensions: Iterable[str]) -> Numbers:
        return own.select(weighted_sum(dimensions, weights)).to_series().to_numpy()

    whole = trust(used)
    spearman = _spearman(whole, falling, drawn)
    without = []
    for dimension in used:
        rest = trust(name for name in used if name != dimension)
        lost = _difference(whole, rest, falling, drawn)
        share = None
        if lost.value is not None and spearman.value:
            share = 100 * lost.value / spearman.value
        alone = _spearman(rest, falling, drawn)
        row = {"dimension": dimension, "spearman": alone, "lost": lost, "lost_per_cent": share}
        without.append(row)
    return {
        "dimensions": used,
        "rows": len(own),
        "cases": own["cluster"].n_unique(),
        "spearman": spearman,
        "without": without,
    }


def _difference(one: Numbers, other: Numbers, falling: Numbers, drawn: Resamples) -> Estimate:
    if reason := undefined_reason(one, falling) or undefined_reason(other, falling):
        return _of_reports(Estimate(reason=reason))
    first, second = (
        weighted(Coefficient.SPEARMAN, column, falling, drawn.case, len(drawn.times))
        for column in (one, other)
    )
    return estimate(_less(first, second), drawn, null=0.0)


def _less(first: Statistic, second: Statistic) -> Statistic:
    return lambda times: first(times) - second(times)


VERDICTS = {"id": str, "route": str, **dict.fromkeys(COLUMNS, float)}


def read_trust(folder: Path) -> pl.DataFrame:
    import polars as pl

    rows = [vars(row) for row in TrustFolder(folder)]
    if not rows:
        raise InputError(f"{folder} holds no verdicts: `histoeval trust` writes trust.jsonl")
    return pl.DataFrame(rows, schema=VERDICTS).with_columns(cluster="id")


def benchmark(runs: Sequence[str], draws: Draws = USUAL) -> list[Row]:
    """Table 2: the mean of every dimension for each DATASET/MODEL=FOLDER of verdicts."""
    named: list[tuple[str, str, Path]] = []
    for text in runs:
        name, _, folder = text.partition("=")
        dataset, _, model = name.rpartition("/")
        if not (dataset and model and folder):
            raise SettingError(f"{text!r} names no run: write DATASET/MODEL=FOLDER")
        if name in [f"{before[0]}/{before[1]}" for before in named]:
            raise SettingError(f"{name} is named twice")
        named.append((dataset, model, Path(folder)))
    return [benchmark_row(dataset, model, read_trust(f), draws) for dataset, model, f in named]


def benchmark_row(dataset: str, model: str, verdicts: pl.DataFrame, draws: Draws = USUAL) -> Row:
    """The means of every dimension over the verdicts on one model and one data set."""
    return {
        "dataset": dataset,
        "model": model,
        "reports": len(verdicts),
        "means": {name: mean_estimate(verdicts, name, draws) for name in COLUMNS},
        "missing": {name: verdicts[name].null_count() for name in COLUMNS},
        "routes": dict(sorted(Counter(verdicts["route"]).items())),
    }


def mean_estimate(frame: pl.DataFrame, column: str, draws: Draws = USUAL) -> Estimate:
    known = frame.drop_nulls(column)
    if known.is_empty():
        return NO_NUMBER
    drawn = draws.of(known["cluster"])
    return estimate(mean_of(known[column].to_numpy(), drawn), drawn)


def gaps(models: Sequence[str], draws: Draws = USUAL) -> list[Row]:
    """Table 3: how much is lost on unseen data, for each MODEL=PUBLIC,PRIVATE of verdicts."""
    rows = []
    for text in models:
        model, _, folders = text.partition("=")
        inside, _, outside = folders.partition(",")
        if not (model and inside and outside):
            raise SettingError(f"{text!r} names no model: write MODEL=PUBLIC_FOLDER,PRIVATE_FOLDER")
        rows += model_gaps(model, read_trust(Path(inside)), read_trust(Path(outside)), draws)
    return rows


def model_gaps(
    model: str, inside: pl.DataFrame, outside: pl.DataFrame, draws: Draws = USUAL
) -> list[Row]:
    """How much lower trust, and each dimension, of one model is on the second verdicts."""
    rows = []
    for measure in reversed(COLUMNS):
        sides = [frame.drop_nulls(measure) for frame in (inside, outside)]
        row: Row = {"model": model, "measure": measure, "inside": None, "outside": None}
        drop = Estimate(reason="no report has a number on one of the two sides")
        if all(len(frame) for frame in sides):
            clusters = [(n, name) for n, frame in enumerate(sides) for name in frame["cluster"]]
            drawn = draws.of(clusters)
            is_inside = np.arange(len(clusters)) < len(sides[0])
            first, second = (
                mean_of(frame[measure].to_numpy(), drawn.of(rows_of_side))
                for frame, rows_of_side in zip(sides, (is_inside, ~is_inside), strict=True)
            )
            drop = estimate(_less(first, second), drawn, null=0.0)
            row |= {"inside": sides[0][measure].mean(), "outside": sides[1][measure].mean()}
        rows.append(row | {"drop": drop})
    return rows


def judge_variance(folder: Path, draws: Draws = USUAL) -> list[Row]:
    """How far judges differ from themselves, by the folder of `histoeval judge --repeats`."""
    spreads: dict[str, dict[str, float]] = {}
    for row in ResultFolder(folder):
        for name, result in row.scores.items():
            if SPREAD in result.parts:
                spreads.setdefault(name, {})[f"{row.id}\0{row.system}"] = result.parts[SPREAD]
    if not spreads:
        raise InputError(f"{folder} holds no repeated answers: run `histoeval judge --repeats 5`")
    return [variation(name, spread, draws) for name, spread in spreads.items()]


def trust_variance(folders: Sequence[Path], draws: Draws = USUAL) -> Row:
    """How far trust differs between runs of it over the same reports."""
    if len(folders) < 2:
        raise SettingError("it takes two runs of `histoeval trust` to measure how far they differ")
    runs = [{row["id"]: row for row in read_trust(folder).to_dicts()} for folder in folders]
    if any(set(run) != set(runs[0]) for run in runs):
        raise InputError("the runs of `histoeval trust` are not of the same reports")
    spread = {}
    for name, row in runs[0].items():
        best = next((column for column in reversed(COLUMNS) if row[column] is not None), None)
        values = [run[name][best] for run in runs] if best else []
        if values and None not in values:
            spread[name] = float(np.std(values, ddof=1))
    return variation("PathGLS", spread, draws)


def variation(name: str, spread: Mapping[str, float], draws: Draws = USUAL) -> Row:
    """Figure 3a: how far the numbers of one judge differ between repeats on each report."""
    # `spread` is the mean over reports of the standard deviation between repeats, `steady` the
    # share of reports that got the same number each time.
    import polars as pl

    frame = pl.DataFrame(
        {"cluster": list(spread), "spread": list(spread.values())},
        schema={"cluster": str, "spread": float},
    )
    return {
        "name": name,
        "reports": len(spread),
        "spread": mean_estimate(frame, "spread", draws),
        "widest": frame["spread"].max(),
        "steady": (frame["spread"] == 0).mean(),
    }

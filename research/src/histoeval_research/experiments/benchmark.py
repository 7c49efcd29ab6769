"""Models side by side: table 2 over data sets, table 3 on the domain gap, figure 3a on judges."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from histoeval.errors import InputError, SettingError
from histoeval.io.results import ResultFolder
from histoeval.judges.panel import SPREAD
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.report import Noun
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.statistics.correlation import ratio
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

COLUMNS = (*DIMENSIONS, "trust")

Patients = Mapping[str, str]
"""Of whom each report is, where that is known: those of one patient are drawn together."""


class Run(NamedTuple):
    """Where the verdicts on one model and one data set lie."""

    dataset: str
    model: str
    folder: Path


class BenchmarkRow(Noun):
    """One row of table 2: means over reports, None where there is no number, and how many."""

    dataset: str
    model: str
    reports: int
    means: Mapping[str, Estimate]
    missing: Mapping[str, int]
    routes: Mapping[str, int]


class Gap(Noun):
    """One row of table 3: a model on data like those it knows, and on others."""

    model: str
    measure: str
    inside: float | None = None
    outside: float | None = None
    drop: Estimate


class JudgeVariation(Noun):
    """One bar of figure 3a: how far the numbers of one judge differ between repeats."""

    name: str
    reports: int
    spread: Estimate
    """The mean over reports of the standard deviation between repeats."""
    widest: float | None = None
    steady: float | None = None
    """The share of reports that got the same number each time."""


def run_of(text: str) -> Run:
    """A run as a person names it: DATASET/MODEL=FOLDER."""
    name, equals, folder = text.partition("=")
    dataset, slash, model = name.rpartition("/")
    if not equals or not slash or not dataset or not model or not folder:
        raise SettingError(f"{text!r} names no run: write DATASET/MODEL=FOLDER")
    return Run(dataset, model, Path(folder))


def read_trust(folder: Path) -> list[TrustRow]:
    """The verdicts in a folder of `trust`."""
    rows = list(TrustFolder(folder))
    if not rows:
        raise InputError(f"{folder} holds no verdicts: `histoeval trust` writes trust.jsonl")
    return rows


def benchmark(runs: Sequence[Run], resamples: int = RESAMPLES, seed: int = 0) -> list[BenchmarkRow]:
    """Table 2: the mean of every dimension for every model on every data set."""
    names = Counter((run.dataset, run.model) for run in runs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise SettingError(f"{'/'.join(twice[0])} is named twice")
    return [
        benchmark_row(run.dataset, run.model, read_trust(run.folder), resamples, seed)
        for run in runs
    ]


def benchmark_row(
    dataset: str,
    model: str,
    rows: Sequence[TrustRow],
    resamples: int = RESAMPLES,
    seed: int = 0,
    patients: Patients = MappingProxyType({}),
) -> BenchmarkRow:
    """The means of every dimension over the verdicts on one model and one data set."""
    columns = {name: _known(rows, name) for name in COLUMNS}
    return BenchmarkRow(
        dataset=dataset,
        model=model,
        reports=len(rows),
        means={n: _mean(column, resamples, seed, patients) for n, column in columns.items()},
        missing={name: len(rows) - len(column) for name, column in columns.items()},
        routes=dict(sorted(Counter(row.route for row in rows).items())),
    )


def _known(rows: Sequence[TrustRow], name: str) -> dict[str, float]:
    found = {row.id: getattr(row, name) for row in rows}
    return {id_: value for id_, value in found.items() if value is not None}


def _mean(
    column: Mapping[str, float],
    resamples: int,
    seed: int,
    patients: Patients = MappingProxyType({}),
) -> Estimate:
    if not column:
        return Estimate(reason="no report has a number")
    drawn = resample([patients.get(id_, id_) for id_ in column], resamples, seed)
    return estimate(_weighted_mean(np.array(list(column.values())), drawn), drawn)


def _weighted_mean(column: Numbers, drawn: Resamples) -> Statistic:
    known = ~np.isnan(column)
    sums = np.stack([np.where(known, column, 0.0), known.astype(np.float64)], axis=1)
    summed = by_case(sums, drawn.case, len(drawn.times))
    return lambda times: ratio(*(times.T @ summed).T)


def gap_of(text: str) -> tuple[str, Path, Path]:
    """A model with both its folders as a person names them: MODEL=PUBLIC,PRIVATE."""
    model, equals, folders = text.partition("=")
    inside, comma, outside = folders.partition(",")
    if not (model and equals and inside and comma and outside):
        raise SettingError(f"{text!r} names no model: write MODEL=PUBLIC_FOLDER,PRIVATE_FOLDER")
    return model, Path(inside), Path(outside)


def gaps(
    models: Sequence[tuple[str, Path, Path]], resamples: int = RESAMPLES, seed: int = 0
) -> list[Gap]:
    """Table 3: how much lower trust, and each dimension, is on unseen data."""
    return [
        gap
        for model, inside, outside in models
        for gap in model_gaps(model, read_trust(inside), read_trust(outside), resamples, seed)
    ]


def model_gaps(
    model: str,
    inside: Sequence[TrustRow],
    outside: Sequence[TrustRow],
    resamples: int = RESAMPLES,
    seed: int = 0,
    patients: Patients = MappingProxyType({}),
) -> list[Gap]:
    """How much lower trust, and each dimension, of one model is on the second verdicts."""
    return [
        _gap(model, name, _known(inside, name), _known(outside, name), resamples, seed, patients)
        for name in reversed(COLUMNS)
    ]


def _gap(
    model: str,
    measure: str,
    inside: Mapping[str, float],
    outside: Mapping[str, float],
    resamples: int,
    seed: int,
    patients: Patients,
) -> Gap:
    if not inside or not outside:
        reason = "no report has a number on one of the two sides"
        return Gap(model=model, measure=measure, drop=Estimate(reason=reason))
    names = [*((0, each) for each in inside), *((1, each) for each in outside)]
    values = np.array([*inside.values(), *outside.values()])
    side = np.array([which for which, _ in names])
    drawn = resample([(n, patients.get(each, each)) for n, each in names], resamples, seed)
    first, second = (
        _weighted_mean(np.where(side == which, values, np.nan), drawn) for which in (0, 1)
    )
    return Gap(
        model=model,
        measure=measure,
        inside=float(np.mean(list(inside.values()))),
        outside=float(np.mean(list(outside.values()))),
        drop=estimate(lambda times: first(times) - second(times), drawn, null=0.0),
    )


def judge_variance(folder: Path, resamples: int = RESAMPLES, seed: int = 0) -> list[JudgeVariation]:
    """How far judges differ from themselves, by the folder of `histoeval judge --repeats`."""
    spreads: dict[str, dict[str, float]] = {}
    for row in ResultFolder(folder):
        for name, result in row.scores.items():
            if SPREAD in result.parts:
                spreads.setdefault(name, {})[f"{row.id}\0{row.system}"] = result.parts[SPREAD]
    if not spreads:
        raise InputError(f"{folder} holds no repeated answers: run `histoeval judge --repeats 5`")
    return [variation(name, column, resamples, seed) for name, column in spreads.items()]


def trust_variance(
    folders: Sequence[Path], resamples: int = RESAMPLES, seed: int = 0
) -> JudgeVariation:
    """How far trust differs between runs of it over the same reports."""
    if len(folders) < 2:
        raise SettingError("it takes two runs of `histoeval trust` to measure how far they differ")
    tables = [{row.id: row for row in read_trust(folder)} for folder in folders]
    if any(set(table) != set(tables[0]) for table in tables):
        raise InputError("the runs of `histoeval trust` are not of the same reports")
    spread = {}
    for name in tables[0]:
        best = next((c for c in reversed(COLUMNS) if getattr(tables[0][name], c) is not None), None)
        values = [getattr(table[name], best) for table in tables] if best else []
        if values and all(value is not None for value in values):
            spread[name] = float(np.std(values, ddof=1))
    return variation("PathGLS", spread, resamples, seed)


def variation(
    name: str, column: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> JudgeVariation:
    """How far the numbers of one judge differ, from the standard deviation of each report."""
    values = list(column.values())
    return JudgeVariation(
        name=name,
        reports=len(values),
        spread=_mean(column, resamples, seed),
        widest=max(values, default=None),
        steady=float(np.mean([value == 0 for value in values])) if values else None,
    )

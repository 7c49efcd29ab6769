"""A perturbed set measured: every report by every measure, row by row, and table 1 of the paper."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from histoeval.errors import InputError, Problem
from histoeval.io.folder_kinds import folder_kind, wrong_folder
from histoeval.io.store import RowStore
from histoeval.nli.builtin import open_entailer
from histoeval.pathgls.stability.distance import open_distance
from histoeval.report import Noun
from histoeval.run.engines.engine import Task
from histoeval.run.models import Models, load_reader
from histoeval.run.pipeline import Job, Watch, no_progress
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
from histoeval_research.experiments.edits.registry import CONTROL
from histoeval_research.experiments.edits.registry import groups as known_groups
from histoeval_research.experiments.measures import (
    GROUNDING,
    RAW,
    ByGrounding,
    ByLogic,
    ByStability,
    Found,
    PerturbedRow,
    PerturbedSet,
    ReportMeasure,
    open_grounding,
    open_metrics,
    read_perturbed,
)

SCORES = "scores.jsonl"
PER_CENT = 100.0


class ScoredReports(Noun):
    """A report of the set with its numbers, None where there is none; errors say why."""

    id: str
    case: str
    patient: str | None = None
    group: str
    edit: str
    level: int
    scores: dict[str, float | None]
    errors: dict[str, str] = Field(default_factory=dict)

    def line(self) -> bytes:
        """The row as one line of JSON."""
        return json.dumps(self.model_dump(), ensure_ascii=False).encode() + b"\n"


@dataclass(frozen=True)
class MeasureSet:
    """What is measured, and why the rest is not."""

    measures: Sequence[ReportMeasure]
    grounding: ByGrounding | None = None
    lacking: dict[str, str] = field(default_factory=dict)

    @property
    def signatures(self) -> dict[str, str]:
        """Everything that the numbers depend on."""
        found = {each.name: each.signature for each in self.measures}
        return found | ({} if self.grounding is None else {GROUNDING: self.grounding.signature})


def open_bench(
    perturbed: Path,
    metrics: Sequence[str],
    models: Models,
    images: Path | None = None,
    encoder: str | None = None,
    nli: str | None = None,
    mpp: float | None = None,
) -> MeasureSet:
    """Metrics beside logic, and grounding and stability where the set has what they need."""
    rows = read_perturbed(perturbed)
    reader = load_reader(models)
    models = models.model_copy(update={"reader": reader})
    found, lacking = open_metrics(metrics, models)
    measures: list[ReportMeasure] = [*found, ByLogic(reader, open_entailer(nli, models.device))]
    if any(row.report_attacked for row in rows):
        measures.append(ByStability(open_distance("concordance", reader=reader)))
    if reason := _no_images(rows, images):
        return MeasureSet(measures, None, lacking | {GROUNDING: reason})
    assert images is not None, "else there was a reason"
    grounding = open_grounding(encoder, reader, images, models.device, mpp)
    if isinstance(grounding, str):
        return MeasureSet(measures, None, lacking | {GROUNDING: grounding})
    return MeasureSet(measures, grounding, lacking)


def _no_images(rows: Sequence[PerturbedRow], images: Path | None) -> str | None:
    """Why there is nothing to ground reports on."""
    if not any(row.image for row in rows):
        return "the set names no images"
    return "the folder of the images was not named: give --images" if images is None else None


class Drop(Noun):
    """One cell of table 1: a group beside its own controls, by one measure.

    `control` and `score` are means over the cases that have both; `drop` is in per cent of the
    control.
    """

    measure: str
    group: str
    cases: int
    control: float | None = None
    score: float | None = None
    drop: Estimate


def measure_file(
    path: Path,
    folder: Path,
    bench: MeasureSet,
    *,
    overwrite: bool = False,
    watch: Watch = no_progress,
) -> list[ScoredReports]:
    """Measure every report of a perturbed set; a stopped run resumes."""
    store = RowStore(folder / SCORES, ScoredReports.model_validate_json)
    return list(MeasureJob(path, bench).run(store, overwrite=overwrite, watch=watch).rows)


class MeasureTask(Task[PerturbedRow, ScoredReports]):
    """Every measure on reports of a perturbed set."""

    name = "measure"

    def __init__(self, bench: MeasureSet) -> None:
        self.bench = bench

    def work(self, rows: Sequence[PerturbedRow]) -> list[ScoredReports]:
        """The scores of a few reports."""
        return measured(rows, self.bench)

    def failed(self, row: PerturbedRow, problem: Problem) -> ScoredReports:
        """A report without any score."""
        return _scored(row, dict.fromkeys(self.bench.signatures, problem))


class MeasureJob(Job[PerturbedRow, ScoredReports]):
    """Every measure on every report of a perturbed set."""

    block_rows = 8

    def __init__(self, path: Path, bench: MeasureSet) -> None:
        super().__init__(PerturbedSet(path, read_perturbed(path)))
        self.bench = bench
        self.task = MeasureTask(bench)

    def summary(self) -> dict[str, Any]:
        """How many reports there are, and what could not be measured."""
        return {"rows": self.tally.rows, "lacking": self.bench.lacking}

    def _settings(self) -> dict[str, Any]:
        return {"signatures": self.bench.signatures, "lacking": self.bench.lacking}

    def _add(self, row: ScoredReports) -> None:
        self.tally.rows += 1
        self.tally.failed_rows += bool(row.errors)


def measured(rows: Sequence[PerturbedRow], bench: MeasureSet) -> list[ScoredReports]:
    """A few reports by every measure."""
    columns: dict[str, Sequence[Found]] = {m.name: m.measure(rows) for m in bench.measures}
    if bench.grounding is not None:
        found = bench.grounding.measure(rows)
        columns[GROUNDING] = [each if isinstance(each, Problem) else each[0] for each in found]
        columns[RAW] = [each if isinstance(each, Problem) else each[1] for each in found]
    return [
        _scored(row, {n: c[place] for n, c in columns.items()}) for place, row in enumerate(rows)
    ]


def _scored(row: PerturbedRow, found: dict[str, Found]) -> ScoredReports:
    return ScoredReports(
        id=row.id,
        case=row.case,
        patient=row.patient,
        group=row.group,
        edit=row.edit,
        level=row.level,
        scores={n: None if isinstance(each, Problem) else each for n, each in found.items()},
        errors={n: f"{e.code}: {e.message}" for n, e in found.items() if isinstance(e, Problem)},
    )


def read_scored(folder: Path) -> list[ScoredReports]:
    """The rows that `experiment sensitivity` has written into a folder."""
    path = folder / SCORES if folder.is_dir() else folder
    kind = folder_kind(folder) if folder.is_dir() else None
    if not path.is_file() or (kind is not None and kind.name != "experiment"):
        raise wrong_folder(
            folder, f"has no {SCORES}: `histoeval experiment sensitivity` writes one"
        )
    rows = list(RowStore(path, ScoredReports.model_validate_json))
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


def sensitivity(
    rows: Sequence[ScoredReports], resamples: int = RESAMPLES, seed: int = 0
) -> list[Drop]:
    """Table 1: for each measure and group how far it falls below its own controls."""
    return list(_drops(rows, resamples, seed))


def _drops(rows: Sequence[ScoredReports], resamples: int, seed: int) -> Iterator[Drop]:
    measures = dict.fromkeys(name for row in rows for name in row.scores)
    present = dict.fromkeys(row.group for row in rows)
    ordered = dict.fromkeys([*known_groups(), *present])
    groups = [name for name in ordered if name in present and name != CONTROL]
    for measure in measures:
        control = {
            r.case: s for r in rows if r.group == CONTROL and (s := r.scores[measure]) is not None
        }
        for group in groups:
            own = [
                (r, s)
                for r in rows
                if r.group == group and r.case in control and (s := r.scores[measure]) is not None
            ]
            yield _drop(measure, group, own, control, resamples, seed)


def _drop(
    measure: str,
    group: str,
    own: Sequence[tuple[ScoredReports, float]],
    control: dict[str, float],
    resamples: int,
    seed: int,
) -> Drop:
    if not own:
        reason = "no report of this group has a number beside its control"
        return Drop(measure=measure, group=group, cases=0, drop=Estimate(reason=reason))
    scores = np.array([score for _, score in own])
    before = np.array([control[row.case] for row, _ in own])
    drawn = resample([row.patient or row.case for row, _ in own], resamples, seed)
    return Drop(
        measure=measure,
        group=group,
        cases=len({row.case for row, _ in own}),
        control=float(before.mean()),
        score=float(scores.mean()),
        drop=estimate(_relative_drop(before, scores, drawn), drawn, null=0.0),
    )


def _relative_drop(before: Numbers, after: Numbers, drawn: Resamples) -> Statistic:
    """By how many per cent the mean falls, as a function of how often each case counts."""
    sums = by_case(np.stack([before, after], axis=1), drawn.case, len(drawn.times))

    def value(times: Numbers) -> Numbers:
        """Per cent of the first mean, for each resample."""
        first, second = (times.T @ sums).T
        return PER_CENT * ratio(first - second, first)

    return value

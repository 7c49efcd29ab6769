"""Sets of cases for the paper's tables: sampled, edited and measured in a folder of their own."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from histoeval.errors import InputError
from histoeval.io.reports import open_reports
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.pathgls.stability.distance import open_distance
from histoeval.progress import OnStep, ignore
from histoeval.run.models import Models, load_reader
from histoeval.statistics.resampling import RESAMPLES
from histoeval_research.experiments.benchmark import JudgeVariation, variation
from histoeval_research.experiments.pathgls.answers import (
    ByAssumedAnswers,
    MemoDistance,
    assumptions,
)
from histoeval_research.experiments.pathgls.sampling import drawn
from histoeval_research.experiments.pathgls.tile_cases import (
    sample_tiles,
    tile_reports,
    unpack_tiles,
)
from histoeval_research.experiments.perturb import Settings, perturb_file, taken_along
from histoeval_research.experiments.rows import PerturbedRow, read_perturbed
from histoeval_research.experiments.sensitivity import (
    MeasureSet,
    ScoredReports,
    measure_file,
    measured,
    open_bench,
)

METRICS = ("bleu", "hare", "bertscore")
"""Those of table 1, or what stands in their place."""

CAPTIONS, PERTURBED, IMAGES = "captions.jsonl", "perturbed.jsonl", "images"
AGAIN = 4
"""So many cases are measured a second time for figure 3a."""


@dataclass(frozen=True)
class CaseSet:
    """Cases that were sampled, and where they lie."""

    name: str
    scale: str
    folder: Path
    images: Path | None = None
    cases: int = 0
    unusable: int = 0
    """Rows of the input that hold no report."""

    @property
    def captions(self) -> Path:
        """The table of the true reports."""
        return self.folder / CAPTIONS

    @property
    def perturbed(self) -> Path:
        """The edited reports."""
        return self.folder / PERTURBED


class MeasuredCases(NamedTuple):
    """A set of cases with all its scores, and why some measures have none."""

    name: str
    scale: str
    rows: Sequence[ScoredReports]
    lacking: Mapping[str, str]
    signatures: Mapping[str, str]

    @property
    def patients(self) -> dict[str, str]:
        """Of whom each case is, where that is known."""
        return {row.case: row.patient for row in self.rows if row.patient}


def report_cases(
    reports: Path, folder: Path, images: Path | None, most: int, seed: int = 0
) -> CaseSet:
    """A sample of the reports of a table, with image and patient where it has them."""
    source = open_reports(reports)
    rows = list(source.rows())
    usable = [row for row in rows if row.text is not None]
    if not usable:
        raise InputError(f"{reports} holds no report: {rows[0].problems[0].message}")
    along = taken_along(source)
    chosen = drawn(usable, [row.id for row in usable], most, seed)
    table = ({"id": r.id, "report": r.text or "", **along.get(r.number, {})} for r in chosen)
    scale = "text" if images is None else "image"
    found = CaseSet("reports", scale, folder, images, len(chosen), len(rows) - len(usable))
    return _written(found, table)


def tile_cases(tiles: Path, split: str, folder: Path, most: int, seed: int = 0) -> CaseSet:
    """A sample of the labelled tiles of a split, each with a report from a template."""
    chosen = sample_tiles(tiles, split, most, seed)
    unpack_tiles(tiles, chosen, folder / IMAGES)
    found = CaseSet(f"tiles, {split}", "patch", folder, folder / IMAGES, len(chosen))
    return _written(found, tile_reports(chosen))


def _written(cases: CaseSet, rows: Iterable[Mapping[str, str]]) -> CaseSet:
    with writing_to(cases.folder):
        make_folder(cases.folder)
        lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        write_text(cases.captions, "".join(lines))
    return cases


@dataclass(frozen=True)
class CaseInstruments:
    """What cases are measured with; models that are not named are the shipped ones."""

    models: Models
    encoder: str | None = None
    nli: str | None = None
    distance: str = "concordance"
    metrics: Sequence[str] = METRICS
    seed: int = 0

    def open(self, cases: CaseSet, rows: Sequence[PerturbedRow]) -> MeasureSet:
        """All measures, and stability by each assumption about the model's answers."""
        bench = open_bench(
            cases.perturbed, self.metrics, self.models, cases.images, self.encoder, self.nli
        )
        reader = load_reader(self.models)
        distance = MemoDistance(open_distance(self.distance, reader=reader))
        answers = [
            ByAssumedAnswers(each, rows, reader, distance, self.seed) for each in assumptions()
        ]
        return replace(bench, measures=[*bench.measures, *answers])


def edit_cases(
    cases: CaseSet, tools: CaseInstruments, watch: OnStep = ignore, *, overwrite: bool = False
) -> list[PerturbedRow]:
    """All versions of every report; a stopped run resumes."""
    perturb_file(
        open_reports(cases.captions),
        load_reader(tools.models),
        cases.perturbed,
        Settings(seed=tools.seed),
        overwrite=overwrite,
        watch=lambda done, *_: watch(done),
    )
    return read_perturbed(cases.perturbed)


def measure_cases(
    cases: CaseSet,
    rows: Sequence[PerturbedRow],
    tools: CaseInstruments,
    watch: OnStep = ignore,
    *,
    overwrite: bool = False,
) -> MeasuredCases:
    """Every measure on all versions; a stopped run resumes."""
    bench = tools.open(cases, rows)
    scored = measure_file(
        cases.perturbed,
        cases.folder,
        bench,
        overwrite=overwrite,
        watch=lambda done, *_: watch(done),
    )
    return MeasuredCases(cases.name, cases.scale, scored, bench.lacking, bench.signatures)


def measure_again(
    cases: CaseSet,
    found: MeasuredCases,
    tools: CaseInstruments,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> JudgeVariation:
    """Figure 3a: how far PathGLS differs when a few cases are measured a second time."""
    rows = read_perturbed(cases.perturbed)
    chosen = list(dict.fromkeys(row.case for row in rows))[:AGAIN]
    own = [row for row in rows if row.case in chosen]
    again = measured(own, replace(tools, metrics=()).open(cases, rows))
    before = {row.id: row.scores for row in found.rows}
    spread = {}
    for row in again:
        pairs = [(before[row.id][name], value) for name, value in row.scores.items()]
        known = [np.std([a, b], ddof=1) for a, b in pairs if a is not None and b is not None]
        if known:
            spread[row.id] = float(max(known))
    return variation("PathGLS", spread, resamples, seed)

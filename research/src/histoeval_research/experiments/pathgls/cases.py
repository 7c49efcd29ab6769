"""Cases by the paper's recipe: a sample of reports or of labelled tiles, measured."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from histoeval.errors import InputError, MissingDependency
from histoeval.evaluate.tile_labels import HE, INDEX, LabelledTile, read_pixels, read_tiles
from histoeval.io.reports import open_reports
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.pathgls.stability.distance import open_distance
from histoeval.progress import OnStep, ignore
from histoeval.run.models import Models, load_reader
from histoeval.statistics.resampling import RESAMPLES
from histoeval_research.experiments.benchmark import JudgeVariation, variation
from histoeval_research.experiments.measures import PerturbedRow, read_perturbed
from histoeval_research.experiments.pathgls.answers import (
    ByAssumedAnswers,
    MemoDistance,
    assumptions,
)
from histoeval_research.experiments.perturb import Settings, perturb_file, taken_along
from histoeval_research.experiments.sensitivity import (
    MeasureSet,
    ScoredReports,
    measure_file,
    measured,
    open_bench,
)

T = TypeVar("T")


def drawn(items: Sequence[T], names: Sequence[str], most: int, seed: int = 0) -> list[T]:
    """At most so many of the items, in their order."""
    ranked = sorted(range(len(items)), key=lambda place: _rank(names[place], seed))
    return [items[place] for place in sorted(ranked[:most])]


def _rank(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()


def template_report(organ: str, diagnosis: str, behaviour: str) -> str:
    """A short report of a tile with these labels."""
    return (
        f"Biopsy of the {organ}. Sections show {diagnosis}. The lesion is {behaviour}. "
        f"The diagnosis is {diagnosis}."
    )


def splits_of(folder: Path) -> set[str]:
    """The splits of a folder of tiles."""
    return {tile.split for tile in _tiles(folder)}


def sample_tiles(folder: Path, split: str, most: int, seed: int = 0) -> list[LabelledTile]:
    """Tiles of a split in H&E whose labels are all known, drawn by seed."""
    own = [tile for tile in _tiles(folder) if tile.split == split and _labelled(tile)]
    if not own:
        raise InputError(f"{folder / INDEX} has no labelled H&E tile of the split {split}")
    return drawn(own, [tile.key for tile in own], most, seed)


def _tiles(folder: Path) -> list[LabelledTile]:
    if not (folder / INDEX).is_file():
        raise InputError(f"{folder} is no folder of tiles: it has no {INDEX}")
    return read_tiles(folder / INDEX)


def _labelled(tile: LabelledTile) -> bool:
    return bool(tile.stain == HE and tile.organ and tile.concept and tile.behaviour)


def tile_reports(tiles: Sequence[LabelledTile]) -> Iterator[dict[str, str]]:
    """Each tile as a row with id, patient, image and report."""
    for tile in tiles:
        report = template_report(tile.organ or "", tile.concept or "", tile.behaviour or "")
        yield {
            "id": tile.key,
            "patient": tile.case,
            "image": f"{tile.key}.png",
            "report": report,
        }


def unpack_tiles(folder: Path, tiles: Sequence[LabelledTile], images: Path) -> None:
    """Write the pictures of these tiles, unless they are there."""
    wanted = [tile for tile in tiles if not (images / f"{tile.key}.png").exists()]
    if not wanted:
        return
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependency(
            "Pillow is not installed: tiles need it; run: pip install pillow"
        ) from error
    with writing_to(images):
        make_folder(images)
        for tile, pixels in zip(wanted, read_pixels(folder, wanted), strict=True):
            Image.fromarray(pixels).save(images / f"{tile.key}.png")


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

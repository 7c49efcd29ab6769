"""The PathGLS paper's recipe: cases sampled, edited and measured, with its numbers beside ours.

Cases are reports or labelled tiles. No model under test is asked: what it would answer under stain
and attack is an assumption, and in tables 2 and 3 stand-ins, of which it is known how often they
err, take the place of models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from histoeval.errors import InputError, MissingDependency, Problem
from histoeval.evaluate.tile_labels import HE, INDEX, LabelledTile, read_pixels, read_tiles
from histoeval.io.reports import open_reports
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.pathgls.fusion import fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, read_policy
from histoeval.pathgls.stability.distance import Distance, open_distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.progress import OnStep, ignore
from histoeval.reader.reader import Reader
from histoeval.resources import load_toml
from histoeval.run.models import Models, load_reader
from histoeval.statistics.resampling import Estimate
from histoeval_research.experiments.edits.registry import CONTROL, perturb
from histoeval_research.experiments.measures import (
    KEYS,
    STABILITY,
    Measure,
    MeasureSet,
    MeasureTask,
    each_report,
    measure_file,
    open_measures,
    score_frame,
)
from histoeval_research.experiments.perturb import (
    PerturbedRow,
    PerturbedSet,
    PerturbSettings,
    perturb_file,
    read_perturbed,
    taken_along,
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
    variation,
    weighted_sum,
)

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

METRICS = ("bleu", "hare", "bertscore")  # those of table 1, or what stands in their place
REWORDING = "rewording"
ATTACKS = ("stain", "prompt")
ERRING = 0.5  # the share of answers that are wrong where they are drawn anew
AGAIN = 4  # so many cases are measured a second time for figure 3a


@cache
def paper() -> dict[str, Any]:
    """What the paper reports, what it leaves open, and what stands in for a model under test."""
    return load_toml("histoeval_research/experiments/data/pathgls.toml")


def assumptions() -> list[str]:
    """What may be assumed about answers; the one that figure 3 is drawn by comes first."""
    return [row["name"] for row in paper()["answers"]]


def stability_by(assumption: str) -> str:
    return f"{STABILITY}_{assumption}"


def assumed_answer(
    assumption: str,
    row: PerturbedRow,
    versions: Sequence[PerturbedRow],
    reader: Reader,
    chance: Random,
) -> str:
    """What the model answers under an attack; `versions` are all reports of its case."""
    if assumption == "truth":
        return row.reference or ""
    if assumption == "repeats":  # in other words; as it is where no rewording can be made
        (read,) = reader.read([row.report or ""])
        seed = chance.randrange(2**32)
        return perturb(read, row.id, seed=seed, chosen=(REWORDING,))[0][-1].text
    right = [version for version in versions if version.group in (CONTROL, REWORDING)]
    wrong = [version for version in versions if version.group not in (CONTROL, REWORDING)]
    errs = chance.random() < ERRING
    return chance.choice(wrong if wrong and errs else right).report or ""


class MemoDistance:
    def __init__(self, distance: Distance) -> None:
        self.identity = distance.identity
        self._between = cache(distance.between)

    def between(self, first: str, second: str) -> float | Problem:
        """That of the distance, which is the same in both directions."""
        return self._between(min(first, second), max(first, second))

    def changed(self, first: str, second: str) -> tuple[str, ...]:  # noqa: ARG002 - as all distances
        """Nothing: only numbers are wanted here."""
        return ()


def by_assumed_answers(
    assumption: str, rows: Iterable[PerturbedRow], reader: Reader, distance: Distance, seed: int = 0
) -> Measure:
    """Stability of a report with answers by one assumption."""
    versions: dict[str, list[PerturbedRow]] = {}
    for row in rows:
        versions.setdefault(row.case, []).append(row)

    def score(row: PerturbedRow) -> Any:
        stain, prompt = (
            (attack, assumed_answer(assumption, row, versions[row.case], reader, chance))
            for attack in ATTACKS
            for chance in [Random(f"{seed}/{row.id}/{attack}")]
        )
        return stability_of(row.report or "", [stain], [prompt], distance)

    signature = f"stability|answers={assumption},seed={seed}|{distance.identity}|{reader.identity}"
    return Measure(stability_by(assumption), signature, each_report(score))


def drawn(items: Sequence[T], names: Sequence[str], most: int, seed: int = 0) -> list[T]:
    """At most so many of the items, in their order."""

    def rank(place: int) -> bytes:
        return hashlib.sha256(f"{seed}/{names[place]}".encode()).digest()

    return [items[place] for place in sorted(sorted(range(len(items)), key=rank)[:most])]


@dataclass(frozen=True)
class CaseSet:
    name: str
    scale: str
    folder: Path
    images: Path | None = None
    cases: int = 0
    unusable: int = 0  # rows of the input that hold no report

    @property
    def captions(self) -> Path:
        return self.folder / "captions.jsonl"

    @property
    def perturbed(self) -> Path:
        return self.folder / "perturbed.jsonl"

    def write(self, rows: Iterable[Mapping[str, str]]) -> None:
        with writing_to(self.folder):
            make_folder(self.folder)
            lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
            write_text(self.captions, "".join(lines))


class MeasuredCases(NamedTuple):
    name: str
    scale: str
    scores: pl.DataFrame
    lacking: Mapping[str, str]
    signatures: Mapping[str, str]


def report_cases(
    reports: Path, folder: Path, images: Path | None, most: int, seed: int = 0
) -> CaseSet:
    source = open_reports(reports)
    rows = list(source.rows())
    usable = [row for row in rows if row.text is not None]
    if not usable:
        raise InputError(f"{reports} holds no report: {rows[0].problems[0].message}")
    along = taken_along(source)
    chosen = drawn(usable, [row.id for row in usable], most, seed)
    scale = "text" if images is None else "image"
    cases = CaseSet("reports", scale, folder, images, len(chosen), len(rows) - len(usable))
    cases.write({"id": r.id, "report": r.text or "", **along.get(r.number, {})} for r in chosen)
    return cases


def read_index(folder: Path) -> list[LabelledTile]:
    if not (folder / INDEX).is_file():
        raise InputError(f"{folder} is no folder of tiles: it has no {INDEX}")
    return read_tiles(folder / INDEX)


def template_report(organ: str, diagnosis: str, behaviour: str) -> str:
    return (
        f"Biopsy of the {organ}. Sections show {diagnosis}. The lesion is {behaviour}. "
        f"The diagnosis is {diagnosis}."
    )


def tile_cases(tiles: Path, split: str, folder: Path, most: int, seed: int = 0) -> CaseSet:
    """A sample of the H&E tiles of a split whose labels are known, with reports by template."""
    labelled = [
        tile
        for tile in read_index(tiles)
        if tile.split == split
        and tile.stain == HE
        and tile.organ
        and tile.concept
        and tile.behaviour
    ]
    if not labelled:
        raise InputError(f"{tiles / INDEX} has no labelled H&E tile of the split {split}")
    chosen = drawn(labelled, [tile.key for tile in labelled], most, seed)
    images = folder / "images"
    unpack_tiles(tiles, chosen, images)
    cases = CaseSet(f"tiles, {split}", "patch", folder, images, len(chosen))
    cases.write(
        {
            "id": tile.key,
            "patient": tile.case,
            "image": f"{tile.key}.png",
            "report": template_report(tile.organ or "", tile.concept or "", tile.behaviour or ""),
        }
        for tile in chosen
    )
    return cases


def unpack_tiles(folder: Path, tiles: Sequence[LabelledTile], images: Path) -> None:
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


@dataclass(frozen=True)
class CaseBench:
    """What cases are edited and measured with; models that are not named are the shipped ones."""

    models: Models
    encoder: str | None = None
    distance: str = "concordance"
    seed: int = 0
    overwrite: bool = False

    def edit(self, cases: CaseSet, watch: OnStep = ignore) -> PerturbedSet:
        perturb_file(
            open_reports(cases.captions),
            load_reader(self.models),
            cases.perturbed,
            PerturbSettings(seed=self.seed),
            overwrite=self.overwrite,
            watch=lambda done, *_: watch(done),
        )
        return read_perturbed(cases.perturbed)

    def open(
        self, cases: CaseSet, perturbed: PerturbedSet, metrics: Sequence[str] = METRICS
    ) -> MeasureSet:
        reader = load_reader(self.models)
        distance = MemoDistance(open_distance(self.distance, reader=reader))
        return open_measures(
            perturbed,
            metrics,
            self.models,
            images=cases.images,
            encoder=self.encoder,
            more=[
                by_assumed_answers(assumption, perturbed.reports, reader, distance, self.seed)
                for assumption in assumptions()
            ],
        )

    def measure(
        self, cases: CaseSet, perturbed: PerturbedSet, watch: OnStep = ignore
    ) -> MeasuredCases:
        bench = self.open(cases, perturbed)
        scored = measure_file(
            perturbed,
            cases.folder,
            bench,
            overwrite=self.overwrite,
            watch=lambda done, *_: watch(done),
        )
        scores = score_frame(scored)
        return MeasuredCases(cases.name, cases.scale, scores, bench.lacking, bench.signatures)

    def measure_again(self, cases: CaseSet, scores: pl.DataFrame, draws: Draws) -> Row:
        """Figure 3a: how far PathGLS differs when a few cases are measured a second time."""
        perturbed = read_perturbed(cases.perturbed)
        chosen = list(dict.fromkeys(row.case for row in perturbed.reports))[:AGAIN]
        own = [row for row in perturbed.reports if row.case in chosen]
        before = {row["id"]: row for row in scores.to_dicts()}
        spread = {}
        for row in MeasureTask(self.open(cases, perturbed, ())).work(own):
            pairs = [(before[row.id][name], value) for name, value in row.scores.items()]
            known = [np.std([a, b], ddof=1) for a, b in pairs if a is not None and b is not None]
            if known:
                spread[row.id] = float(max(known))
        return variation("PathGLS", spread, draws)


# --- the paper's tables and figure, from measured cases -----------------------------------------

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
            levels = {"measure": row["measure"], "reports": row["rows"], "cases": row["cases"]}
            rho = {name: row[name] for name in ("spearman", "within")}
            rows.append({"data": cases.name, **levels, **rho, "paper": published})
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
                row = {"data": cases.name, "answers": assumption, "without": bar["dimension"]}
                row |= {"trust": " + ".join(used), "reports": ablated["rows"]}
                row |= {"cases": ablated["cases"], "spearman": bar["spearman"]}
                row |= {"lost": bar.get("lost", Estimate())}
                row |= {"lost_per_cent": bar.get("lost_per_cent")}
                rows.append(row | {"paper": rho, "paper_lost_per_cent": lost})
    return rows

"""The reports of a perturbed set by every measure: metrics, logic, grounding and stability."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from histoeval.errors import InputError, MissingDependency, Problem, SettingError
from histoeval.io.folder_kinds import folder_kind, wrong_folder
from histoeval.io.store import RowStore
from histoeval.io.tables.records import shown
from histoeval.metric import Metric
from histoeval.metrics.registry import create
from histoeval.nli.builtin import open_entailer
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, as_slide, embed_image
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.logic.score import DEFAULT_TOP, logic_of, signature_of
from histoeval.pathgls.results import Grounding
from histoeval.pathgls.stability.distance import Distance, open_distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.progress import ignore
from histoeval.reader.manifest import ENCODER, TOKENIZER, Manifest
from histoeval.reader.reader import Reader
from histoeval.report import Noun, Pair
from histoeval.resources import resource_path
from histoeval.run.engines.engine import Task
from histoeval.run.models import BUILTIN, Models, load_models, load_reader
from histoeval.run.pipeline import Job, Watch, answers
from histoeval.run.trust.reports import attempt
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import Session, open_tokenizer
from histoeval_research.experiments.perturb import PerturbedRow, PerturbedSet

if TYPE_CHECKING:
    import polars as pl

METRICS = ("bleu", "bertscore", "hare", "concordance")
GROUNDING, RAW, LOGIC, STABILITY = "grounding", "grounding_raw", "logic", "stability"
SCORES = "scores.jsonl"

Found = float | Problem


class Measure(NamedTuple):
    """A column of numbers: `score` gives each report one, or the reason why it has none."""

    name: str
    signature: str  # everything that a number depends on; empty where another measure's says it
    score: Callable[[Sequence[PerturbedRow]], list[Found]]


def each_report(score: Callable[[PerturbedRow], Any], value: str = "value") -> Any:
    """The score of many reports from that of one: its field `value`, or why there is none."""

    def one(row: PerturbedRow) -> Found:
        result = score(row)
        return result if isinstance(result, Problem) else float(getattr(result, value))

    return lambda rows: [attempt(partial(one, row)) for row in rows]


def by_metric(metric: Metric) -> Measure:
    """A metric from worst (0) to best (1), with the true report as the reference."""
    low, high = metric.range
    if not (math.isfinite(low) and math.isfinite(high) and metric.higher_is_better):
        raise SettingError(f"{metric.name} has no best and worst value to tell drops by")

    def score(rows: Sequence[PerturbedRow]) -> list[Found]:
        pairs = [
            Pair(id=row.id, reference=row.reference or "", candidate=row.report or "")
            for row in rows
        ]
        scores = answers(metric.score, pairs, lambda why: Problem("metric_failed", shown(why)))
        return [s if isinstance(s, Problem) else (s.value - low) / (high - low) for s in scores]

    return Measure(metric.name, str(metric.signature), score)


def by_stability(distance: Distance) -> Measure:
    def score(row: PerturbedRow) -> Any:
        if row.report_augmented is None or row.report_attacked is None:
            return Problem("no_attacked_reports", "the row has no reports under stain and attack")
        stain, attack = ("stain", row.report_augmented), ("prompt", row.report_attacked)
        return stability_of(row.report or "", [stain], [attack], distance)

    return Measure(STABILITY, f"stability|{distance.identity}", each_report(score))


def by_grounding(
    reader: Reader, encoder: ImageTextEncoder, folder: Path, mpp: float | None = None
) -> list[Measure]:
    foreign = builtin_decoys()

    @lru_cache(maxsize=1)  # reports of one case, and so of one image, follow each other
    def embed(image: str) -> EmbeddedImage | Problem:
        if not (folder / image).exists():
            return Problem("missing_image", f"the image {image} is not there")
        embedded = embed_image(folder / image, encoder, mpp=mpp)
        return embedded if isinstance(embedded, Problem) else as_slide(embedded, encoder)

    @lru_cache(maxsize=64)  # both columns are of one result
    def grounding(image: str | None, text: str) -> Grounding | Problem:
        if image is None:
            return Problem("no_image", "the row names no image")
        if isinstance(embedded := embed(image), Problem):
            return embedded
        return ground(embedded, claims_of(reader.read([text])[0]), encoder, foreign)

    def score(row: PerturbedRow) -> Grounding | Problem:
        return grounding(row.image, row.report or "")

    signature = f"grounding|{encoder.identity}|{foreign.identity}|{reader.identity}"
    return [
        Measure(GROUNDING, signature, each_report(score)),
        Measure(RAW, "", each_report(score, "raw")),
    ]


class TokenStates(NamedTuple):
    """A text as an encoder sees it: a row per token, which are special, the share it saw."""

    states: NDArray[np.float32]
    special: NDArray[np.bool_]
    seen: float


class ReaderStates:
    """Token states of the shipped reader, so that BERTScore runs with nothing else."""

    # It is no roberta-large: a small encoder that was trained to read pathology reports. Numbers
    # made with it are named after it, and are not those of other papers. Of a long text its first
    # window is seen.

    def __init__(self) -> None:
        home = resource_path("models/reader")
        self._manifest = Manifest.read(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = Session(home / ENCODER)
        self.tokens: Memory[str, TokenStates] = Memory(
            lambda texts: [self._states(text) for text in texts], most=2_000
        )

    @property
    def identity(self) -> str:
        return f"states-of-{self._manifest.identity}/onnxruntime{version('onnxruntime')}"

    def _states(self, text: str) -> TokenStates:
        whole = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        most = self._manifest.window
        ids, special = whole.ids, whole.special_tokens_mask
        if len(ids) > most:
            ids, special = [*ids[: most - 1], ids[-1]], [*special[: most - 1], 1]
        encoded = self._session.run(["encoded"], {"tokens": np.array([ids], np.int64)})[0]
        return TokenStates(encoded[0], np.array(special, dtype=bool), len(ids) / len(whole.ids))


@dataclass(frozen=True)
class MeasureSet:
    measures: Sequence[Measure]
    lacking: dict[str, str] = field(default_factory=dict)

    @property
    def signatures(self) -> dict[str, str]:
        return {measure.name: measure.signature for measure in self.measures if measure.signature}


def open_measures(
    perturbed: PerturbedSet,
    metrics: Sequence[str],
    models: Models,
    *,
    images: Path | None = None,
    encoder: str | None = None,
    mpp: float | None = None,
    more: Sequence[Measure] = (),
) -> MeasureSet:
    """Metrics beside logic, and grounding and stability where the set has what they need."""
    # `encoder` is that of images, and the NLI model that of logic. Where `models` names no encoder,
    # BERTScore is given the states of the shipped reader.
    reader = load_reader(models)
    used: dict[str, Any] = {"reader": reader, "nli": None}
    if models.encoder in (None, BUILTIN):
        used["encoder"] = ReaderStates()
    loaded = load_models(metrics, models.model_copy(update=used))
    made = [create(spec, loaded) for spec in metrics]
    lacking = {m.name: reason for m in made if (reason := m.unavailable_reason()) is not None}
    measures = [by_metric(metric) for metric in made if metric.name not in lacking]
    entailer = open_entailer(models.nli, models.device)
    signature = f"{signature_of(entailer, DEFAULT_TOP)}|{reader.identity}"
    logic = each_report(lambda row: logic_of(reader.read([row.report or ""])[0], entailer))
    measures.append(Measure(LOGIC, signature, logic))
    if any(row.report_attacked for row in perturbed.reports):
        measures.append(by_stability(open_distance("concordance", reader=reader)))
    measures += more
    if not any(row.image for row in perturbed.reports):
        lacking[GROUNDING] = "the set names no images"
    elif images is None:
        lacking[GROUNDING] = "the folder of the images was not named: give --images"
    else:
        try:
            measures += by_grounding(reader, open_encoder(encoder, models.device), images, mpp)
        except MissingDependency as error:
            if encoder not in (None, BUILTIN):
                raise
            lacking[GROUNDING] = str(error)
    return MeasureSet(measures, lacking)


class ScoredReport(Noun):
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
        return json.dumps(self.model_dump(), ensure_ascii=False).encode() + b"\n"


class MeasureTask(Task[PerturbedRow, ScoredReport]):
    name = "measure"

    def __init__(self, bench: MeasureSet) -> None:
        self.bench = bench

    def work(self, rows: Sequence[PerturbedRow]) -> list[ScoredReport]:
        columns = {measure.name: measure.score(rows) for measure in self.bench.measures}
        return [
            self._scored(row, {name: column[place] for name, column in columns.items()})
            for place, row in enumerate(rows)
        ]

    def failed(self, row: PerturbedRow, problem: Problem) -> ScoredReport:
        return self._scored(row, dict.fromkeys(self.bench.signatures, problem))

    def _scored(self, row: PerturbedRow, scores: dict[str, Found]) -> ScoredReport:
        problems = {name: score for name, score in scores.items() if isinstance(score, Problem)}
        return ScoredReport(
            **row.model_dump(include={"id", "case", "patient", "group", "edit", "level"}),
            scores={n: None if isinstance(s, Problem) else s for n, s in scores.items()},
            errors={name: f"{error.code}: {error.message}" for name, error in problems.items()},
        )


class MeasureJob(Job[PerturbedRow, ScoredReport]):
    block_rows = 8

    def __init__(self, perturbed: PerturbedSet, bench: MeasureSet) -> None:
        super().__init__(perturbed)
        self.bench = bench
        self.task = MeasureTask(bench)

    def summary(self) -> dict[str, Any]:
        return {"rows": self.tally.rows, "lacking": self.bench.lacking}

    def _settings(self) -> dict[str, Any]:
        return {"signatures": self.bench.signatures, "lacking": self.bench.lacking}

    def _add(self, row: ScoredReport) -> None:
        self.tally.rows += 1
        self.tally.failed_rows += bool(row.errors)


def measure_file(
    perturbed: PerturbedSet,
    folder: Path,
    bench: MeasureSet,
    *,
    overwrite: bool = False,
    watch: Watch = ignore,
) -> list[ScoredReport]:
    store = RowStore(folder / SCORES, ScoredReport.model_validate_json)
    return list(MeasureJob(perturbed, bench).run(store, overwrite=overwrite, watch=watch).rows)


def read_scored(folder: Path) -> list[ScoredReport]:
    path = folder / SCORES if folder.is_dir() else folder
    kind = folder_kind(folder) if folder.is_dir() else None
    if not path.is_file() or (kind is not None and kind.name != "experiment"):
        raise wrong_folder(
            folder, f"has no {SCORES}: `histoeval experiment sensitivity` writes one"
        )
    rows = list(RowStore(path, ScoredReport.model_validate_json))
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


KEYS = {"id": str, "case": str, "cluster": str, "group": str, "level": int}


def score_frame(reports: Sequence[ScoredReport]) -> pl.DataFrame:
    """A row for each report and a column for each measure; `cluster` is drawn as one."""
    import polars as pl

    measures = dict.fromkeys(name for report in reports for name in report.scores)
    rows = [
        {**report.model_dump(include={"id", "case", "group", "level"}), **report.scores}
        | {"cluster": report.patient or report.case}
        for report in reports
    ]
    return pl.DataFrame(rows, schema=KEYS | dict.fromkeys(measures, float))

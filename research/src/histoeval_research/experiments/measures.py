"""What is measured of a perturbed report: metrics against the true one, and dimensions of trust.

Metrics have the true report as their reference; dimensions of trust have none. Every number is a
share of the way from a measure's worst to its best, so that drops can be compared.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from histoeval.errors import MissingDependency, Problem, SettingError
from histoeval.io.tables.row_faults import shown
from histoeval.metric import Metric, Score
from histoeval.metrics.registry import create
from histoeval.nli.entailer import Entailer
from histoeval.pathgls.grounding.claims import claims_of
from histoeval.pathgls.grounding.decoys import builtin_decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, as_slide, embed_image
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.load import open_encoder
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.logic.score import DEFAULT_TOP, Top, logic_of, signature_of
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.reader.reader import Reader
from histoeval.reader.token_states import NAME as BUILTIN
from histoeval.reader.token_states import ReaderStates
from histoeval.report import Pair
from histoeval.run.models import Models, load_models
from histoeval.run.pipeline import answers
from histoeval.run.trust.case import attempt
from histoeval_research.experiments.rows import PerturbedRow

METRICS = ("bleu", "bertscore", "hare", "concordance")
GROUNDING, RAW, LOGIC, STABILITY = "grounding", "grounding_raw", "logic", "stability"

Found = float | Problem


class ReportMeasure(Protocol):
    """Gives each report of a set a number, or the reason why it has none."""

    @property
    def name(self) -> str:
        """What its column is called."""

    @property
    def signature(self) -> str:
        """Everything that a number depends on."""

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        """One answer per row, in their order."""


class ByMetric:
    """A metric, with the true report as the reference."""

    def __init__(self, metric: Metric) -> None:
        low, high = metric.range
        if not (math.isfinite(low) and math.isfinite(high) and metric.higher_is_better):
            raise SettingError(f"{metric.name} has no best and worst value to tell drops by")
        self._metric = metric
        self._low, self._width = low, high - low

    @property
    def name(self) -> str:
        """That of the metric."""
        return self._metric.name

    @property
    def signature(self) -> str:
        """That of the metric."""
        return str(self._metric.signature)

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        """How far each report agrees with the true one."""
        pairs = [
            Pair(id=row.id, reference=row.reference or "", candidate=row.report or "")
            for row in rows
        ]
        return [self._share(each) for each in answers(self._metric.score, pairs, _failed)]

    def _share(self, found: Score | Problem) -> Found:
        return found if isinstance(found, Problem) else (found.value - self._low) / self._width


class ByLogic:
    """Logic: whether a report contradicts itself."""

    name = LOGIC

    def __init__(self, reader: Reader, entailer: Entailer, top: Top | None = None) -> None:
        self._reader, self._entailer, self._top = reader, entailer, top or DEFAULT_TOP
        self.signature = f"{signature_of(entailer, self._top)}|{reader.identity}"

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        """Equation (2) of each report."""
        return [attempt(partial(self._one, row)) for row in rows]

    def _one(self, row: PerturbedRow) -> Found:
        (report,) = self._reader.read([row.report or ""])
        found = logic_of(report, self._entailer, top=self._top)
        return found if isinstance(found, Problem) else found.value


class ByGrounding:
    """Grounding: whether the image supports a report; calibrated, or the plain cosine."""

    def __init__(
        self, reader: Reader, encoder: ImageTextEncoder, folder: Path, mpp: float | None = None
    ) -> None:
        self._reader, self._encoder, self._folder, self._mpp = reader, encoder, folder, mpp
        self._foreign = builtin_decoys()
        self._last: tuple[str, EmbeddedImage | Problem] | None = None
        self.signature = f"grounding|{encoder.identity}|{self._foreign.identity}|{reader.identity}"

    def measure(self, rows: Sequence[PerturbedRow]) -> list[tuple[float, float] | Problem]:
        """Calibrated value and plain cosine of each report."""
        return [attempt(partial(self._one, row)) for row in rows]

    def _one(self, row: PerturbedRow) -> tuple[float, float] | Problem:
        bag = self._bag(row.image)
        if isinstance(bag, Problem):
            return bag
        (report,) = self._reader.read([row.report or ""])
        found = ground(bag, claims_of(report), self._encoder, self._foreign)
        return found if isinstance(found, Problem) else (found.value, found.raw)

    def _bag(self, image: str | None) -> EmbeddedImage | Problem:
        """The bag of an image; rows of one case follow each other, so the last is kept."""
        if image is None:
            return Problem("no_image", "the row names no image")
        if self._last is None or self._last[0] != image:
            path = self._folder / image
            there = path.exists()
            gone = Problem("missing_image", f"the image {image} is not there")
            bag = embed_image(path, self._encoder, mpp=self._mpp) if there else gone
            whole = bag if isinstance(bag, Problem) else as_slide(bag, self._encoder)
            self._last = (image, whole)
        return self._last[1]


class ByStability:
    """Stability: how far a report is from those that the row has under stain and attack."""

    name = STABILITY

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self.signature = f"stability|{distance.identity}"

    def measure(self, rows: Sequence[PerturbedRow]) -> list[Found]:
        """Equation (3) of each report."""
        return [attempt(partial(self._one, row)) for row in rows]

    def _one(self, row: PerturbedRow) -> Found:
        if row.report_augmented is None or row.report_attacked is None:
            return Problem("no_attacked_reports", "the row has no reports under stain and attack")
        found = stability_of(
            row.report or "",
            [("stain", row.report_augmented)],
            [("prompt", row.report_attacked)],
            self._distance,
        )
        return found if isinstance(found, Problem) else found.value


def _failed(message: str) -> Problem:
    return Problem(code="metric_failed", message=shown(message))


def open_metrics(specs: Sequence[str], models: Models) -> tuple[list[ByMetric], dict[str, str]]:
    """The metrics that can run here, and why the others cannot.

    Where no encoder is named, BERTScore is given the states of the shipped reader.
    """
    builtin = models.encoder is None or models.encoder == BUILTIN
    chosen = models.model_copy(update={"encoder": ReaderStates()}) if builtin else models
    loaded: Mapping[str, Any] = load_models(specs, chosen)
    made = [create(spec, loaded) for spec in specs]
    lacking = {m.name: reason for m in made if (reason := m.unavailable_reason()) is not None}
    return [ByMetric(m) for m in made if m.name not in lacking], lacking


def open_grounding(
    spec: str | None, reader: Reader, folder: Path, device: str | None, mpp: float | None
) -> ByGrounding | str:
    """Grounding, or why it cannot run here."""
    try:
        return ByGrounding(reader, open_encoder(spec, device), folder, mpp)
    except MissingDependency as error:
        if spec not in (None, BUILTIN):
            raise
        return str(error)

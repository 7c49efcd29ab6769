"""A row of a perturbed set, as it is written and read again."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from histoeval.errors import InputError, MissingDependency, Problem, SettingError
from histoeval.io.tables.encoding import open_lines, survey
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
from histoeval.report import Noun, Pair
from histoeval.run.models import Models, load_models
from histoeval.run.pipeline import answers
from histoeval.run.trust.case import attempt
from histoeval_research.experiments.edits.source_report import Change
from histoeval_research.experiments.token_states import NAME as BUILTIN
from histoeval_research.experiments.token_states import ReaderStates

RULES, MODEL = "rules", "model"
"""Who made an edit."""


class PerturbedRow(Noun):
    """One report of a perturbed set, or the reasons why its row of the input has none.

    `case` is the id of the true report, `reference` its text, and `patient` of whom it is, where
    that is known: reports of one patient are drawn together for intervals. On the control
    stands what could not be made of it, and why. `report_augmented` and `report_attacked` are as
    `trust` takes them.
    """

    id: str
    case: str = ""
    patient: str | None = None
    group: str = ""
    edit: str = ""
    level: int = 0
    by: str = RULES
    image: str | None = None
    report: str | None = None
    reference: str | None = None
    report_augmented: str | None = None
    report_attacked: str | None = None
    changes: tuple[Change, ...] = ()
    not_made: Mapping[str, str] = {}
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    @property
    def characters(self) -> int:
        """The length of the report."""
        return len(self.report or "")

    @property
    def cluster(self) -> str:
        """What is drawn as one for intervals."""
        return self.patient or self.case

    def line(self) -> bytes:
        """The row as one line of JSON; what is empty is omitted."""
        content = self.model_dump(mode="json", exclude_defaults=True)
        if not self.errors:
            content = {"id": self.id, "case": self.case, "level": self.level} | content
        else:
            content["errors"] = [
                {"code": e.code, "message": e.message, "column": e.column} for e in self.errors
            ]
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


class PerturbedSet(NamedTuple):
    """A perturbed set as the input of a run."""

    path: Path
    reports: Sequence[PerturbedRow]

    def rows(self) -> Iterator[PerturbedRow]:
        """Its reports."""
        return iter(self.reports)

    def identity(self) -> dict[str, Any]:
        """Its name and hash."""
        return {"input": self.path.name, "sha256": survey(self.path, "utf-8").sha256}

    def description(self) -> str:
        """Its name."""
        return self.path.name


def read_perturbed(path: Path) -> list[PerturbedRow]:
    """The reports of a perturbed set; rows that had errors are skipped."""
    rows: list[PerturbedRow] = []
    with open_lines(path, survey(path, "utf-8").encoding) as lines:
        for line in lines:
            if not line.isspace():
                rows.append(_row(line, f"{path}, line {lines.number}"))
    kept = [row for row in rows if not row.errors]
    if not kept:
        raise InputError(
            f"{path} holds no perturbed report; `histoeval experiment perturb` makes them"
        )
    twice = [name for name, count in Counter(row.id for row in kept).items() if count > 1]
    if twice:
        raise InputError(f"{path} has the id {twice[0]!r} twice")
    return kept


def _row(line: str, where: str) -> PerturbedRow:
    try:
        row = PerturbedRow.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the line"
        raise InputError(
            f"{where} is no row of a set as `histoeval experiment perturb` writes it: {place}: "
            f"{fault['msg']}"
        ) from error
    if not row.errors and not (row.report and row.reference and row.case and row.group):
        raise InputError(f"{where}: a row needs case, group, report and reference")
    return row


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

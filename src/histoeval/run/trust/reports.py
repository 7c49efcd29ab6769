"""Trust in many reports: grounding, logic and stability of each, and the verdict on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from histoeval.argument_names import argument
from histoeval.errors import (
    EndpointError,
    HistoEvalError,
    MissingDependency,
    OutputError,
    Problem,
    SettingError,
)
from histoeval.io.finished_run import write_texts
from histoeval.io.images import find_image, image_hash, refuse_changed
from histoeval.io.reports import CaseSource, TrustCase
from histoeval.io.store import RowStore
from histoeval.io.tables.records import shown
from histoeval.io.writing import protecting
from histoeval.nli.entailer import Entailer
from histoeval.pathgls.fusion import ROUTES, found_beside, fuse
from histoeval.pathgls.grounding.claims import claims_of, not_seen
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.decoys import Decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, as_slide, embed_image
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.score import Opinion, combine, ground, panel_identity
from histoeval.pathgls.logic.score import Top, logic_of, signature_of
from histoeval.pathgls.policy.policy import DIMENSIONS, Dimension, Policy
from histoeval.pathgls.results import Grounding, Logic, Stability
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.progress import ignore
from histoeval.reader.reader import Reader
from histoeval.report import Report
from histoeval.run.engines.engine import INLINE, Engine, Task, gpu_use
from histoeval.run.pipeline import Job, Watch
from histoeval.run.results import Verdicts
from histoeval.run.totals import ExactSum
from histoeval.run.trust.rows import (
    MissingReason,
    TrustFolder,
    TrustRow,
    Verdict,
    keep_patch_scores,
)
from histoeval.terms.language import Language, english_problem
from histoeval.version import __version__

if TYPE_CHECKING:
    from histoeval.pathgls.stability.examine import Examination
    from histoeval.vlm.model import Vlm

A = TypeVar("A")

Dimensions = Mapping[Dimension, Grounding | Logic | Stability | Problem]

# So many images are remembered, at half a megabyte each where a slide is sampled.
MAX_EMBEDDED_IMAGES = 64

NO_IMAGE = Problem("no_image", "the row names no image, so nothing can be compared with one")


@dataclass(frozen=True)
class TileSelection:
    """The tiles of a slide to examine: at most `most` (None: all), sampled with `seed`."""

    most: int | None
    seed: int = 0
    mpp: float | None = None  # microns per pixel, where the files do not say them

    def __post_init__(self) -> None:
        if self.mpp is not None and not 0 < self.mpp < inf:
            raise SettingError(f"--mpp {self.mpp:g} is no number of microns: give one above 0")


class VlmSetup(NamedTuple):
    model: Vlm
    examination: Examination


@dataclass(frozen=True)
class Instruments:
    """The models and settings that verdicts are made with.

    What no row of the input can need is not opened: encoders without images, the distance without
    reports under attack.
    """

    reader: Reader
    entailer: Entailer
    decoys: Decoys
    policy: Policy
    top: Top
    tiling: TileSelection
    # Several make a panel; pictures and patches are those of the first.
    encoders: tuple[ImageTextEncoder, ...] = ()
    no_encoder: Problem | None = None  # why there is none on this machine
    # Limits that users measured on their own cases, by the identity of the encoder.
    calibrations: Mapping[str, Decisions] = field(default_factory=dict)
    distance: Distance | None = None
    vlm_setup: VlmSetup | None = None
    language: Language = "en"
    # The last images that were looked at: several reports may be about one.
    embedded: dict[tuple[Path, str], EmbeddedImage | Problem] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Models travel to another process, images do not."""
        return vars(self) | {"embedded": {}}


def judge_case(case: TrustCase, folder: Path, instruments: Instruments) -> Verdict:
    """Return the verdict on one case; if its report cannot be read, everything is missing."""
    text, policy = case.report, instruments.policy
    if text is None:
        return Verdict(_row(case, {}, policy))
    if (language_problem := english_problem(instruments.language, report=text)) is not None:
        return Verdict(unjudged(case, language_problem, policy))
    report = attempt(lambda: instruments.reader.read([text])[0])
    if isinstance(report, Problem):
        reader_problem = Problem("reader_failed", report.message)
        return Verdict(_row(case, dict.fromkeys(DIMENSIONS, reader_problem), policy))
    image_choice = NO_IMAGE if case.image is None else case.image
    image = find_image(folder, image_choice) if isinstance(image_choice, str) else image_choice
    path = image if isinstance(image, Path) else None
    content = None if path is None else image_hash(path)
    grounding = attempt(lambda: _grounding(image, report, instruments))
    outcomes: Dimensions = {
        "grounding": grounding,
        "logic": attempt(lambda: logic_of(report, instruments.entailer, top=instruments.top)),
        "stability": attempt(lambda: _stability(case, text, image, instruments)),
    }
    embedded = None
    if path is not None and instruments.encoders:
        embedded = _embedded(path, instruments.encoders[0], instruments)
    return Verdict(
        _row(case, outcomes, policy, content),
        path,
        embedded if isinstance(embedded, EmbeddedImage) else None,
        grounding if isinstance(grounding, Grounding) else None,
    )


def unjudged(case: TrustCase, problem: Problem, policy: Policy) -> TrustRow:
    return _row(case._replace(report=None, problems=(problem,)), {}, policy)


def attempt(ask: Callable[[], A | Problem]) -> A | Problem:
    """Turn a failure into a `Problem`; a service that is gone or a full disk stops the run."""
    try:
        return ask()
    except (EndpointError, OutputError):
        raise
    except MissingDependency as error:
        return Problem("missing_extra", str(error))
    except HistoEvalError as error:
        return Problem("cannot_be_told", shown(str(error)))
    except Exception as error:  # noqa: BLE001 - whatever a model does wrong, the run continues
        return Problem("failed", shown(f"{type(error).__name__}: {error}"))


def _embedded(
    path: Path, encoder: ImageTextEncoder, instruments: Instruments
) -> EmbeddedImage | Problem:
    from histoeval.slides.tiles import TileRequest

    key, embedded, tiling = (path, encoder.identity), instruments.embedded, instruments.tiling

    def embed() -> EmbeddedImage | Problem:
        request = TileRequest(sample=tiling.most, seed=tiling.seed)
        image = embed_image(path, encoder, request, mpp=tiling.mpp)
        return image if isinstance(image, Problem) else as_slide(image, encoder)

    if key not in embedded:
        image = attempt(embed)
        if len(embedded) >= MAX_EMBEDDED_IMAGES:
            del embedded[next(iter(embedded))]
        embedded[key] = image
    return embedded[key]


def _grounding(
    image: Path | Problem, report: Report, instruments: Instruments
) -> Grounding | Problem:
    """Ground the report with the encoder, or with each of a panel and by their majority."""
    if isinstance(image, Problem):
        return image
    if instruments.no_encoder is not None:
        return instruments.no_encoder
    opinions, claims = [], claims_of(report)
    for encoder in instruments.encoders:
        outcome: Grounding | Problem | EmbeddedImage = _embedded(image, encoder, instruments)
        if isinstance(outcome, EmbeddedImage):
            limits = instruments.calibrations.get(encoder.identity)
            outcome = attempt(partial(ground, outcome, claims, encoder, instruments.decoys, limits))
        opinions.append(Opinion(encoder.identity, outcome))
    outcome = opinions[0].outcome if len(opinions) == 1 else combine(opinions)
    if isinstance(outcome, Problem):
        return outcome
    return outcome.model_copy(update={"notes": (*outcome.notes, *not_seen(report))})


def _stability(
    case: TrustCase, text: str, image: Path | Problem, instruments: Instruments
) -> Stability | Problem:
    """Measure stability by the reports of the row; if it has none, by asking the model."""
    distance, setup = instruments.distance, instruments.vlm_setup
    if case.troubled:
        return case.troubled[0]
    if distance is not None and (case.augmented or case.attacked):
        return stability_of(text, case.augmented, case.attacked, distance)
    if distance is None or setup is None:
        return Problem(
            "no_attacked_reports",
            "there are no reports under attack: give columns report_augmented and "
            f"report_attacked, or the model itself with {argument('endpoint')} and "
            f"{argument('model')}",
        )
    if isinstance(image, Problem):
        return image
    from histoeval.pathgls.stability.examine import stability_for

    return stability_for(image, text, *setup, distance, specimen=case.specimen)


def _row(
    case: TrustCase, outcomes: Dimensions, policy: Policy, content: str | None = None
) -> TrustRow:
    problems = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Problem)}
    results = {
        name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Problem)
    }
    values: dict[str, Any] = {
        name: results[name].value if name in results else None for name in DIMENSIONS
    }
    grounding, logic = results.get("grounding"), results.get("logic")
    checks = found_beside(
        grounding if isinstance(grounding, Grounding) else None,
        logic if isinstance(logic, Logic) else None,
    )
    reasons = dict.fromkeys(DIMENSIONS, case.problems[0].message) if case.problems else {}
    reasons |= {name: problem.message for name, problem in problems.items()}
    trust = fuse(**values, weights=policy.weights, policy=policy, unknown=reasons, **checks)
    evidence: dict[str, Any] = {"image": case.image} if isinstance(case.image, str) else {}
    if content is not None:
        evidence["image_hash"] = content
    evidence |= {name: outcome.model_dump(mode="json") for name, outcome in results.items()}
    evidence["trust"] = {
        **trust.model_dump(mode="json", include={"low", "high", "reason", "missing"}),
        "weights": policy.weights.model_dump(),
        "policy": policy.identity,
    }
    cancer = checks.get("cancer")
    return TrustRow(
        id=case.id,
        row=case.number,
        **values,
        trust=trust.value,
        route=trust.route,
        cancer_check=cancer.verdict if cancer else "not_checked",
        evidence=evidence,
        errors=(
            *(MissingReason.of(problem) for problem in case.problems),
            *(MissingReason.of(problem, name) for name, problem in problems.items()),
        ),
    )


# Draws pictures of the evidence of a verdict, and returns its row with their names.
Illustrate = Callable[[Verdict], TrustRow]


def trust_source(
    source: CaseSource,
    instruments: Instruments,
    folder: TrustFolder | None = None,
    *,
    illustrate: Illustrate | None = None,
    overwrite: bool = False,
    watch: Watch = ignore,
    conclude: Callable[[dict[str, Any]], None] = ignore,
    engine: Engine = INLINE,
    batch_size: int | None = None,
    texts: bool = True,
) -> Verdicts:
    """Judge every report of a source; with a folder, a stopped run resumes."""
    patch_folder = None if folder is None or not texts else folder.folder
    job = TrustJob(source, instruments, illustrate if texts else None, patch_folder, batch_size)
    images: Iterator[Path] = iter(())
    if folder is not None and folder.evidence.is_dir():
        # some may lie among the pictures of the evidence, and be replaced by them
        cases = (case.image for case in source.rows())
        images = (source.folder / image for image in cases if isinstance(image, str))
    with protecting(images):
        result = job.run(
            folder, overwrite=overwrite, watch=watch, conclude=conclude, engine=engine, texts=texts
        )
    return Verdicts(result.summary, result.rows)


@dataclass(eq=False)
class TrustTask(Task[TrustCase, TrustRow]):
    instruments: Instruments
    images: Path
    illustrate: Illustrate | None
    folder: Path | None
    name = "trust"
    small = 2

    def __post_init__(self) -> None:
        instruments = self.instruments
        models = (instruments.reader, instruments.entailer, *instruments.encoders)
        self.on_gpu, self.shares_gpu = gpu_use(models)
        self.parallel = instruments.vlm_setup is None

    def work(self, rows: Sequence[TrustCase]) -> list[TrustRow]:
        verdicts = [judge_case(case, self.images, self.instruments) for case in rows]
        if self.folder is not None:
            for verdict in verdicts:
                keep_patch_scores(verdict, self.folder, self.instruments.encoders)
        if self.illustrate is None:
            return [verdict.row for verdict in verdicts]
        return [self.illustrate(verdict) for verdict in verdicts]

    def failed(self, row: TrustCase, problem: Problem) -> TrustRow:
        """Return the row of a report without verdict, which is never deployed."""
        return unjudged(row, problem, self.instruments.policy)


class TrustJob(Job[TrustCase, TrustRow]):
    block_rows = 1

    source: CaseSource

    def __init__(
        self,
        source: CaseSource,
        instruments: Instruments,
        illustrate: Illustrate | None = None,
        folder: Path | None = None,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(source, batch_size)
        self.instruments = instruments
        self.task = TrustTask(instruments, source.folder, illustrate, folder)
        self.has_pictures = illustrate is not None
        self._sums = {name: ExactSum() for name in (*DIMENSIONS, "trust")}
        self._known: Counter[str] = Counter()
        self._routes: Counter[str] = Counter()
        self._cancer_checks: Counter[str] = Counter()

    def keep_texts(self, store: RowStore[TrustRow]) -> None:
        cases = self.source.rows()
        write_texts(store.path.parent, ({"id": case.id, "report": case.report} for case in cases))

    def request(self) -> dict[str, Any]:
        logic = signature_of(self.instruments.entailer, self.instruments.top)
        return super().request() | {"pictures": self.has_pictures, "logic": logic}

    def summary(self) -> dict[str, Any]:
        summary = super().summary()
        return {"input": summary.pop("input"), "histoeval": __version__, **summary}

    def _settings(self) -> dict[str, Any]:
        instruments = self.instruments
        encoder = None if instruments.no_encoder is None else instruments.no_encoder.code
        if instruments.encoders:
            encoder = panel_identity([encoder.identity for encoder in instruments.encoders])
        distance, setup, tiling = instruments.distance, instruments.vlm_setup, instruments.tiling
        return {
            "reader": instruments.reader.identity,
            "nli": instruments.entailer.identity,
            "encoder": encoder,
            "distance": None if distance is None else distance.identity,
            "subject": None
            if setup is None
            else {"model": setup.model.identity, **setup.examination.pins()},
            **{
                f"calibration of {name}": limits.identity
                for name, limits in instruments.calibrations.items()
            },
            "foreign": instruments.decoys.identity,
            "top": str(instruments.top),
            "tiles": {"most": tiling.most, "seed": tiling.seed, "mpp": tiling.mpp},
            **({} if instruments.language == "en" else {"language": instruments.language}),
            "policy": instruments.policy.content(),
        }

    def _is_result(self, row: TrustRow, case: TrustCase) -> bool:
        if (row.id, row.row) != (case.id, case.number):
            return False
        if isinstance(case.image, str):
            path = self.source.folder / case.image
            refuse_changed(case.image, path, row.evidence.get("image_hash"))
        return True

    def _add(self, row: TrustRow) -> None:
        self.tally.count([Problem(error.code, error.message) for error in row.errors])
        self._routes[row.route] += 1
        self._cancer_checks[row.cancer_check] += 1
        for name, total in self._sums.items():
            if (value := getattr(row, name)) is not None:
                self._known[name] += 1
                total.add(value)

    def _totals(self) -> dict[str, Any]:
        means = {
            name: {
                "known": (known_count := self._known[name]),
                "missing": self.tally.rows - known_count,
                "mean": total.value / known_count if known_count else None,
            }
            for name, total in self._sums.items()
        }
        return {
            "routes": {route: self._routes[route] for route in ROUTES},
            "cancer_checks": dict(sorted(self._cancer_checks.items())),
            "means": means,
        }

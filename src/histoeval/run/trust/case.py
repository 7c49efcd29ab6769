"""One report after another: its three dimensions, its trust, and the verdict, with the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from histoeval.callers import argument
from histoeval.errors import (
    EndpointError,
    HistoEvalError,
    MissingDependency,
    OutputError,
    Problem,
    SettingError,
)
from histoeval.io.images import find_image, image_hash
from histoeval.io.reports import TrustCase
from histoeval.io.tables.row_faults import shown
from histoeval.nli.entailer import Entailer
from histoeval.pathgls.fusion import Trust, fuse
from histoeval.pathgls.grounding.claims import claims_of, not_seen
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.decoys import Decoys
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, as_slide, embed_image
from histoeval.pathgls.grounding.encoder import ImageTextEncoder
from histoeval.pathgls.grounding.panel import Opinion, combine
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.logic.score import Top, logic_of
from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import Grounding, Logic, Stability
from histoeval.pathgls.stability.distance import Distance
from histoeval.pathgls.stability.score import stability_of
from histoeval.reader.reader import Reader
from histoeval.report import Report
from histoeval.run.trust.rows import MissingReason, TrustRow
from histoeval.terms.language import Language, english_problem

if TYPE_CHECKING:
    from histoeval.pathgls.stability.examine import Examination
    from histoeval.vlm.model import Vlm

A = TypeVar("A")

Dimensions = Mapping[str, Grounding | Logic | Stability | Problem]

MOST_BAGS = 64
"""So many images are remembered, at half a megabyte each where a slide is sampled."""

NO_IMAGE = Problem("no_image", "the row names no image, so nothing can be compared with one")


@dataclass(frozen=True)
class TileSelection:
    """Which tiles of a slide are looked at: how many, or all (None), and by which seed."""

    most: int | None
    seed: int = 0
    mpp: float | None = None
    """Microns per pixel, where the files do not say them."""

    def __post_init__(self) -> None:
        if self.mpp is not None and not 0 < self.mpp < inf:
            raise SettingError(f"--mpp {self.mpp:g} is no number of microns: give one above 0")


class VlmSetup(NamedTuple):
    """The model that wrote the reports, and what it is shown and asked for."""

    subject: Vlm
    examination: Examination


@dataclass(frozen=True)
class Instruments:
    """The models and settings that verdicts are made with.

    What no row of the input can need is not opened: the encoder without images, the distance
    without reports under attack.
    """

    reader: Reader
    entailer: Entailer
    foreign: Decoys
    policy: Policy
    top: Top
    tiling: TileSelection
    encoder: ImageTextEncoder | Problem | None = None
    """A problem where there is none on this machine; of a panel the first."""
    further: tuple[ImageTextEncoder, ...] = ()
    """The other encoders of a panel."""
    calibrations: Mapping[str, Decisions] = field(default_factory=dict)
    """Limits that users measured on their own cases, by the identity of the encoder."""
    distance: Distance | None = None
    asking: VlmSetup | None = None
    language: Language = "en"
    bags: dict[tuple[Path, str], EmbeddedImage | Problem] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The last images that were looked at: several reports may be about one."""

    def __getstate__(self) -> dict[str, Any]:
        """Models travel to another process, images do not."""
        return vars(self) | {"bags": {}}

    @property
    def eyes(self) -> ImageTextEncoder:
        """The encoder, for those who have seen that there is one."""
        assert self.encoder is not None, "rows with images come with an encoder"
        assert not isinstance(self.encoder, Problem), "without one there is no bag"
        return self.encoder


class Verdict(NamedTuple):
    """A row, and what pictures of its evidence can be drawn from."""

    row: TrustRow
    image: Path | None = None
    bag: EmbeddedImage | None = None
    grounding: Grounding | None = None


def judge_case(case: TrustCase, folder: Path, tools: Instruments) -> Verdict:
    """The verdict on one case; where its report cannot be read, all of it is missing."""
    if case.report is None:
        return Verdict(_row(case, {}, tools.policy))
    text = case.report
    if no := english_problem(tools.language, report=text):
        return Verdict(unjudged(case, no, tools.policy))
    report = attempt(lambda: tools.reader.read([text])[0])
    if isinstance(report, Problem):
        failed = Problem("reader_failed", report.message)
        return Verdict(_row(case, dict.fromkeys(DIMENSIONS, failed), tools.policy))
    named = NO_IMAGE if case.image is None else case.image
    image = find_image(folder, named) if isinstance(named, str) else named
    content = image_hash(image) if isinstance(image, Path) else None
    bag = _first_bag(image, tools)
    found: Dimensions = {
        "grounding": attempt(lambda: _grounding(image, bag, report, tools)),
        "logic": attempt(lambda: logic_of(report, tools.entailer, top=tools.top)),
        "stability": attempt(lambda: _stability(case, text, image, tools)),
    }
    grounding = found["grounding"]
    return Verdict(
        _row(case, found, tools.policy, content),
        image if isinstance(image, Path) else None,
        bag if isinstance(bag, EmbeddedImage) else None,
        grounding if isinstance(grounding, Grounding) else None,
    )


def unjudged(case: TrustCase, problem: Problem, policy: Policy) -> TrustRow:
    """The row of a case of which nothing could be found."""
    return _row(case._replace(report=None, problems=(problem,)), {}, policy)


def attempt(ask: Callable[[], A | Problem]) -> A | Problem:
    """What is found, or why it is not; a service that is gone or a full disk stops the run."""
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


def _first_bag(image: Path | Problem, tools: Instruments) -> EmbeddedImage | Problem:
    """The image as the encoder sees it, or the first of a panel."""
    if isinstance(image, Problem):
        return image
    if isinstance(tools.encoder, Problem):
        return tools.encoder
    return attempt(lambda: _bag(image, tools, tools.eyes))


def _bag(path: Path, tools: Instruments, eyes: ImageTextEncoder) -> EmbeddedImage | Problem:
    """The image as an encoder sees it."""
    from histoeval.slides.tiles import TileRequest

    key = (path, eyes.identity)
    if key not in tools.bags:
        request = TileRequest(sample=tools.tiling.most, seed=tools.tiling.seed)
        bag = embed_image(path, eyes, request, mpp=tools.tiling.mpp)
        if len(tools.bags) >= MOST_BAGS:
            del tools.bags[next(iter(tools.bags))]
        tools.bags[key] = bag if isinstance(bag, Problem) else as_slide(bag, eyes)
    return tools.bags[key]


def _grounding(
    image: Path | Problem, bag: EmbeddedImage | Problem, report: Report, tools: Instruments
) -> Grounding | Problem:
    """By the encoder, or by each of a panel and then the majority of them."""
    if isinstance(image, Problem):
        return image
    if isinstance(bag, Problem) and not tools.further:
        return bag

    def seen_by(encoder: ImageTextEncoder) -> Grounding | Problem:
        own = bag if encoder is tools.eyes else attempt(lambda: _bag(image, tools, encoder))
        if isinstance(own, Problem):
            return own
        limits = tools.calibrations.get(encoder.identity)
        return attempt(lambda: ground(own, claims_of(report), encoder, tools.foreign, limits))

    panel = (tools.eyes, *tools.further)
    opinions = [Opinion(encoder.identity, seen_by(encoder)) for encoder in panel]
    found = opinions[0].found if len(opinions) == 1 else combine(opinions)
    if isinstance(found, Problem):
        return found
    return found.model_copy(update={"notes": (*found.notes, *not_seen(report))})


def _no_attack() -> Problem:
    return Problem(
        "no_attacked_reports",
        "there are no reports under attack: give columns report_augmented and report_attacked, or "
        f"the model itself with {argument('endpoint')} and {argument('model')}",
    )


def _stability(
    case: TrustCase, text: str, image: Path | Problem, tools: Instruments
) -> Stability | Problem:
    """By the reports that the row holds; where it holds none, by asking the model for them."""
    if case.troubled:
        return case.troubled[0]
    if tools.distance is None:
        return _no_attack()
    if case.augmented or case.attacked:
        return stability_of(text, case.augmented, case.attacked, tools.distance)
    if tools.asking is None:
        return _no_attack()
    if isinstance(image, Problem):
        return image
    from histoeval.pathgls.stability.examine import stability_for

    return stability_for(image, text, *tools.asking, tools.distance, specimen=case.specimen)


def _row(
    case: TrustCase, found: Dimensions, policy: Policy, content: str | None = None
) -> TrustRow:
    values: dict[str, Any] = {
        name: None if name not in found or isinstance(each := found[name], Problem) else each.value
        for name in DIMENSIONS
    }
    beside = _beside_values(case, found)
    trust = fuse(**values, weights=policy.weights, policy=policy, **beside)
    errors = [MissingReason.of(problem) for problem in case.problems]
    errors += [
        MissingReason.of(each, name) for name, each in found.items() if isinstance(each, Problem)
    ]
    return TrustRow(
        id=case.id,
        row=case.number,
        **values,
        trust=trust.value,
        route=trust.route,
        cancer_check=cancer.verdict if (cancer := beside.get("cancer")) else "not_checked",
        evidence=_evidence(case, found, trust, policy, content),
        errors=tuple(errors),
    )


def _beside_values(case: TrustCase, found: Dimensions) -> dict[str, Any]:
    """What the dimensions found beside their values, as `fuse` takes it."""
    seen, logic = found.get("grounding"), found.get("logic")
    beside: dict[str, Any] = {}
    if isinstance(seen, Grounding):
        beside |= {"claims_known": seen.claims_known, "image_verdict": seen.verdict}
        beside["cancer"] = seen.cancer
    if isinstance(logic, Logic):
        beside["contradictions"] = logic.contradictions
    row = dict.fromkeys(DIMENSIONS, case.problems[0].message) if case.problems else {}
    why = {name: each.message for name, each in found.items() if isinstance(each, Problem)}
    return {**beside, "unknown": {**row, **why}}


def _evidence(
    case: TrustCase, found: Dimensions, trust: Trust, policy: Policy, content: str | None
) -> dict[str, Any]:
    """All that a person can check: what each dimension found, and how the verdict came."""
    details: dict[str, Any] = {
        name: each.model_dump(mode="json")
        for name, each in found.items()
        if not isinstance(each, Problem)
    }
    verdict = trust.model_dump(mode="json", include={"low", "high", "reason", "missing"})
    weights = policy.weights.model_dump()
    image = {"image": case.image} if isinstance(case.image, str) else {}
    if content is not None:
        image["image_hash"] = content
    return {**image, **details, "trust": {**verdict, "weights": weights, "policy": policy.identity}}

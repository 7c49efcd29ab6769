"""Three dimensions become one trust value, and the value a verdict: deploy, review or reject.

The paper's sum, and nothing else: nothing that is missing is replaced, and no weight is re-scaled.
With something missing there are still bounds: trust with the worst and with the best value that
the missing dimension could have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple, Self

from histoeval.pathgls.policy.policy import (
    DIMENSIONS,
    ROUNDING,
    Dimension,
    DimensionWeights,
    Policy,
)
from histoeval.pathgls.results import (
    CancerCheck,
    Contradiction,
    Grounding,
    GroundingVerdict,
    Logic,
    Share,
)
from histoeval.report import Noun

ReasonKind = Literal[
    "contradicts_itself",
    "image_contradicts",
    "too_low",
    "never_deploys",
    "missing",
    "cancer_not_checked",
    "cancer_not_confirmed",
    "image_not_known",
    "in_between",
    "below_floor",
    "few_claims",
]

MAX_QUOTED = 80  # characters of a report that a reason quotes


class Reason(NamedTuple):
    kind: ReasonKind
    text: str
    about: tuple[str, ...] = ()  # the dimensions, or the two quotations, that it is about


class RoutedReport(NamedTuple):
    known: Mapping[Dimension, float | None]
    missing: tuple[Dimension, ...]  # dimensions that the policy needs and that are not known
    low: float
    high: float  # what trust is at least and at most
    claims_known: float | None = None
    contradictions: Sequence[Contradiction] = ()
    image_verdict: GroundingVerdict | None = None
    cancer: CancerCheck | None = None  # none: nobody checked
    unknown: Mapping[str, str] = {}  # for dimensions that are missing: why

    @classmethod
    def of(cls, known: Mapping[Dimension, float | None], policy: Policy, **beside: Any) -> Self:
        """The paper's sum, each dimension times its weight, and its bounds."""

        def total(bound: float) -> float:
            values = [bound if (value := known[name]) is None else value for name in DIMENSIONS]
            pairs = zip(values, policy.weights.numbers, strict=True)
            return min(1.0, sum(value * weight for value, weight in pairs))

        missing = tuple(name for name in policy.required if known[name] is None)
        return cls(known, missing, total(0.0), total(1.0), **beside)


def found_beside(grounding: Grounding | None, logic: Logic | None) -> dict[str, Any]:
    beside: dict[str, Any] = {}
    if grounding is not None:
        beside |= {"claims_known": grounding.claims_known, "image_verdict": grounding.verdict}
        beside["cancer"] = grounding.cancer
    if logic is not None:
        beside["contradictions"] = logic.contradictions
    return beside


def reasons_to_reject(report: RoutedReport, policy: Policy) -> Iterator[Reason]:
    """Reasons to reject a report, the gravest first."""
    if (clash := _certain_contradiction(report, policy)) is not None:
        yield clash
    if report.image_verdict == "contradicted" and policy.reject_if.image_contradicts:
        yield _IMAGE_CONTRADICTS
    if report.high < policy.reject_below - ROUNDING:
        high, bound = f"{report.high:.3f}", f"below {policy.reject_below:g}"
        text = f"trust {high} is {bound}"
        if report.missing:
            condition = f"without {_listed(report.missing)}"
            text = f"{condition} trust is at most {high}, {bound} whatever is missing"
        yield Reason("too_low", text)


def reasons_to_review(report: RoutedReport, policy: Policy) -> Iterator[Reason]:
    """Reasons not to deploy a report that is not rejected, the gravest first."""
    if policy.deploy_from is None:
        explanation = "deploys nothing by itself: a person reads what is not rejected"
        yield Reason("never_deploys", f"the policy {policy.name} {explanation}")
        return
    if report.missing:
        yield Reason("missing", _not_known(report, policy), report.missing)
    if report.image_verdict == "contradicted":
        yield _IMAGE_CONTRADICTS
    if report.cancer is None or report.cancer.verdict == "not_checked":
        explanation = "" if report.cancer is None else f": {report.cancer.why}"
        yield Reason("cancer_not_checked", f"cancer was not checked here{explanation}")
    elif report.cancer.verdict != "agrees":
        yield Reason("cancer_not_confirmed", report.cancer.why)
    if report.image_verdict == "not_known" and policy.asks("grounding"):
        explanation = "is not known, and nothing is deployed without that"
        yield Reason("image_not_known", f"whether the image supports the report {explanation}")
    if not report.missing and report.low < policy.deploy_from - ROUNDING:
        bounds = f"{policy.reject_below:g} and {policy.deploy_from:g}"
        yield Reason("in_between", f"trust {report.low:.3f} lies between {bounds}")
    floors = policy.floors.model_dump()
    below_floors = {
        name: f"{name} {value:.3f} is below its floor {floors[name]:g}"
        for name, value in report.known.items()
        if floors[name] is not None and value is not None and value < floors[name] - ROUNDING
    }
    share = report.claims_known
    is_few = share is not None and share < policy.claims_known - ROUNDING
    limits = [f"only {share:.0%} of the claims are known to the encoder"] if is_few else []
    text = f"trust {report.low:.3f} would do, but {' and '.join([*below_floors.values(), *limits])}"
    if below_floors:
        yield Reason("below_floor", text, tuple(below_floors))
    if limits:
        yield Reason("few_claims", text)


_IMAGE_CONTRADICTS = Reason(
    "image_contradicts", "the image contradicts the organ or the diagnosis that the report names"
)


def _certain_contradiction(report: RoutedReport, policy: Policy) -> Reason | None:
    """A contradiction of the report that is certain, or a logic so low that one of them must be."""
    conditions, logic = policy.reject_if, report.known["logic"]
    if (
        logic is None
        or conditions.logic_below is None
        or logic >= conditions.logic_below - ROUNDING
    ):
        return None
    for contradiction in report.contradictions:
        if contradiction.probability >= conditions.certain_from - ROUNDING:
            first, second = _quoted(contradiction.first.text), _quoted(contradiction.second.text)
            rule = contradiction.source.removeprefix("rule:")
            judge = "the NLI model" if rule == "nli" else f"the rule {rule}"
            return Reason(
                "contradicts_itself",
                f"the report contradicts itself: {first} and {second} cannot both be true "
                f"(by {judge}; logic {logic:.3f})",
                (first, second),
            )
    if logic <= 1 - conditions.certain_from + ROUNDING:
        return Reason("contradicts_itself", f"the report contradicts itself (logic {logic:.3f})")
    return None


def _quoted(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return f"“{line if len(line) <= MAX_QUOTED else line[: MAX_QUOTED - 1] + '…'}”"


def _not_known(report: RoutedReport, policy: Policy) -> str:
    parts = []
    for reason, names in groupby(report.missing, key=report.unknown.get):
        dimensions = list(names)
        verb = "is" if len(dimensions) == 1 else "are"
        parts.append(f"{_listed(dimensions)} {verb} not known" + (f" ({reason})" if reason else ""))
    return (
        f"{'; '.join(parts)}: the policy {policy.name} deploys nothing without "
        f"{_listed(report.missing)}; trust lies between {report.low:.3f} and {report.high:.3f}"
    )


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


Route = Literal["deploy", "review", "reject"]
ROUTES: tuple[Route, ...] = ("deploy", "review", "reject")


class Trust(Noun):
    value: Share | None  # missing where a dimension that counts is
    low: Share
    high: Share  # what trust is at least and at most; both are the value where nothing is missing
    route: Route
    reason: str
    missing: tuple[str, ...] = ()


def fuse(
    grounding: Share | None,
    logic: Share | None,
    stability: Share | None,
    weights: DimensionWeights,
    policy: Policy,
    **beside: Any,
) -> Trust:
    """Trust and verdict; with something missing there are bounds only, and never `deploy`.

    Without a cancer check that agrees nothing is deployed.
    """
    policy = policy.weighing(weights)
    scores = dict(zip(DIMENSIONS, (grounding, logic, stability), strict=True))
    report = RoutedReport.of(scores, policy, **beside)
    route: Route
    if (fault := next(reasons_to_reject(report, policy), None)) is not None:
        route, reason = "reject", fault.text
    elif (doubt := next(reasons_to_review(report, policy), None)) is not None:
        route, reason = "review", doubt.text
    else:
        route, reason = "deploy", f"trust {report.low:.3f} is at least {policy.deploy_from:g}"
    low, high, missing = report.low, report.high, report.missing
    value = None if any(getattr(weights, name) > 0 for name in missing) else low
    return Trust(value=value, low=low, high=high, route=route, reason=reason, missing=missing)

"""Three dimensions become one trust value, and the value a verdict: deploy, review or reject.

The paper's sum, and nothing else: nothing that is missing is replaced, and no weight is re-scaled.
With something missing there are still bounds: trust with the worst and with the best value that
the missing dimension could have.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from histoeval.pathgls.policy.policy import DIMENSIONS, Dimension, DimensionWeights, Policy
from histoeval.pathgls.policy.routing import RoutedReport, reasons_to_reject, reasons_to_review
from histoeval.pathgls.results import CancerCheck, Contradiction, GroundingVerdict, Share
from histoeval.report import Noun

Route = Literal["deploy", "review", "reject"]
ROUTES: tuple[Route, ...] = ("deploy", "review", "reject")


class Trust(Noun):
    """How far a report can be trusted, and what is to be done with it."""

    value: Share | None
    """Missing where a dimension that counts is."""
    low: Share
    high: Share
    """What trust is at least and at most; both are the value where nothing is missing."""
    route: Route
    reason: str
    missing: tuple[str, ...] = ()


def total(grounding: float, logic: float, stability: float, weights: DimensionWeights) -> float:
    """The paper's sum: each dimension times its weight."""
    summed = grounding * weights.grounding + logic * weights.logic + stability * weights.stability
    return min(1.0, summed)


def fuse(
    grounding: Share | None,
    logic: Share | None,
    stability: Share | None,
    weights: DimensionWeights,
    policy: Policy,
    *,
    claims_known: Share | None = None,
    contradictions: Sequence[Contradiction] = (),
    image_verdict: GroundingVerdict | None = None,
    cancer: CancerCheck | None = None,
    unknown: Mapping[str, str] | None = None,
) -> Trust:
    """Trust and verdict. With something missing there are bounds only, and never `deploy`.

    What else the instruments found counts where it is given: the share of the claims that
    grounding is about, the contradictions that logic found, the verdict of grounding, and, for
    dimensions that are missing, why. Without a cancer check that agrees nothing is deployed.
    """
    policy = policy.weighing(weights)
    known = dict(zip(DIMENSIONS, (grounding, logic, stability), strict=True))
    missing = tuple(name for name in policy.required if known[name] is None)
    low, high = (_with(bound, known, weights) for bound in (0.0, 1.0))
    report = RoutedReport(
        known,
        missing,
        low,
        high,
        claims_known=claims_known,
        contradictions=tuple(contradictions),
        image_verdict=image_verdict,
        cancer=cancer,
        unknown=unknown or {},
    )
    route, reason = _route(report, policy)
    counts = any(getattr(weights, name) > 0 for name in missing)
    return Trust(
        value=None if counts else low,
        low=low,
        high=high,
        route=route,
        reason=reason,
        missing=missing,
    )


def _with(bound: float, known: dict[Dimension, float | None], weights: DimensionWeights) -> float:
    """Trust with a bound in place of all that is missing."""
    grounding, logic, stability = (bound if value is None else value for value in known.values())
    return total(grounding, logic, stability, weights)


def _route(report: RoutedReport, policy: Policy) -> tuple[Route, str]:
    """What is done with a report, and the gravest reason for it."""
    if (wrong := next(reasons_to_reject(report, policy), None)) is not None:
        return "reject", wrong.text
    if (doubt := next(reasons_to_review(report, policy), None)) is not None:
        return "review", doubt.text
    return "deploy", f"trust {report.low:.3f} is at least {policy.deploy_from:g}"

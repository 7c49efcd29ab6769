"""Three dimensions become one trust value, and the value a verdict: deploy, review or reject.

The paper's sum, and nothing else: nothing that is missing is replaced, and no weight is re-scaled.
With something missing there are still bounds: trust with the worst and with the best value that
the missing dimension could have.
"""

from typing import Literal

from histoeval.pathgls.policy.policy import (
    DIMENSIONS,
    ROUNDING,
    Dimension,
    DimensionWeights,
    Policy,
)
from histoeval.pathgls.results import Share
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
) -> Trust:
    """Trust and verdict. With something missing there are bounds only, and never `deploy`.

    `claims_known` is the share of the claims that grounding is about, where that is known.
    """
    policy = policy.weighing(weights)
    known = dict(zip(DIMENSIONS, (grounding, logic, stability), strict=True))
    missing = tuple(name for name in DIMENSIONS if known[name] is None and policy.asks(name))
    low, high = (_with(bound, known, weights) for bound in (0.0, 1.0))
    counts = any(getattr(weights, name) > 0 for name in missing)
    route, reason = _route(known, missing, low, high, policy)
    if route == "deploy" and (few := _too_few(claims_known, policy)):
        route, reason = "review", f"trust {low:.3f} would do, but {few}"
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


def _route(
    known: dict[Dimension, float | None],
    missing: tuple[Dimension, ...],
    low: float,
    high: float,
    policy: Policy,
) -> tuple[Route, str]:
    """What is done with a report, and why."""
    if high < policy.reject_below - ROUNDING:
        return "reject", _too_low(missing, high, policy)
    if missing:
        return "review", f"{_without(missing, low, high)}: nothing is deployed with a part missing"
    if policy.deploy_from is None:
        return "review", "the policy deploys nothing"
    if low < policy.deploy_from - ROUNDING:
        return "review", (
            f"trust {low:.3f} lies between {policy.reject_below:g} and {policy.deploy_from:g}"
        )
    if below := _below_floors(known, policy):
        return "review", f"trust {low:.3f} would do, but {' and '.join(below)}"
    return "deploy", f"trust {low:.3f} is at least {policy.deploy_from:g}"


def _below_floors(known: dict[Dimension, float | None], policy: Policy) -> list[str]:
    found = []
    for name, value in known.items():
        floor = getattr(policy.floors, name)
        if floor is not None and value is not None and value < floor - ROUNDING:
            found.append(f"{name} {value:.3f} is below its floor {floor:g}")
    return found


def _too_few(known: float | None, policy: Policy) -> str | None:
    if known is None or known >= policy.claims_known - ROUNDING:
        return None
    return f"only {known:.0%} of the claims are known to the encoder"


def _too_low(missing: tuple[Dimension, ...], high: float, policy: Policy) -> str:
    if not missing:
        return f"trust {high:.3f} is below {policy.reject_below:g}"
    return (
        f"without {' and '.join(missing)} trust is at most {high:.3f}, below "
        f"{policy.reject_below:g} whatever is missing"
    )


def _without(missing: tuple[Dimension, ...], low: float, high: float) -> str:
    return f"without {' and '.join(missing)} trust lies between {low:.3f} and {high:.3f}"

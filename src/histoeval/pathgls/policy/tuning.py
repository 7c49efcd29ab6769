"""Weights by grid search on labelled reports, measured on reports that did not choose them.

For every outer fold the weights and thresholds are chosen on the other folds alone, by the mean
over inner folds, and then measured on it; the result is the mean of those measurements. Reports of
one case are never on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from histoeval.errors import InputError
from histoeval.pathgls.fusion import ROUTES, fuse
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, Dimension, DimensionWeights, Policy
from histoeval.pathgls.results import CancerCheck, Share
from histoeval.report import Noun
from histoeval.settings import Option

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_DIGITS = 17  # enough digits to distinguish any two numbers

Price = Annotated[FiniteFloat, Field(ge=0)]


THRESHOLDS = "Thresholds"


class Target(Noun):
    """Tolerated mistakes: as shares of what is deployed, and of what is rejected.

    The upper end of the one-sided Clopper-Pearson interval must keep to the share, so that few
    examples deploy nothing. With a `confidence` of 0.5 the share itself must, as it was counted.
    """

    wrong_deployed: Annotated[
        Share,
        Option("Highest share of wrong reports among those deployed.", THRESHOLDS, min=0, max=1),
    ] = 0.05
    right_rejected: Annotated[
        Share,
        Option("Highest share of right reports among those rejected.", THRESHOLDS, min=0, max=1),
    ] = 0.05
    confidence: Annotated[
        float,
        Field(ge=0.5, lt=1.0),
        Option(
            "Confidence that the shares hold; 0.5 takes them as they were counted.",
            THRESHOLDS,
            min=0.5,
            max=0.999,
        ),
    ] = 0.95

    def __str__(self) -> str:
        sure = "" if self.confidence == 0.5 else f", by {self.confidence:.0%} confidence"
        return (
            f"at most {self.wrong_deployed:.1%} wrong among the deployed and "
            f"{self.right_rejected:.1%} right among the rejected{sure}"
        )


class Costs(Noun):
    """Costs of mistakes: a wrong report deployed, any report reviewed, a right one rejected."""

    missed: Price
    review: Price
    lost: Price

    def __str__(self) -> str:
        return (
            f"least cost, with {self.missed:g} for a wrong report deployed, {self.review:g} for a "
            f"review and {self.lost:g} for a right report rejected"
        )


class Thresholds(NamedTuple):
    deploy_from: float | None
    reject_below: float


def set_thresholds(
    trust: Numbers, wrong: Flags, may_deploy: Flags, aim: Target | Costs
) -> Thresholds:
    """The two thresholds that serve an aim best on these examples.

    A step is how many of the distinct values of trust lie below a threshold.
    """
    values, at = np.unique(trust, return_inverse=True)

    def below(rows: Flags) -> Numbers:
        counts = np.bincount(at[rows], minlength=len(values))
        return np.concatenate([[0.0], np.cumsum(counts)])

    def above(rows: Flags) -> Numbers:
        counts = below(rows)
        return np.asarray(counts[-1] - counts)

    steps = len(values) + int(values[-1] < 1)  # no threshold up to 1 rejects a trust of 1
    rejected = below(np.ones(len(trust), dtype=np.bool_))[:steps], below(~wrong)[:steps]
    deployed = above(may_deploy), above(may_deploy & wrong)
    if isinstance(aim, Costs):
        reject, deploy = _cheapest(rejected, deployed, aim)
    else:
        reject, deploy = _within(rejected, deployed, aim)
    return Thresholds(
        deploy_from=None if deploy == len(values) else _between(values, deploy),
        reject_below=_between(values, reject),
    )


# For each step how many rows lie on its side, and how many of these are mistakes
Sides = tuple[Numbers, Numbers]


def _within(rejected: Sides, deployed: Sides, target: Target) -> tuple[int, int]:
    """The most that can be deployed, and then rejected, within the tolerated mistakes."""
    may_deploy = _highest_share(deployed, target) <= target.wrong_deployed
    may_reject = _highest_share(rejected, target) <= target.right_rejected
    deploy = len(may_deploy) - 1
    if may_deploy.any():  # of all steps that deploy the same reports, the highest
        rows, _ = deployed
        deploy = int(np.flatnonzero(rows == rows[int(np.argmax(may_deploy))])[-1])
    rejectable = np.flatnonzero(may_reject[: deploy + 1])
    return int(rejectable[-1]) if len(rejectable) else 0, deploy


def _highest_share(side: Sides, target: Target) -> Numbers:
    """For each step the upper end of the share of mistakes; infinite where there are no rows."""
    rows, mistakes = side
    has_rows = rows > 0
    if target.confidence == 0.5:
        shares = np.divide(mistakes, rows, out=np.full(len(rows), np.inf), where=has_rows)
        return np.asarray(shares)
    from scipy import stats

    upper = stats.beta.ppf(target.confidence, mistakes + 1, np.maximum(rows - mistakes, 1e-9))
    return np.where(has_rows, np.where(mistakes >= rows, 1.0, upper), np.inf)


def _cheapest(rejected: Sides, deployed: Sides, costs: Costs) -> tuple[int, int]:
    """The pair of steps that costs least beside reviewing everything; of equals, most review."""
    rejecting = costs.lost * rejected[1] - costs.review * rejected[0]
    deploying = costs.missed * deployed[1] - costs.review * deployed[0]
    best, pair, reject = np.inf, (0, len(deploying) - 1), 0
    for deploy in range(len(deploying)):
        if deploy < len(rejecting) and rejecting[deploy] < rejecting[reject] - 1e-12:
            reject = deploy
        cost = rejecting[reject] + deploying[deploy]
        if cost <= best + 1e-12:
            best, pair = min(best, cost), (reject, deploy)
    return pair


def _between(values: Numbers, step: int) -> float:
    """A short number above all values below a step, and not above the others."""
    if step == 0:
        return 0.0
    low = float(values[step - 1])
    high = float(values[step]) if step < len(values) else 1.0
    for digits in range(2, MAX_DIGITS):
        middle = round((low + high) / 2, digits)
        if low < middle <= high:
            return middle
    return high


# Labelled reports are routed by their dimensions alone: what else keeps one back is not tuned
_CANCER_AGREES = CancerCheck(stated="benign", verdict="agrees", why="assumed while tuning")

Positions = NDArray[np.intp]
Objective = Literal["auroc", "spearman"]

# Trust is ranked after rounding to these digits, so that equal sums of products are equal
DIGITS = 12

FEWEST = 10  # with fewer reports there is nothing to tune


class LabelledReports(NamedTuple):
    """Reports with their dimensions, how good people found them, and the case each is of."""

    # Reports x dimensions, between 0 and 1; NaN in those that are to get no weight
    dimensions: Numbers
    # More is better: 1 and 0 for right and wrong, a human score, or an error level negated
    goodness: Numbers
    wrong: Flags | None  # where right and wrong are known; without it thresholds cannot be set
    cases: Positions

    def only(self, rows: Positions) -> LabelledReports:
        is_wrong = None if self.wrong is None else self.wrong[rows]
        return LabelledReports(
            self.dimensions[rows], self.goodness[rows], is_wrong, self.cases[rows]
        )

    @property
    def known(self) -> Numbers:
        """The dimensions as they are multiplied: 0 where nothing is known and no weight given."""
        return np.nan_to_num(self.dimensions)

    @property
    def objective(self) -> Objective:
        """Figure to maximise: the area under the ROC curve for two labels, else Spearman's rho."""
        return "auroc" if len(np.unique(self.goodness)) == 2 else "spearman"


class TuningPlan(Noun):
    base: Policy  # where thresholds cannot be set, its own are kept; its floors always are
    aim: Target | Costs = Target()
    without: tuple[Dimension, ...] = ()  # dimensions that get no weight, since they are not known
    # The number of equal parts into which a weight of 1 is divided
    parts: Annotated[int, Field(ge=2, le=100)] = 20
    folds: Annotated[int, Field(ge=2)] = 5
    repeats: Annotated[int, Field(ge=1)] = 5
    seed: int = 0


class FoldResult(NamedTuple):
    tuned: float
    paper: float  # the objective with the weights of the paper
    tuned_routes: NDArray[np.int64]  # routes x (right, wrong), counted on the fold
    base_routes: NDArray[np.int64]


class TunedPolicy(NamedTuple):
    policy: Policy
    objective: Objective
    # The objective on the very reports that chose the weights, for the gap to be seen
    inside: float
    folds: tuple[FoldResult, ...]  # those on which the objective can be measured


def grid(parts: int, without: tuple[Dimension, ...] = ()) -> Numbers:
    dealt = np.array(
        [(g, lo, parts - g - lo) for g in range(parts + 1) for lo in range(parts + 1 - g)]
    )
    barred = [DIMENSIONS.index(name) for name in without]
    return np.asarray(dealt[(dealt[:, barred] == 0).all(axis=1)] / parts)


def objectives(trust: Numbers, goodness: Numbers, objective: Objective) -> Numbers:
    from scipy import stats

    ranks = stats.rankdata(np.round(trust, DIGITS), axis=1)
    if objective == "auroc":
        right = goodness == goodness.max()
        many, few = int(right.sum()), int((~right).sum())
        if not many or not few:
            return np.full(len(trust), np.nan)
        return np.asarray((ranks[:, right].sum(axis=1) - many * (many + 1) / 2) / (many * few))
    goodness_ranks = stats.rankdata(goodness)
    x, y = ranks - ranks.mean(axis=1, keepdims=True), goodness_ranks - goodness_ranks.mean()
    spread = np.sqrt((x * x).sum(axis=1) * (y * y).sum())
    return np.asarray(np.divide(x @ y, spread, out=np.full(len(x), np.nan), where=spread > 1e-9))


def deal(cases: Positions, goodness: Numbers, folds: int, random: np.random.Generator) -> Positions:
    """A fold for each report: whole cases, shuffled, and dealt out so that labels are spread."""
    distinct, at = np.unique(cases, return_inverse=True)
    means = np.bincount(at, weights=goodness) / np.bincount(at)
    order = random.permutation(len(distinct))
    order = order[np.argsort(means[order], kind="stable")]
    fold_of = np.empty(len(distinct), dtype=np.intp)
    for start in range(0, len(order), folds):
        group = order[start : start + folds]
        fold_of[group] = random.permutation(folds)[: len(group)]
    return np.asarray(fold_of[at])


def choose(
    labelled: LabelledReports, weights: Numbers, folds: int, objective: Objective, seed: int
) -> int:
    """Weights with the highest mean over folds, by index; of equals the nearest to the paper's."""
    trust = weights @ labelled.known.T
    fold_of = deal(labelled.cases, labelled.goodness, folds, np.random.default_rng(seed))
    by_fold = [
        objectives(trust[:, fold_of == fold], labelled.goodness[fold_of == fold], objective)
        for fold in range(folds)
    ]
    scored = np.array([row for row in by_fold if not np.isnan(row).all()])
    if not len(scored):
        raise InputError("in no fold do the labels differ: more labelled reports are needed")
    means = np.round(np.nan_to_num(scored, nan=-1.0).mean(axis=0), DIGITS)
    best = np.flatnonzero(means == means.max())
    distances = np.abs(weights[best] - np.array(PAPER.numbers)).sum(axis=1)
    return int(best[np.argmin(np.round(distances, DIGITS))])


def tune(
    labelled: LabelledReports, plan: TuningPlan, watch: Callable[[int], None] = lambda _done: None
) -> TunedPolicy:
    """Choose weights and thresholds on all reports, and measure the way of choosing on folds."""
    rows, cases = len(labelled.goodness), len(np.unique(labelled.cases))
    if rows < FEWEST:
        raise InputError(f"{rows} labelled reports with all dimensions; {FEWEST} are the fewest")
    if cases < 2 * plan.folds:
        raise InputError(
            f"{cases} cases are too few for {plan.folds} folds in folds; take fewer (--folds), or "
            "label more cases"
        )
    if len(np.unique(labelled.goodness)) < 2:
        raise InputError("all reports have the same label: there is nothing to separate")
    objective = labelled.objective

    def measured(part: LabelledReports, weights: DimensionWeights) -> float:
        trust = np.array([weights.numbers]) @ part.known.T
        return float(objectives(trust, part.goodness, objective)[0])

    folds = []
    for repeat in range(plan.repeats):
        random = np.random.default_rng([plan.seed, repeat])
        fold_of = deal(labelled.cases, labelled.goodness, plan.folds, random)
        for fold in range(plan.folds):
            held = labelled.only(np.flatnonzero(fold_of == fold))
            policy = fit(labelled.only(np.flatnonzero(fold_of != fold)), plan, objective)
            result = FoldResult(
                tuned=measured(held, policy.weights),
                paper=measured(held, PAPER),
                tuned_routes=routes(held, policy),
                base_routes=routes(held, plan.base),
            )
            if not math.isnan(result.tuned + result.paper):
                folds.append(result)
            watch(repeat * plan.folds + fold + 1)
    policy = fit(labelled, plan, objective)
    return TunedPolicy(policy, objective, measured(labelled, policy.weights), tuple(folds))


def fit(labelled: LabelledReports, plan: TuningPlan, objective: Objective) -> Policy:
    numbers = grid(plan.parts, plan.without)
    at = choose(labelled, numbers, plan.folds, objective, plan.seed)
    weights = DimensionWeights(**dict(zip(DIMENSIONS, map(float, numbers[at]), strict=True)))
    policy = plan.base.model_copy(update={"name": "tuned", "weights": weights, "meaning": None})
    if labelled.wrong is None:
        return policy
    floors = np.array([getattr(policy.floors, name) or 0.0 for name in DIMENSIONS])
    may_deploy = np.asarray((labelled.known >= floors - 1e-9).all(axis=1))
    trust = labelled.known @ numbers[at]
    thresholds = set_thresholds(trust, labelled.wrong, may_deploy, plan.aim)
    return policy.model_copy(update=thresholds._asdict())


def routes(labelled: LabelledReports, policy: Policy) -> NDArray[np.int64]:
    counts = np.zeros((len(ROUTES), 2), dtype=np.int64)
    if labelled.wrong is not None:
        for row, wrong in zip(labelled.dimensions, labelled.wrong, strict=True):
            grounding, logic, stability = (None if np.isnan(x) else float(x) for x in row)
            trust = fuse(grounding, logic, stability, policy.weights, policy, cancer=_CANCER_AGREES)
            counts[ROUTES.index(trust.route), int(wrong)] += 1
    return counts

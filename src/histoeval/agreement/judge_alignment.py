"""Distance of a judge from experts, criterion by criterion, and mappings that bring it closer.

A mapping is fitted on experts' scores and judged on cases that it was not fitted on. Which kind of
mapping is used is decided inside each fold, on the cases of the other folds alone, so that the
choice does not flatter the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from histoeval.judges.alignment import MappingKind, ScoreMapping
from histoeval.report import Noun
from histoeval.statistics.correlation import mean_of
from histoeval.statistics.raters import quadratic_kappa
from histoeval.statistics.resampling import Estimate, Numbers, Resamples, estimate, resample

MIN_ROWS, MIN_CASES = 20, 10  # with fewer pairs or cases than these, nothing is fitted
FOLDS = 5


class AgreementFigures(Noun):
    exact: Estimate
    within_one: Estimate
    kappa: Estimate
    mae: Estimate


class ConfusionMatrix(Noun):
    levels: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]


class ScoreGap(Noun):
    id: str
    system: str = ""
    criterion: str
    judge: FiniteFloat
    expert: FiniteFloat
    aligned: FiniteFloat  # by a mapping that was fitted without this case
    reason: str = ""


class CriterionAlignment(Noun):
    """One criterion of one judge: agreement before and after, mapping fitted on all cases."""

    criterion: str
    pairs: int
    cases: int
    mapping: ScoreMapping
    offset: Estimate  # by how much experts score higher
    before: AgreementFigures
    after: AgreementFigures | None = None  # on cases not fitted on; None: nothing was
    chosen: Mapping[str, int] = {}  # in how many folds each kind of mapping was chosen
    reason: str = ""  # why nothing was fitted
    confusion: ConfusionMatrix


def align_criterion(
    scored: ScoredCriterion, *, folds: int = FOLDS, resamples: int = 2000, seed: int = 0
) -> tuple[CriterionAlignment, Numbers]:
    """The alignment of a criterion, and its scores by mappings fitted without their case."""
    drawn = resample(scored.cases, resamples, seed)
    reason = cannot_fit(scored)
    aligned, kinds = scored.judge, Counter[str]()
    mapping = fit_mapping("none", scored)

    def fit_nested(training: ScoredCriterion) -> ScoreMapping:
        """Fit the kind of mapping that is best on the training folds."""
        kind = _choose(training, folds, seed + 1)
        kinds[kind] += 1
        return fit_mapping(kind, training)

    if not reason:
        aligned = _cross_fitted(scored, folds, seed, fit_nested)
        mapping = fit_mapping(_choose(scored, folds, seed), scored)
    alignment = CriterionAlignment(
        criterion=scored.name,
        pairs=len(scored.judge),
        cases=len(set(scored.cases)),
        mapping=mapping,
        offset=_mean(scored.expert - scored.judge, drawn),
        before=figures(scored.judge, scored.expert, drawn),
        after=None if reason else figures(aligned, scored.expert, drawn),
        chosen=kinds,
        reason=reason,
        confusion=confusion(scored),
    )
    return alignment, aligned


def cannot_fit(scored: ScoredCriterion) -> str:
    cases = len(set(scored.cases))
    if len(scored.judge) < MIN_ROWS or cases < MIN_CASES:
        return (
            f"{len(scored.judge)} pairs of {cases} cases have both scores, and {MIN_ROWS} pairs of "
            f"{MIN_CASES} cases are needed"
        )
    for scorer, scores in (("the judge", scored.judge), ("the experts", scored.expert)):
        values, counts = np.unique(scores, return_counts=True)
        if len(values) < 2:
            return f"{scorer} gave every pair {scores[0]:g}"
        is_uncommon = scores != values[counts.argmax()]
        if len(set(np.array(scored.cases)[is_uncommon])) < 2:
            return f"{scorer} gave all but one case the same score"
    return ""


# --- cross-validation ----------------------------------------------------------------------------


def _choose(scored: ScoredCriterion, folds: int, seed: int) -> MappingKind:
    """Choose the simplest kind within one standard error of the best.

    Errors are absolute, since squared ones favour the middle of a scale.
    """
    errors = {
        kind: np.abs(_cross_fitted(scored, folds, seed, partial(fit_mapping, kind)) - scored.expert)
        for kind in KINDS
    }
    best = min(KINDS, key=lambda kind: float(errors[kind].mean()))
    _, case = np.unique(scored.cases, return_inverse=True)
    for kind in KINDS:
        excess = errors[kind] - errors[best]
        sums = np.bincount(case, weights=excess - excess.mean())
        standard_error = np.sqrt((sums**2).sum()) / len(excess)
        if excess.mean() <= standard_error:
            return kind
    return best


def _cross_fitted(
    scored: ScoredCriterion, folds: int, seed: int, fit: Callable[[ScoredCriterion], ScoreMapping]
) -> Numbers:
    """Map each score by the mapping fitted on the other folds."""
    names, case = np.unique(scored.cases, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    fold = np.argsort(order)[case] % folds
    mapped = scored.judge.copy()
    for number in np.unique(fold):
        is_in_fold = fold == number
        mapping = fit(scored.of(~is_in_fold))
        mapped[is_in_fold] = [mapping(score) for score in scored.judge[is_in_fold]]
    return mapped


# --- figures -------------------------------------------------------------------------------------


def figures(judge: Numbers, expert: Numbers, drawn: Resamples) -> AgreementFigures:
    """Agreement, with intervals by case; scores between two steps count as the nearest."""
    distances = np.abs(whole(judge) - whole(expert))
    return AgreementFigures(
        exact=_mean((distances == 0).astype(float), drawn),
        within_one=_mean((distances <= 1).astype(float), drawn),
        kappa=quadratic_kappa(np.column_stack([judge, expert]), drawn),
        mae=_mean(np.abs(judge - expert), drawn),
    )


def whole(scores: Numbers) -> Numbers:
    """Scores as whole numbers, halves up."""
    return np.floor(scores + 0.5)


def _mean(values: Numbers, resamples: Resamples) -> Estimate:
    return estimate(mean_of(values, resamples), resamples)


def confusion(scored: ScoredCriterion) -> ConfusionMatrix:
    judge, expert = (whole(scores).astype(int) for scores in (scored.judge, scored.expert))
    low = min(int(scored.scale[0]), judge.min(), expert.min())
    high = max(int(scored.scale[1]), judge.max(), expert.max())
    counts = np.zeros((high - low + 1, high - low + 1), dtype=int)
    np.add.at(counts, (judge - low, expert - low), 1)
    levels = tuple(range(low, high + 1))
    return ConfusionMatrix(levels=levels, counts=tuple(tuple(map(int, row)) for row in counts))


KINDS: tuple[MappingKind, ...] = get_args(MappingKind)  # the simplest first, which is preferred

Scale = tuple[float, float]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class ScoredCriterion:
    """The scores of a judge and of experts for the same pairs, and the case of each."""

    name: str
    scale: Scale
    judge: Numbers
    expert: Numbers
    cases: tuple[str, ...]

    def of(self, rows: Rows) -> ScoredCriterion:
        cases = tuple(case for case, is_kept in zip(self.cases, rows, strict=True) if is_kept)
        return ScoredCriterion(self.name, self.scale, self.judge[rows], self.expert[rows], cases)


def fit_mapping(kind: MappingKind, scored: ScoredCriterion) -> ScoreMapping:
    """The mapping of a kind that leaves the least squared error."""
    fitted: dict[str, Any] = {}
    if kind == "offset":
        fitted["offset"] = round(float(np.mean(scored.expert - scored.judge)), 4)
    elif kind == "thresholds":
        fitted["thresholds"] = _thresholds(scored)
    elif kind == "curve":
        fitted["at"], fitted["value"] = _rising(scored)
    return ScoreMapping(kind=kind, low=scored.scale[0], high=scored.scale[1], **fitted)


def _rising(scored: ScoredCriterion) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The non-decreasing means of experts' scores at each score of the judge (isotonic)."""
    levels, level_index = np.unique(scored.judge, return_inverse=True)
    counts = np.bincount(level_index).astype(float)
    total = np.bincount(level_index, weights=scored.expert)
    mean = [
        max(
            min(total[a : b + 1].sum() / counts[a : b + 1].sum() for b in range(i, len(levels)))
            for a in range(i + 1)
        )
        for i in range(len(levels))
    ]
    low, high = scored.scale
    clipped_means = np.maximum.accumulate(np.clip(np.round(mean, 4), low, high))
    return tuple(map(float, levels)), tuple(map(float, clipped_means))


def _thresholds(scored: ScoredCriterion) -> tuple[float, ...]:
    """The cuts between scores of the judge that leave the least squared error on whole steps.

    By dynamic programming over the judge's scores from low to high: the best sum of errors so far
    that ends on each step of the scale.
    """
    levels, level_index = np.unique(scored.judge, return_inverse=True)
    steps = np.arange(scored.scale[0], scored.scale[1] + 1)
    errors = np.zeros((len(levels), len(steps)))
    np.add.at(errors, level_index, (scored.expert[:, None] - steps) ** 2)
    best, predecessors = errors[0], []
    for costs in errors[1:]:
        predecessors.append([int(np.argmin(best[: step + 1])) for step in range(len(steps))])
        best = np.minimum.accumulate(best) + costs
    path = [int(np.argmin(best))]
    for previous in reversed(predecessors):
        path.append(previous[path[-1]])
    path.reverse()
    between = [float(levels[0]), *((levels[1:] + levels[:-1]) / 2).tolist()]
    return tuple(
        between[next(i for i, step in enumerate(path) if step >= target)]
        for target in range(1, path[-1] + 1)
    )

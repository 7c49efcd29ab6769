"""Tuning a policy on a labelled file, and writing it with how it was made."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from histoeval.errors import OutputError
from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import PAPER, policy_text
from histoeval.pathgls.policy.tuning import FoldResult, TunedPolicy, TuningPlan, tune
from histoeval.run.labelled_reports import LabelRequest, read_labelled
from histoeval.version import __version__

FIGURES = {"auroc": "area under the ROC curve", "spearman": "Spearman's rho"}

NARROWEST_REVIEW = 0.05
"""With less trust than this between both thresholds, hardly any report is left to a person."""

FEWEST_DEPLOYED = 60
"""Without one wrong among 59, the share of wrong ones is below 5 % by 95 % confidence; with fewer
nothing can be said."""


class Outside(NamedTuple):
    """What was measured on folds that had no say: the mean over them, and how much it varies."""

    tuned: float
    tuned_spread: float
    paper: float
    paper_spread: float
    folds: int

    @property
    def better(self) -> bool:
        """Whether the tuned weights did better at all; the spread says how sure that is."""
        return self.tuned > self.paper


class TuningResult(NamedTuple):
    """A tuned policy with all that was measured, and where the labels came from."""

    tuned: TunedPolicy
    outside: Outside
    tuned_routes: Any
    """Routes x (right, wrong), over all folds of all repeats."""
    base_routes: Any
    plan: TuningPlan
    about: dict[str, Any]

    @property
    def held_out(self) -> str:
        """How many verdicts the counts are of: every repeat has one for each report."""
        return f"{self.plan.repeats} x {self.about['used']:,}"


def tune_file(
    path: Path,
    plan: TuningPlan,
    *,
    labels: Path | None = None,
    asked: LabelRequest | None = None,
    watch: Callable[[int], None] = lambda _done: None,
) -> TuningResult:
    """Tune a policy on the labelled reports of a file."""
    asked = (asked or LabelRequest()).model_copy(update={"without": plan.without})
    file = read_labelled(path, labels, asked)
    plan = _without_floors(plan)
    tuned = tune(file.labelled, plan, watch)
    return TuningResult(
        tuned,
        outside_of(tuned.folds),
        sum(fold.tuned_routes for fold in tuned.folds),
        sum(fold.base_routes for fold in tuned.folds),
        plan,
        file.about,
    )


def outside_of(folds: tuple[FoldResult, ...]) -> Outside:
    """Means and standard deviations over folds; NaN where none could be measured."""
    if not folds:
        return Outside(math.nan, math.nan, math.nan, math.nan, 0)
    tuned = np.array([fold.tuned for fold in folds])
    paper = np.array([fold.paper for fold in folds])
    return Outside(
        float(tuned.mean()), float(tuned.std()), float(paper.mean()), float(paper.std()), len(folds)
    )


def write_policy(tuning: TuningResult, output: Path) -> None:
    """Write the policy, whole or not at all, with how it was made as comments on top."""
    with writing_to(output):
        if output.is_dir():
            raise OutputError(f"{output} is a folder; give the name of a file")
        write_text(output, policy_text(tuning.tuned.policy, history(tuning)))


def history(tuning: TuningResult) -> list[str]:
    """How a policy was made and how good it is, in human-readable lines."""
    about, plan, outside = tuning.about, tuning.plan, tuning.outside
    figure = FIGURES[tuning.tuned.objective]
    lines = [
        f"Made by `histoeval trust tune` (histoeval {__version__}) from {about['name']}",
        f"sha256 {about['sha256']}",
        f"{about['used']} of {about['rows']} reports of {about['cases']} cases "
        f"({'each report its own case' if about['case'] is None else 'column ' + about['case']})",
        *[f"left out: {count} with {reason}" for reason, count in about["left_out"].items()],
        f"labels: {about['label']}",
        f"weights: grid of 1/{plan.parts}, by the highest mean {figure} over {plan.folds} folds"
        + (f"; without {', '.join(plan.without)}" if plan.without else ""),
        f"{figure} on the reports that chose them: {tuning.tuned.inside:.3f}",
        f"{figure} on reports that had no say (nested cross-validation by case, {outside.folds} "
        f"folds, seed {plan.seed}):",
        f"  tuned {outside.tuned:.3f} (sd {outside.tuned_spread:.3f}), the paper's weights "
        f"{PAPER} {outside.paper:.3f} (sd {outside.paper_spread:.3f})",
    ]
    if not outside.better:
        lines.append("  so these weights are NO BETTER than the paper's on other reports")
    return [*lines, *_threshold_lines(tuning)]


def _threshold_lines(tuning: TuningResult) -> list[str]:
    if not tuning.tuned_routes.any():
        return ["thresholds: not tuned, since no label says which reports are wrong"]
    lines = [
        f"thresholds: {tuning.plan.aim}; on reports that had no say ({tuning.held_out} verdicts):"
    ]
    for name, counts in (("tuned", tuning.tuned_routes), ("before", tuning.base_routes)):
        shown = ", ".join(
            f"{route} {right + wrong} of {counts.sum()} ({share_text(wrong, right + wrong)} wrong)"
            for route, (right, wrong) in zip(ROUTES, counts, strict=True)
        )
        lines.append(f"  {name}: {shown}")
    return [*lines, *_warnings(tuning)]


def _warnings(tuning: TuningResult) -> list[str]:
    """What makes tuned thresholds unsafe, or useless."""
    deploy, reject = tuning.tuned.policy.deploy_from, tuning.tuned.policy.reject_below
    if deploy is None:
        return [
            "warning: this policy deploys nothing: too few labelled reports, or too many wrong "
            "ones, for this aim"
        ]
    found = []
    if deploy - reject < NARROWEST_REVIEW:
        found.append(
            f"warning: nearly no review: reports are deployed from {deploy:g} on and rejected "
            f"below {reject:g}, so hardly any is left to a person; raise deploy_from or lower "
            "reject_below in the policy"
        )
    deployed = int(tuning.tuned_routes[ROUTES.index("deploy")].sum()) / tuning.plan.repeats
    if deployed < FEWEST_DEPLOYED:
        found.append(
            f"warning: of {tuning.about['used']} reports about {deployed:.0f} would be deployed; "
            f"with fewer than {FEWEST_DEPLOYED}, none of them wrong, nobody can say that at most "
            "5 % are wrong: label more reports"
        )
    return found


def share_text(part: int, whole: int) -> str:
    """A share, or that there is none of nothing."""
    return f"{part / whole:.1%}" if whole else "none"


def _without_floors(plan: TuningPlan) -> TuningPlan:
    """A dimension that gets no weight since it is not known has no floor either."""
    floors = plan.base.floors.model_copy(update=dict.fromkeys(plan.without))
    base = plan.base.model_copy(update={"floors": floors})
    return plan.model_copy(update={"base": base})

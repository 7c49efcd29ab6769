"""Tuning a policy on labelled reports from tables, and writing it with how it was made."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from histoeval.errors import InputError, OutputError, SettingError
from histoeval.io.files import open_table
from histoeval.io.tables.columns import normalised
from histoeval.io.tables.records import RecordTable
from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, Dimension, policy_text
from histoeval.pathgls.policy.tuning import (
    FoldResult,
    LabelledReports,
    TunedPolicy,
    TuningPlan,
    tune,
)
from histoeval.report import Noun
from histoeval.settings import Option
from histoeval.version import __version__

Direction = Literal["better", "worse"]

RIGHT, WRONG = ("correct", "right"), ("wrong", "incorrect")
"""Words that labels may be."""

LABELS: dict[str, Direction | None] = {
    "label": None,
    "error_level": "worse",
    "level": "worse",
    "severity": "worse",
    "human_score": "better",
    "expert_score": "better",
    "score": "better",
    "rating": "better",
}
"""Columns that labels are looked for in, and whether more of a number is better there."""

CASES = ("case", "case_id", "patient", "patient_id")


LABELS_PANEL = "Labels"


class LabelRequest(Noun):
    """What a person says of the labels; the rest is guessed."""

    label: Annotated[
        str | None,
        Option(
            "Column with the label: correct or wrong, an error level, or a human score.",
            LABELS_PANEL,
        ),
    ] = None
    more_is: Annotated[
        Direction | None, Option("Whether higher numbers are better or worse.", LABELS_PANEL)
    ] = None
    wrong_from: Annotated[
        float | None, Option("Lowest error level of a wrong report.", LABELS_PANEL)
    ] = None
    right_from: Annotated[
        float | None, Option("Lowest human score of a right report.", LABELS_PANEL)
    ] = None
    case: Annotated[
        str | None,
        Option("Column with the case; reports of a case stay in one fold.", LABELS_PANEL),
    ] = None
    without: tuple[Dimension, ...] = ()


class LabelledFile(NamedTuple):
    """Labelled reports, and what there is to say of where they come from."""

    labelled: LabelledReports
    about: dict[str, Any]


class _Row(NamedTuple):
    dimensions: tuple[float, ...]
    label: str | float
    case: str


class _LeftOut(NamedTuple):
    reason: str


def read_labelled(path: Path, labels: Path | None, request: LabelRequest) -> LabelledFile:
    """The labelled reports of one table, or of the rows of `trust` and a table of labels by id."""
    opened = open_table(path)
    table = opened.table
    others: dict[str, Mapping[str, object]] = {}
    columns: Sequence[str] = table.columns
    if labels is not None:
        others, columns = _by_id(labels)
    label, case = _label(columns, request, labels or path), _case(columns, request, labels or path)
    found = [
        _row(number, values, others if labels is not None else None, label, case, request)
        for number, values in enumerate(_values(table), start=1)
    ]
    rows = [row for row in found if isinstance(row, _Row)]
    gone = Counter(row.reason for row in found if isinstance(row, _LeftOut))
    if not rows:
        reasons = "; ".join(f"{count} times {reason}" for reason, count in gone.items())
        raise InputError(f"{path} has no labelled report with all dimensions: {reasons or 'empty'}")
    goodness, wrong, meaning = _goodness([row.label for row in rows], label, request)
    names = {name: at for at, name in enumerate(dict.fromkeys(row.case for row in rows))}
    labelled = LabelledReports(
        np.array([row.dimensions for row in rows]),
        goodness,
        wrong,
        np.array([names[row.case] for row in rows], dtype=np.intp),
    )
    about = {
        "name": path.name,
        "sha256": opened.sha256,
        **({} if labels is None else {"labels": labels.name}),
        "case": case,
        "label": f"{label} ({meaning})",
        "rows": len(found),
        "used": len(rows),
        "cases": len(names),
        "left_out": dict(sorted(gone.items())),
    }
    return LabelledFile(labelled, about)


def _values(table: RecordTable) -> Iterator[Mapping[str, object]]:
    """Every row; one that cannot be read holds nothing, and is then counted as lacking all."""
    for record in table.read(table.columns):
        yield record.values or {}


def _by_id(path: Path) -> tuple[dict[str, Mapping[str, object]], Sequence[str]]:
    table = open_table(path).table
    if "id" not in table.columns:
        raise InputError(f"{path} has no column 'id' to find its labels by")
    found: dict[str, Mapping[str, object]] = {}
    for values in _values(table):
        name = str(values.get("id", ""))
        if name in found:
            raise InputError(f"{path} has more than one label for {name!r}")
        found[name] = values
    return found, table.columns


def _label(columns: Sequence[str], request: LabelRequest, path: Path) -> str:
    if request.label is not None:
        if request.label not in columns:
            raise InputError(f"{path} has no column {request.label!r}; it has {', '.join(columns)}")
        return request.label
    for known in LABELS:
        for name in columns:
            if normalised(name) == known:
                return name
    raise InputError(
        f"{path} has no column of labels; name it: --label NAME. It has {', '.join(columns)}"
    )


def _case(columns: Sequence[str], request: LabelRequest, path: Path) -> str | None:
    if request.case is not None and request.case not in columns:
        raise InputError(f"{path} has no column {request.case!r}; it has {', '.join(columns)}")
    guessed = next((n for known in CASES for n in columns if normalised(n) == known), None)
    return request.case or guessed


def _row(
    place: int,
    values: Mapping[str, object],
    others: Mapping[str, Mapping[str, object]] | None,
    label: str,
    case: str | None,
    request: LabelRequest,
) -> _Row | _LeftOut:
    """A report with its dimensions and label, or why it cannot be used."""
    name = str(values.get("id", ""))
    labelled = values if others is None else others.get(name, {})
    found = _label_of(labelled.get(label))
    if found is None:
        return _LeftOut("no label")
    dimensions = []
    for dimension in DIMENSIONS:
        number = math.nan if dimension in request.without else _number(values.get(dimension))
        if number is None or number < 0 or number > 1:
            return _LeftOut(f"no {dimension}")
        dimensions.append(number)
    of_case = labelled.get(case) if case is not None else None
    alone = of_case is None or of_case == ""
    return _Row(tuple(dimensions), found, f"row {place}" if alone else f"case {of_case}")


def _number(value: object) -> float | None:
    """The number in a cell, if it is one."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _label_of(value: object) -> str | float | None:
    if isinstance(value, str) and value.strip().lower() in (*RIGHT, *WRONG):
        return value.strip().lower()
    return _number(value)


def _goodness(
    labels: Sequence[str | float], column: str, request: LabelRequest
) -> tuple[Any, Any, str]:
    """Labels as numbers of which more is better, which of them are wrong, and what they mean."""
    words = [label for label in labels if isinstance(label, str)]
    if words and len(words) < len(labels):
        raise InputError(f"the column {column!r} holds words and numbers; it must be one of them")
    if words:
        if request.wrong_from is not None or request.right_from is not None:
            raise SettingError(
                f"the column {column!r} says in words what is wrong: --wrong-from and --right-from "
                "are for numbers"
            )
        good = np.array([label in RIGHT for label in labels])
        return good.astype(float), ~good, "correct or wrong"
    more_is = request.more_is or LABELS.get(normalised(column))
    if more_is is None:
        raise SettingError(
            f"the column {column!r} holds numbers: say whether more of them is better, as a "
            "score, or worse, as a level of error: --more-is better, or --more-is worse"
        )
    numbers = np.array(labels, dtype=np.float64)
    if more_is == "worse":
        if request.right_from is not None:
            raise SettingError("with levels of error, --wrong-from says which reports are wrong")
        wrong = None if request.wrong_from is None else numbers >= request.wrong_from
        return (
            -numbers,
            wrong,
            _meaning("error level, more is worse", "wrong from", request.wrong_from),
        )
    if request.wrong_from is not None:
        raise SettingError("with scores, --right-from says which reports are right")
    wrong = None if request.right_from is None else numbers < request.right_from
    return numbers, wrong, _meaning("score, more is better", "right from", request.right_from)


def _meaning(kind: str, word: str, at: float | None) -> str:
    return kind if at is None else f"{kind}, {word} {at:g}"


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
    # a dimension that gets no weight since it is not known has no floor either
    floors = plan.base.floors.model_copy(update=dict.fromkeys(plan.without))
    base = plan.base.model_copy(update={"floors": floors})
    plan = plan.model_copy(update={"base": base})
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

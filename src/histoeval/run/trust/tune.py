"""Tuning a policy on labelled reports from tables, and writing it with how it was made."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from histoeval.pathgls.policy.tuning import LabelledReports, TunedPolicy, TuningPlan, tune
from histoeval.report import Noun
from histoeval.settings import Option
from histoeval.version import __version__

Direction = Literal["better", "worse"]

RIGHT, WRONG = ("correct", "right"), ("wrong", "incorrect")  # words that labels may be

# Columns that labels are looked for in, and whether more of a number is better there.
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

CASES = ("case", "case_id", "patient", "patient_id")


LABELS_PANEL = "Labels"


class LabelRequest(Noun):
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
    labelled: LabelledReports
    about: dict[str, Any]


class _LabelledRow(NamedTuple):
    dimensions: tuple[float, ...]
    label: str | float
    case: str


def read_labelled(path: Path, labels: Path | None, request: LabelRequest) -> LabelledFile:
    """Read labelled reports from one table, or from rows of `trust` and labels by id."""
    report_table = open_table(path)
    columns: Sequence[str] = report_table.table.columns
    labels_by_id: dict[str, Mapping[str, object]] | None = None
    if labels is not None:
        labels_by_id, columns = _by_id(labels)
    label_column = _column(columns, request.label, LABELS, labels or path)
    case_column = _column(columns, request.case, CASES, labels or path)
    if label_column is None:
        raise InputError(
            f"{labels or path} has no column of labels; name it: --label NAME. It has "
            f"{', '.join(columns)}"
        )
    rows: list[_LabelledRow] = []
    left_out: Counter[str] = Counter()
    for number, values in enumerate(_values(report_table.table), start=1):
        label_values = values
        if labels_by_id is not None:
            label_values = labels_by_id.get(str(values.get("id", "")), {})
        row = _row(
            f"row {number}", values, label_values, label_column, case_column, request.without
        )
        if isinstance(row, str):
            left_out[row] += 1
        else:
            rows.append(row)
    if not rows:
        reasons = "; ".join(f"{count} times {reason}" for reason, count in left_out.items())
        raise InputError(f"{path} has no labelled report with all dimensions: {reasons or 'empty'}")
    goodness, wrong, meaning = _goodness([row.label for row in rows], label_column, request)
    names = {name: index for index, name in enumerate(dict.fromkeys(row.case for row in rows))}
    labelled = LabelledReports(
        np.array([row.dimensions for row in rows]),
        goodness,
        wrong,
        np.array([names[row.case] for row in rows], dtype=np.intp),
    )
    file_info = {
        "name": path.name,
        "sha256": report_table.sha256,
        **({} if labels is None else {"labels": labels.name}),
        "case": case_column,
        "label": f"{label_column} ({meaning})",
        "rows": len(rows) + left_out.total(),
        "used": len(rows),
        "cases": len(names),
        "left_out": dict(sorted(left_out.items())),
    }
    return LabelledFile(labelled, file_info)


def _values(table: RecordTable) -> Iterator[Mapping[str, object]]:
    """Yield the values of every row; an unreadable row is empty and counts as lacking all."""
    for record in table.read(table.columns):
        yield record.values or {}


def _by_id(path: Path) -> tuple[dict[str, Mapping[str, object]], Sequence[str]]:
    table = open_table(path).table
    if "id" not in table.columns:
        raise InputError(f"{path} has no column 'id' to find its labels by")
    by_id: dict[str, Mapping[str, object]] = {}
    for values in _values(table):
        name = str(values.get("id", ""))
        if name in by_id:
            raise InputError(f"{path} has more than one label for {name!r}")
        by_id[name] = values
    return by_id, table.columns


def _column(
    columns: Sequence[str], requested: str | None, usual_names: Iterable[str], path: Path
) -> str | None:
    if requested is not None:
        if requested not in columns:
            raise InputError(f"{path} has no column {requested!r}; it has {', '.join(columns)}")
        return requested
    return next(
        (name for usual_name in usual_names for name in columns if normalised(name) == usual_name),
        None,
    )


def _row(
    row_name: str,
    values: Mapping[str, object],
    label_values: Mapping[str, object],
    label: str,
    case: str | None,
    without: Collection[Dimension],
) -> _LabelledRow | str:
    cell = label_values.get(label)
    is_word = isinstance(cell, str) and cell.strip().lower() in (*RIGHT, *WRONG)
    own_label = str(cell).strip().lower() if is_word else _number(cell)
    if own_label is None:
        return "no label"
    dimensions = []
    for dimension in DIMENSIONS:
        number = math.nan if dimension in without else _number(values.get(dimension))
        if number is None or number < 0 or number > 1:
            return f"no {dimension}"
        dimensions.append(number)
    case_name = label_values.get(case) if case is not None else None
    is_caseless = case_name is None or case_name == ""
    return _LabelledRow(
        tuple(dimensions), own_label, row_name if is_caseless else f"case {case_name}"
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _goodness(
    labels: Sequence[str | float], column: str, request: LabelRequest
) -> tuple[Any, Any, str]:
    """Return labels as numbers of which more is better, a mask of wrong ones, and a description."""
    words = [label for label in labels if isinstance(label, str)]
    if words and len(words) < len(labels):
        raise InputError(f"the column {column!r} holds words and numbers; it must be one of them")
    if words:
        if request.wrong_from is not None or request.right_from is not None:
            raise SettingError(
                f"the column {column!r} says in words what is wrong: --wrong-from and --right-from "
                "are for numbers"
            )
        is_right = np.array([label in RIGHT for label in labels])
        return is_right.astype(float), ~is_right, "correct or wrong"
    direction = request.more_is or LABELS.get(normalised(column))
    if direction is None:
        raise SettingError(
            f"the column {column!r} holds numbers: say whether more of them is better, as a "
            "score, or worse, as a level of error: --more-is better, or --more-is worse"
        )
    numbers = np.array(labels, dtype=np.float64)
    if direction == "worse":
        if request.right_from is not None:
            raise SettingError("with levels of error, --wrong-from says which reports are wrong")
        limit, meaning, word = request.wrong_from, "error level, more is worse", "wrong"
    else:
        if request.wrong_from is not None:
            raise SettingError("with scores, --right-from says which reports are right")
        limit, meaning, word = request.right_from, "score, more is better", "right"
    goodness = -numbers if direction == "worse" else numbers
    if limit is None:
        return goodness, None, meaning
    is_wrong = numbers >= limit if direction == "worse" else numbers < limit
    return goodness, is_wrong, f"{meaning}, {word} from {limit:g}"


FIGURES = {"auroc": "area under the ROC curve", "spearman": "Spearman's rho"}

# With less trust than this between both thresholds, hardly any report is left to a person.
NARROWEST_REVIEW = 0.05

# Without one wrong among 59, the share of wrong ones is below 5 % by 95 % confidence; with fewer
# nothing can be said.
FEWEST_DEPLOYED = 60


class TuningResult(NamedTuple):
    tuned: TunedPolicy
    plan: TuningPlan
    about: dict[str, Any]

    def outside(self, weights: Literal["tuned", "paper"]) -> tuple[float, float]:
        """Mean and standard deviation of the objective over folds that had no say; or NaN."""
        folds = [getattr(fold, weights) for fold in self.tuned.folds] or [math.nan]
        return float(np.mean(folds)), float(np.std(folds))

    def routes(self, policy: Literal["tuned", "base"]) -> Any:
        return sum(getattr(fold, f"{policy}_routes") for fold in self.tuned.folds)

    @property
    def held_out(self) -> str:
        return f"{self.plan.repeats} x {self.about['used']:,}"


def tune_file(
    path: Path,
    plan: TuningPlan,
    *,
    labels: Path | None = None,
    asked: LabelRequest | None = None,
    watch: Callable[[int], None] = lambda _done: None,
) -> TuningResult:
    asked = (asked or LabelRequest()).model_copy(update={"without": plan.without})
    file = read_labelled(path, labels, asked)
    # a dimension that gets no weight since it is not known has no floor either
    floors = plan.base.floors.model_copy(update=dict.fromkeys(plan.without))
    base = plan.base.model_copy(update={"floors": floors})
    plan = plan.model_copy(update={"base": base})
    return TuningResult(tune(file.labelled, plan, watch), plan, file.about)


def write_policy(tuning: TuningResult, output: Path) -> None:
    """Write the policy, whole or not at all, with how it was made as comments on top."""
    with writing_to(output):
        if output.is_dir():
            raise OutputError(f"{output} is a folder; give the name of a file")
        write_text(output, policy_text(tuning.tuned.policy, history(tuning)))


def history(tuning: TuningResult) -> list[str]:
    source, plan = tuning.about, tuning.plan
    (tuned, tuned_spread), (paper, paper_spread) = tuning.outside("tuned"), tuning.outside("paper")
    figure = FIGURES[tuning.tuned.objective]
    lines = [
        f"Made by `histoeval trust tune` (histoeval {__version__}) from {source['name']}",
        f"sha256 {source['sha256']}",
        f"{source['used']} of {source['rows']} reports of {source['cases']} cases "
        f"({'each report its own case' if source['case'] is None else 'column ' + source['case']})",
        *[f"left out: {count} with {reason}" for reason, count in source["left_out"].items()],
        f"labels: {source['label']}",
        f"weights: grid of 1/{plan.parts}, by the highest mean {figure} over {plan.folds} folds"
        + (f"; without {', '.join(plan.without)}" if plan.without else ""),
        f"{figure} on the reports that chose them: {tuning.tuned.inside:.3f}",
        f"{figure} on reports that had no say (nested cross-validation by case, "
        f"{len(tuning.tuned.folds)} folds, seed {plan.seed}):",
        f"  tuned {tuned:.3f} (sd {tuned_spread:.3f}), the paper's weights "
        f"{PAPER} {paper:.3f} (sd {paper_spread:.3f})",
    ]
    if not tuned > paper:
        lines.append("  so these weights are NO BETTER than the paper's on other reports")
    if not np.any(tuning.routes("tuned")):
        return [*lines, "thresholds: not tuned, since no label says which reports are wrong"]
    lines.append(
        f"thresholds: {plan.aim}; on reports that had no say ({tuning.held_out} verdicts):"
    )
    for name, counts in (("tuned", tuning.routes("tuned")), ("before", tuning.routes("base"))):
        shares = ", ".join(
            f"{route} {right + wrong} of {counts.sum()} ({share_text(wrong, right + wrong)} wrong)"
            for route, (right, wrong) in zip(ROUTES, counts, strict=True)
        )
        lines.append(f"  {name}: {shares}")
    return [*lines, *_warnings(tuning)]


def _warnings(tuning: TuningResult) -> Iterator[str]:
    deploy, reject = tuning.tuned.policy.deploy_from, tuning.tuned.policy.reject_below
    if deploy is None:
        yield (
            "warning: this policy deploys nothing: too few labelled reports, or too many wrong "
            "ones, for this aim"
        )
        return
    if deploy - reject < NARROWEST_REVIEW:
        yield (
            f"warning: nearly no review: reports are deployed from {deploy:g} on and rejected "
            f"below {reject:g}, so hardly any is left to a person; raise deploy_from or lower "
            "reject_below in the policy"
        )
    deployed = int(tuning.routes("tuned")[ROUTES.index("deploy")].sum()) / tuning.plan.repeats
    if deployed < FEWEST_DEPLOYED:
        yield (
            f"warning: of {tuning.about['used']} reports about {deployed:.0f} would be deployed; "
            f"with fewer than {FEWEST_DEPLOYED}, none of them wrong, nobody can say that at most "
            "5 % are wrong: label more reports"
        )


def share_text(part: int, whole: int) -> str:
    """Format a share; `none` if there is nothing to share."""
    return f"{part / whole:.1%}" if whole else "none"

"""A judge beside experts, and closer to them: ``histoeval.align_judge("judged", "table.csv")``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Annotated, Any

import numpy as np

from histoeval.agreement.judge_alignment import (
    FOLDS,
    AgreementFigures,
    CriterionAlignment,
    ScoredCriterion,
    ScoreGap,
    align_criterion,
)
from histoeval.argument_names import documented, front_door
from histoeval.concordance.rubric import CRITERIA
from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.files import NO_ID, open_table
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.results import Key, MetricResult, ResultRow, key_of, read_rows, read_summary
from histoeval.io.sheets import Range, rating_of
from histoeval.io.store import read_json
from histoeval.io.tables.columns import (
    Columns,
    columns_by_name,
    columns_found,
    demand_columns,
    normalised,
)
from histoeval.io.tables.records import Fault, name_of
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.judges.alignment import RAW, Alignment, alignment_text, models_of
from histoeval.judges.panel import SPREAD
from histoeval.judges.prompt import known_prompts, load_prompt
from histoeval.metric import Score
from histoeval.report import Noun
from histoeval.run.judge import USAGE
from histoeval.run.models import load_metrics
from histoeval.run.results import Frames
from histoeval.run.settings import Encoding, PathLike, Resamples, Seed
from histoeval.run.stored import stored_pairs
from histoeval.settings import COLUMNS, STATISTICS, Argument, Option
from histoeval.version import __version__

# --- experts' scores by the id of a pair: a column for each criterion, and no texts ---------------
# Rows of one pair, as of several raters in the `ratings.csv` of a study, are averaged; so are
# several columns of one criterion.


class ExpertScores(Noun):
    name: str
    sha256: str
    columns: Mapping[str, tuple[str, ...]]  # the columns of each criterion
    scores: Mapping[Key, Mapping[str, float]]
    cases: Mapping[Key, str]
    problems: tuple[Problem, ...] = ()

    def of_pairs(self, keys: Collection[Key]) -> ExpertScores:
        """Copy with the keys of the pairs; an id without a system belongs to the only system."""
        systems: dict[str, list[Key]] = {}
        for key in keys:
            systems.setdefault(key[0], []).append(key)

        def full_key(key: Key) -> Key:
            matches = [] if key in keys or key[1] else systems.get(key[0], [])
            if len(matches) > 1:
                raise InputError(
                    f"{self.name} does not say the system, and {key[0]!r} has reports of "
                    f"{len(matches)}: add a column `system`, or name it with --system"
                )
            return matches[0] if matches else key

        return self.model_copy(
            update={
                "scores": {full_key(key): scores for key, scores in self.scores.items()},
                "cases": {full_key(key): case for key, case in self.cases.items()},
            }
        )


def read_expert_scores(
    path: Path,
    criteria: Sequence[str],
    *,
    named: Mapping[str, Sequence[str]] | None = None,
    within: Mapping[str, Range] | None = None,
    columns: Columns | None = None,
    case: str | None = None,
    encoding: str | None = None,
) -> ExpertScores:
    """Read a table; a criterion is in the column of its name, or in the columns of `named`."""
    columns, within = columns or Columns(), within or {}
    expert_table = open_table(path, columns, encoding)
    table = expert_table.table
    by_name = columns_by_name(table.columns)
    chosen_columns = [column for names in (named or {}).values() for column in names]
    demand_columns([columns.id, columns.system, case, *chosen_columns], table.columns, path)
    criteria_columns = _criteria_columns(table.columns, criteria, named or {}, path)
    id_ = columns.id or by_name.get("id") or by_name.get("case_id")
    if id_ is None:
        raise InputError(
            f"{path} has no column of ids, by which experts' scores are joined with the judge's: "
            f"name it with --id{columns_found(table.columns)}"
        )
    system, case = columns.system or by_name.get("system"), case or by_name.get("case")
    ratings: dict[Key, dict[str, list[float]]] = {}
    cases: dict[Key, str] = {}
    problems: list[Problem] = []
    expert_columns = [column for names in criteria_columns.values() for column in names]
    for record in table.read([column for column in (id_, system, case, *expert_columns) if column]):
        values = record.values
        if values is None:
            problems += [] if record.problem is None else [record.problem]
            continue
        name = name_of(values.get(id_), NO_ID)
        if isinstance(name, Fault):
            problems.append(table.named(name).problem(record.place, id_))
            continue
        system_name = name_of(values.get(system), NO_ID) if system else ""
        key = name, system_name if isinstance(system_name, str) else ""
        if case and isinstance(case_name := name_of(values.get(case), NO_ID), str):
            cases[key] = case_name
        for criterion, names in criteria_columns.items():
            for column in names:
                rating = rating_of(values.get(column), within.get(criterion))
                if isinstance(rating, Fault):
                    problems.append(rating.problem(record.place, column))
                elif rating is not None:
                    ratings.setdefault(key, {}).setdefault(criterion, []).append(rating)
    return ExpertScores(
        name=expert_table.name,
        sha256=expert_table.sha256,
        columns=criteria_columns,
        scores={
            key: {criterion: fmean(numbers) for criterion, numbers in criteria_ratings.items()}
            for key, criteria_ratings in ratings.items()
        },
        cases=cases,
        problems=tuple(problems),
    )


def _criteria_columns(
    columns: Sequence[str],
    criteria: Sequence[str],
    chosen_columns: Mapping[str, Sequence[str]],
    path: Path,
) -> dict[str, tuple[str, ...]]:
    """Map each criterion to its columns: one, or one per rater as rater_a_factual_accuracy.

    A criterion of a single word is not looked for at the end of other names.
    """
    if unknown := set(chosen_columns) - set(criteria):
        raise InputError(
            f"the judge has no criterion {min(unknown)!r}; its criteria: {', '.join(criteria)}"
        )
    columns_of: dict[str, tuple[str, ...]] = {}
    for criterion in criteria:
        plain_name = normalised(criterion)
        exact_names = tuple(name for name in columns if normalised(name) == plain_name)
        rater_names = tuple(name for name in columns if normalised(name).endswith(f"_{plain_name}"))
        names = (
            tuple(chosen_columns.get(criterion, ()))
            or exact_names
            or (rater_names if "_" in criterion else ())
        )
        columns_of |= {criterion: names} if names else {}
    if not columns_of:
        raise InputError(
            f"{path} has no column for any criterion of the judge ({', '.join(criteria)}): name "
            f"one, as in --criterion {criteria[0]}=COLUMN{columns_found(columns)}"
        )
    return columns_of


# --- the judge beside them -----------------------------------------------------------------------

# The rubric without a language model, which costs nothing: what a judge has to beat.
BASELINE = "rubric_offline"

Results = Mapping[Key, MetricResult]


@dataclass(frozen=True)
class _Fit:
    experts: ExpertScores
    cases: Mapping[Key, str]
    folds: int
    resamples: int
    seed: int

    def aligned(
        self, metric: str, signature: str, scored: Results, usage: Mapping[str, Any]
    ) -> AlignedMetric:
        scales = _scales(metric, scored)
        criteria: list[CriterionAlignment] = []
        gaps: list[ScoreGap] = []
        for criterion in self.experts.columns:
            keys = [key for key in scored if criterion in self.experts.scores.get(key, {})]
            if not keys or criterion not in scales:
                continue
            judge_scores = np.array([raw_of(scored[key], criterion) for key in keys])
            experts = np.array([self.experts.scores[key][criterion] for key in keys])
            low, high = scales[criterion]
            scale = (min(low, experts.min()), max(high, experts.max()))
            cases = tuple(self.cases[key] for key in keys)
            alignment, aligned_scores = align_criterion(
                ScoredCriterion(
                    criterion, (float(scale[0]), float(scale[1])), judge_scores, experts, cases
                ),
                folds=self.folds,
                resamples=self.resamples,
                seed=self.seed,
            )
            criteria.append(alignment)
            gaps += [
                ScoreGap(
                    id=key[0],
                    system=key[1],
                    criterion=criterion,
                    judge=judge_score,
                    expert=expert,
                    aligned=aligned_score,
                    reason=str(scored[key].evidence.get("reasoning", "")),
                )
                for key, judge_score, expert, aligned_score in zip(
                    keys, judge_scores, experts, aligned_scores, strict=True
                )
                if judge_score != expert
            ]
        if not criteria and self.experts.problems:
            raise InputError(
                f"no score of {self.experts.name} can be used. The first: "
                f"{self.experts.problems[0].message}"
            )
        if not criteria:
            raise InputError(
                f"no pair of {self.experts.name} has a score of {metric}: are they of other pairs, "
                f"or called otherwise? The results have the id {next(iter(scored))[0]!r}, the "
                f"experts {next(iter(self.experts.scores), ('',))[0]!r}"
            )
        worst = sorted(gaps, key=lambda gap: -abs(gap.judge - gap.expert))
        return AlignedMetric(metric, signature, tuple(criteria), tuple(worst), usage)

    def baseline(
        self, folder: Path, rows: Sequence[ResultRow], about: Mapping[str, Any]
    ) -> AlignedMetric | None:
        if not set(CRITERIA) & set(self.experts.columns):
            return None
        results = {key_of(row): row.scores[BASELINE] for row in rows if BASELINE in row.scores}
        signature, seconds = _signature(about, BASELINE), None
        if not results:
            if not has_texts(folder):
                return None
            (metric,) = load_metrics([BASELINE])
            started = perf_counter()
            pairs = {key_of(row): pair for row, pair in stored_pairs(folder) if pair is not None}
            answers = zip(pairs, metric.score(list(pairs.values())), strict=True)
            results = {
                key: MetricResult.of(score) for key, score in answers if isinstance(score, Score)
            }
            seconds, signature = round(perf_counter() - started, 3), str(metric.signature)
        usage = {BASELINE: {"requests": 0, "seconds": seconds, "cost": 0.0, "currency": ""}}
        return self.aligned(BASELINE, signature, results, usage)


def _signature(summary: Mapping[str, Any], metric: str) -> str:
    return str(summary.get(metric, {}).get("signature", ""))


def criteria_of(scored: Results) -> list[str]:
    """List the criteria of a metric: its parts, without spreads and scores before alignment."""
    parts = next(iter(scored.values())).parts
    return [name for name in parts if name != SPREAD and not name.endswith((f"_{SPREAD}", RAW))]


def raw_of(result: MetricResult, criterion: str) -> float:
    """Return the score as the judge gave it, before any alignment."""
    parts = result.parts
    return float(parts.get(f"{criterion}{RAW}", parts[criterion]))


def _known_scales(metric: str) -> dict[str, tuple[float, float]]:
    prompt = metric.removeprefix("judge_").partition("@")[0].partition(":")[0]
    if metric == BASELINE:
        return {name: (1.0, float(top)) for name, top in CRITERIA.items()}
    if prompt in known_prompts():
        return {name: (float(low), float(high)) for name, low, high in load_prompt(prompt).scales}
    return {}


def _scales(metric: str, results: Results) -> dict[str, tuple[float, float]]:
    """Map each criterion to its scale; an unknown one runs from the lowest to the highest score."""
    if known_scales := _known_scales(metric):
        return known_scales
    scales = {}
    for name in criteria_of(results):
        values = [raw_of(result, name) for result in results.values()]
        low = min(values)
        scales[name] = (low, max(*values, low + 1))
    return scales


def _notes(experts: ExpertScores, results: Results) -> Iterator[str]:
    if problems := experts.problems:
        first_message = problems[0].message
        yield (
            f"cells of {experts.name} that cannot be used: {len(problems):,}. The first: "
            f"{first_message}"
        )
    if missing_count := sum(key not in results for key in experts.scores):
        yield f"pairs of {experts.name} without a judge's score: {missing_count:,}"
    if missing_count := sum(key not in experts.scores for key in results):
        yield f"pairs with a judge's score that no expert has scored: {missing_count:,}"
    unscored_criteria = [name for name in criteria_of(results) if name not in experts.columns]
    if unscored_criteria:
        yield f"criteria that the experts have not scored: {', '.join(unscored_criteria)}"


ALIGNMENT, FIGURES = "alignment.yaml", "alignment.json"


@dataclass(frozen=True)
class AlignedMetric:
    metric: str
    signature: str
    criteria: tuple[CriterionAlignment, ...]
    gaps: tuple[ScoreGap, ...]  # where it and the experts differ, the worst first
    usage: Mapping[str, Any]  # by judge: requests, tokens, seconds, cost


@dataclass(frozen=True, repr=False)
class JudgeAgreement(Frames):
    """Agreement of a judge and of the free baseline with experts, and the fitted `alignment`."""

    judge: AlignedMetric
    baseline: AlignedMetric | None
    alignment: Alignment
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[AlignedMetric, ...]:
        return (self.judge,) if self.baseline is None else (self.judge, self.baseline)

    def records(self) -> Iterator[dict[str, Any]]:
        for metric in self.metrics:
            for criterion in metric.criteria:
                for state, figures in (
                    ("as it is", criterion.before),
                    ("aligned", criterion.after),
                ):
                    if figures is not None:
                        flat: dict[str, Any] = {"criterion": criterion.criterion}
                        flat |= {"metric": metric.metric, "scores": state, "pairs": criterion.pairs}
                        for name in AgreementFigures.model_fields:
                            figure = getattr(figures, name)
                            bounds = {"": figure.value, ".low": figure.low, ".high": figure.high}
                            flat |= {f"{name}{suffix}": value for suffix, value in bounds.items()}
                        yield flat

    def __repr__(self) -> str:
        names = ", ".join(criterion.criterion for criterion in self.judge.criteria)
        experts = self.alignment.experts["name"]
        return f"<JudgeAgreement of {self.judge.metric} with {experts}: {names}>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "histoeval": __version__,
            "experts": dict(self.alignment.experts),
            "metrics": {
                metric.metric: {
                    "signature": metric.signature,
                    "usage": dict(metric.usage),
                    "criteria": [
                        criterion.model_dump(mode="json") for criterion in metric.criteria
                    ],
                    "disagreements": [gap.model_dump(mode="json") for gap in metric.gaps],
                }
                for metric in self.metrics
            },
            "notes": list(self.notes),
        }

    def write(self, folder: str | Path) -> Path:
        """Write `alignment.yaml`, which `judge --alignment` takes, and `alignment.json`."""
        home = Path(folder)
        with writing_to(home):
            make_folder(home)
            write_text(home / ALIGNMENT, alignment_text(self.alignment))
            write_json(home / FIGURES, self.to_dict())
        return home / ALIGNMENT


def named_columns(assignments: Iterable[str]) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    for assignment in assignments:
        name, separator, column = assignment.partition("=")
        if not separator or not column:
            raise SettingError(f"--criterion {assignment!r} is not of the form CRITERION=COLUMN")
        columns.setdefault(name.strip(), []).append(column.strip())
    return columns


@front_door
@documented
def align_judge(
    results: Annotated[
        PathLike,
        Argument(
            "Folder of `histoeval judge`, or of `histoeval score --metrics rubric_offline`.",
            metavar="RESULTS",
        ),
    ],
    experts: Annotated[
        PathLike,
        Argument(
            "Table with ids and a column for each criterion; ratings.csv of a study is one.",
            metavar="EXPERTS",
        ),
    ],
    *,
    output: Annotated[
        PathLike | None, Option("Folder for alignment.yaml and alignment.json.")
    ] = None,
    metric: Annotated[
        str | None, Option("Metric of RESULTS; when omitted: the judge, or rubric_offline.")
    ] = None,
    criteria: Annotated[
        Mapping[str, str | Sequence[str]] | None,
        Option(
            "CRITERION=COLUMN, where names differ; repeat it for further columns.",
            COLUMNS,
            name="--criterion",
            shell=list[str] | None,
            read=named_columns,
            python="the columns of a criterion, where they have other names.",
        ),
    ] = None,
    columns: Annotated[
        Columns | None,
        Option(
            "columns of the table, where they are not guessed.", shell=Columns, only="id system"
        ),
    ] = None,
    case: Annotated[
        str | None,
        Option("Column with the case; else pairs of one reference are of one case.", COLUMNS),
    ] = None,
    encoding: Encoding = None,
    baseline: Annotated[
        bool,
        Option("Put rubric_offline beside, which costs nothing.", name="--baseline/--no-baseline"),
    ] = True,
    folds: Annotated[int, Option("Folds of cases.", STATISTICS, min=2)] = FOLDS,
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> JudgeAgreement:
    """Compare a judge's scores with experts', and fit a mapping that brings them closer.

    Examples:
        >>> histoeval.align_judge("judged", "ratings.csv", output="aligned").to_polars()
    """
    if folds < 2:
        raise SettingError(f"{folds} folds: cross-validation needs 2 or more")
    home = Path(results)
    folder = home if home.is_dir() else home.parent
    summary = read_summary(home)
    rows = list(read_rows(home))
    judges = [name for name in summary if name.startswith("judge") and "@" not in name]
    name = metric or next(iter([*judges, *(name for name in summary if name == BASELINE)]), None)
    if name is None:
        raise InputError(
            f"{home} holds no judge's scores: give a folder of `histoeval judge`, or of "
            f"`histoeval score --metrics {BASELINE}`"
        )
    judge_results = {key_of(row): row.scores[name] for row in rows if name in row.scores}
    if not judge_results:
        available = ", ".join(dict.fromkeys(name for row in rows for name in row.scores)) or "none"
        raise InputError(f"{home} has no scores of {name!r}; it has those of {available}")
    expert_scores = read_expert_scores(
        Path(experts),
        criteria_of(judge_results),
        within=_known_scales(name),
        named={
            criterion: [column] if isinstance(column, str) else column
            for criterion, column in (criteria or {}).items()
        },
        columns=columns,
        case=case,
        encoding=encoding,
    ).of_pairs(judge_results.keys())
    # Cases as the table says, else pairs of one reference, else of one id.
    cases = {key_of(row): row.id for row in rows}
    if not expert_scores.cases and has_texts(folder):
        texts = zip(rows, read_texts(folder), strict=False)
        cases |= {
            key_of(row): str(row_texts["reference"])
            for row, row_texts in texts
            if row_texts.get("reference")
        }
    fit = _Fit(expert_scores, cases | dict(expert_scores.cases), folds, resamples, seed)
    usage = read_json(folder / USAGE, folder) if (folder / USAGE).is_file() else {}
    judge = fit.aligned(name, _signature(summary, name), judge_results, usage)
    rubric = fit.baseline(folder, rows, summary) if baseline and name != BASELINE else None
    notes = tuple(_notes(expert_scores, judge_results))
    agreement = JudgeAgreement(judge, rubric, alignment_of(judge, expert_scores), notes)
    if output is not None:
        agreement.write(output)
    return agreement


def alignment_of(judge: AlignedMetric, experts: ExpertScores) -> Alignment:
    signature_parts = dict(part.partition(":")[::2] for part in judge.signature.split("|"))
    return Alignment(
        metric=judge.metric,
        prompt=signature_parts.get("prompt", ""),
        judge=models_of(signature_parts.get("judge", "")),
        experts={
            "name": experts.name,
            "sha256": experts.sha256,
            "columns": {name: list(names) for name, names in experts.columns.items()},
        },
        criteria={criterion.criterion: criterion.mapping for criterion in judge.criteria},
        fitted={
            criterion.criterion: {
                "pairs": criterion.pairs,
                "cases": criterion.cases,
                "offset": criterion.offset.value,
                "before": _values(criterion.before),
                "after": None if criterion.after is None else _values(criterion.after),
            }
            | ({"not_fitted": criterion.reason} if criterion.reason else {})
            for criterion in judge.criteria
        },
    )


def _values(figures: AgreementFigures) -> dict[str, Any]:
    return {
        name: None if (value := getattr(figures, name).value) is None else round(value, 4)
        for name in AgreementFigures.model_fields
    }

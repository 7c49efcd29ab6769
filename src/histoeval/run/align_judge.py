"""A judge beside experts, and closer to them: ``histoeval.align_judge("judged", "table.csv")``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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
from histoeval.callers import documented, front_door
from histoeval.concordance.rubric import CRITERIA
from histoeval.errors import InputError, SettingError
from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.results import Key, MetricResult, ResultRow, key_of, read_rows, read_summary
from histoeval.io.store import read_json
from histoeval.io.tables.columns import Columns
from histoeval.io.writing import make_folder, write_json, write_text, writing_to
from histoeval.judges.alignment import RAW, Alignment, alignment_text, models_of
from histoeval.judges.panel import SPREAD
from histoeval.judges.prompt import known_prompts, load_prompt
from histoeval.metric import Score
from histoeval.run.expert_scores import ExpertScores, read_expert_scores
from histoeval.run.judge import USAGE
from histoeval.run.models import load_metrics
from histoeval.run.results import Frames
from histoeval.run.settings import Encoding, PathLike, Resamples, Seed
from histoeval.run.stored import stored_pairs
from histoeval.settings import COLUMNS, STATISTICS, Argument, Option
from histoeval.version import __version__

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
            keys = [k for k in scored if criterion in self.experts.scores.get(k, {})]
            if not keys or criterion not in scales:
                continue
            own = np.array([raw_of(scored[key], criterion) for key in keys])
            experts = np.array([self.experts.scores[key][criterion] for key in keys])
            low, high = scales[criterion]
            scale = (min(low, experts.min()), max(high, experts.max()))
            cases = tuple(self.cases[key] for key in keys)
            each, unseen = align_criterion(
                ScoredCriterion(criterion, (float(scale[0]), float(scale[1])), own, experts, cases),
                folds=self.folds,
                resamples=self.resamples,
                seed=self.seed,
            )
            criteria.append(each)
            gaps += [
                ScoreGap(
                    id=key[0],
                    system=key[1],
                    criterion=criterion,
                    judge=judged,
                    expert=expert,
                    aligned=moved,
                    reason=str(scored[key].evidence.get("reasoning", "")),
                )
                for key, judged, expert, moved in zip(keys, own, experts, unseen, strict=True)
                if judged != expert
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
        scored = {key_of(row): row.scores[BASELINE] for row in rows if BASELINE in row.scores}
        signature, seconds = _signature(about, BASELINE), None
        if not scored:
            if not has_texts(folder):
                return None
            (metric,) = load_metrics([BASELINE])
            began = perf_counter()
            pairs = {key_of(row): pair for row, pair in stored_pairs(folder) if pair is not None}
            answers = zip(pairs, metric.score(list(pairs.values())), strict=True)
            scored = {k: MetricResult.of(each) for k, each in answers if isinstance(each, Score)}
            seconds, signature = round(perf_counter() - began, 3), str(metric.signature)
        used = {BASELINE: {"requests": 0, "seconds": seconds, "cost": 0.0, "currency": ""}}
        return self.aligned(BASELINE, signature, scored, used)


def _signature(about: Mapping[str, Any], metric: str) -> str:
    return str(about.get(metric, {}).get("signature", ""))


def criteria_of(scored: Results) -> list[str]:
    """The criteria of a metric: its parts, without spreads and what was aligned before."""
    parts = next(iter(scored.values())).parts
    return [n for n in parts if n != SPREAD and not n.endswith((f"_{SPREAD}", RAW))]


def raw_of(result: MetricResult, criterion: str) -> float:
    """The score as the judge gave it, also where an alignment was applied."""
    parts = result.parts
    return float(parts.get(f"{criterion}{RAW}", parts[criterion]))


def _known_scales(metric: str) -> dict[str, tuple[float, float]]:
    prompt = metric.removeprefix("judge_").partition("@")[0].partition(":")[0]
    if metric == BASELINE:
        return {name: (1.0, float(top)) for name, top in CRITERIA.items()}
    if prompt in known_prompts():
        return {n: (float(low), float(high)) for n, low, high in load_prompt(prompt).scales}
    return {}


def _scales(metric: str, scored: Results) -> dict[str, tuple[float, float]]:
    """The scale of each criterion: where it is not known, from the lowest score to the highest."""
    if known := _known_scales(metric):
        return known
    scales = {}
    for name in criteria_of(scored):
        values = [raw_of(each, name) for each in scored.values()]
        low = min(values)
        scales[name] = (low, max(*values, low + 1))
    return scales


def _notes(experts: ExpertScores, scored: Results) -> Iterator[str]:
    if problems := experts.problems:
        first = problems[0].message
        yield f"cells of {experts.name} that cannot be used: {len(problems):,}. The first: {first}"
    if lost := sum(key not in scored for key in experts.scores):
        yield f"pairs of {experts.name} without a judge's score: {lost:,}"
    if lost := sum(key not in experts.scores for key in scored):
        yield f"pairs with a judge's score that no expert has scored: {lost:,}"
    absent = [name for name in criteria_of(scored) if name not in experts.columns]
    if absent:
        yield f"criteria that the experts have not scored: {', '.join(absent)}"


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
    """A judge and the free baseline beside experts; `alignment` is what brings it closer."""

    judge: AlignedMetric
    baseline: AlignedMetric | None
    alignment: Alignment
    notes: tuple[str, ...]

    @property
    def metrics(self) -> tuple[AlignedMetric, ...]:
        return (self.judge,) if self.baseline is None else (self.judge, self.baseline)

    def records(self) -> Iterator[dict[str, Any]]:
        for metric in self.metrics:
            for each in metric.criteria:
                for state, figures in (("as it is", each.before), ("aligned", each.after)):
                    if figures is not None:
                        flat: dict[str, Any] = {"criterion": each.criterion}
                        flat |= {"metric": metric.metric, "scores": state, "pairs": each.pairs}
                        for name in AgreementFigures.model_fields:
                            figure = getattr(figures, name)
                            ends = {"": figure.value, ".low": figure.low, ".high": figure.high}
                            flat |= {f"{name}{end}": value for end, value in ends.items()}
                        yield flat

    def __repr__(self) -> str:
        names = ", ".join(each.criterion for each in self.judge.criteria)
        experts = self.alignment.experts["name"]
        return f"<JudgeAgreement of {self.judge.metric} with {experts}: {names}>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "histoeval": __version__,
            "experts": dict(self.alignment.experts),
            "metrics": {
                each.metric: {
                    "signature": each.signature,
                    "usage": dict(each.usage),
                    "criteria": [one.model_dump(mode="json") for one in each.criteria],
                    "disagreements": [one.model_dump(mode="json") for one in each.gaps],
                }
                for each in self.metrics
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
    for each in assignments:
        name, equals, column = each.partition("=")
        if not equals or not column:
            raise SettingError(f"--criterion {each!r} is not of the form CRITERION=COLUMN")
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
    """Put a judge's scores beside experts', and fit what brings them closer.

    Examples:
        >>> histoeval.align_judge("judged", "ratings.csv", output="aligned").to_polars()
    """
    if folds < 2:
        raise SettingError(f"{folds} folds: cross-validation needs 2 or more")
    home = Path(results)
    folder = home if home.is_dir() else home.parent
    about = read_summary(home)
    rows = list(read_rows(home))
    judges = [each for each in about if each.startswith("judge") and "@" not in each]
    name = metric or next(iter([*judges, *(each for each in about if each == BASELINE)]), None)
    if name is None:
        raise InputError(
            f"{home} holds no judge's scores: give a folder of `histoeval judge`, or of "
            f"`histoeval score --metrics {BASELINE}`"
        )
    scored = {key_of(row): row.scores[name] for row in rows if name in row.scores}
    if not scored:
        known = ", ".join(dict.fromkeys(each for row in rows for each in row.scores)) or "none"
        raise InputError(f"{home} has no scores of {name!r}; it has those of {known}")
    rated = read_expert_scores(
        Path(experts),
        criteria_of(scored),
        within=_known_scales(name),
        named={n: [c] if isinstance(c, str) else c for n, c in (criteria or {}).items()},
        columns=columns,
        case=case,
        encoding=encoding,
    ).of_pairs(scored.keys())
    # Cases as the table says, else pairs of one reference, else of one id.
    cases = {key_of(row): row.id for row in rows}
    if not rated.cases and has_texts(folder):
        texts = zip(rows, read_texts(folder), strict=False)
        cases |= {key_of(row): str(t["reference"]) for row, t in texts if t.get("reference")}
    fit = _Fit(rated, cases | dict(rated.cases), folds, resamples, seed)
    usage = read_json(folder / USAGE, folder) if (folder / USAGE).is_file() else {}
    judge = fit.aligned(name, _signature(about, name), scored, usage)
    free = fit.baseline(folder, rows, about) if baseline and name != BASELINE else None
    notes = tuple(_notes(rated, scored))
    agreement = JudgeAgreement(judge, free, alignment_of(judge, rated), notes)
    if output is not None:
        agreement.write(output)
    return agreement


def alignment_of(judge: AlignedMetric, experts: ExpertScores) -> Alignment:
    signed = dict(part.partition(":")[::2] for part in judge.signature.split("|"))
    return Alignment(
        metric=judge.metric,
        prompt=signed.get("prompt", ""),
        judge=models_of(signed.get("judge", "")),
        experts={
            "name": experts.name,
            "sha256": experts.sha256,
            "columns": {name: list(each) for name, each in experts.columns.items()},
        },
        criteria={each.criterion: each.mapping for each in judge.criteria},
        fitted={
            each.criterion: {
                "pairs": each.pairs,
                "cases": each.cases,
                "offset": each.offset.value,
                "before": _values(each.before),
                "after": None if each.after is None else _values(each.after),
            }
            | ({"not_fitted": each.reason} if each.reason else {})
            for each in judge.criteria
        },
    )


def _values(figures: AgreementFigures) -> dict[str, Any]:
    return {
        name: None if (value := getattr(figures, name).value) is None else round(value, 4)
        for name in AgreementFigures.model_fields
    }

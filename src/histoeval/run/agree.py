"""Agreement of metrics with the experts of a sheet: ``histoeval.agree("sheet.tsv")``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ValidationError

from histoeval.agreement.metric_vs_experts import MetricVsExperts
from histoeval.agreement.panel import PANEL, Column, Panel, panel_content
from histoeval.agreement.study import Study, StudyPlan, study
from histoeval.argument_names import argument, public
from histoeval.errors import InputError, SettingError
from histoeval.io.files import GUESS, demand_table
from histoeval.io.pairs import PairSource
from histoeval.io.results import Key, ResultFolder, ScoredMetric, gather, read_scored, scores_file
from histoeval.io.sheets import RatedPair, Sheet, naming_raters, read_sheet
from histoeval.io.store import claim
from histoeval.io.tables.columns import Columns
from histoeval.io.writing import make_folder, protecting, write_json, writing_to
from histoeval.progress import row_progress
from histoeval.run.inputs import pair_source
from histoeval.run.models import DEFAULT_METRICS, load_metrics, metric_names
from histoeval.run.results import Frames
from histoeval.run.score import score_source
from histoeval.run.settings import (
    Encoding,
    ModelChoice,
    Overwrite,
    PathLike,
    Permutations,
    Resamples,
    Seed,
    metric_option,
)
from histoeval.settings import COLUMNS, STATISTICS, Argument, Option
from histoeval.statistics.correlation import RANKED_BY, Coefficient
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.version import __version__


@dataclass(frozen=True, repr=False)
class Agreement(Frames):
    """The agreement of each metric with the experts, the scores behind it, and what was skipped.

    It has a row for each metric: iterate over them, or take one by the name of the metric.
    """

    study: Study
    plan: StudyPlan
    panel: Panel
    about: Mapping[str, Any]
    notes: tuple[str, ...]
    unavailable: Mapping[str, str]

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `agreement.json`."""
        return self.to_dict()

    def __iter__(self) -> Iterator[MetricVsExperts]:
        return iter(self.study.metrics)

    def __len__(self) -> int:
        return len(self.study.metrics)

    def __getitem__(self, metric: str) -> MetricVsExperts:
        return {row.metric: row for row in self}[metric]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield flat records: a metric with its correlations, intervals, and regression."""
        for row in self:
            flat: dict[str, Any] = {"metric": row.metric, "n": row.n, "coverage": row.coverage}
            for coefficient in Coefficient:
                estimate = row.coefficient(coefficient)
                name = coefficient.value
                flat |= {
                    name: estimate.value,
                    f"{name}.low": estimate.low,
                    f"{name}.high": estimate.high,
                }
                flat[f"{name}.p"] = estimate.p
            flat |= {"r2": row.r2, "rmse": row.rmse, "slope": row.slope, "ties": row.ties}
            yield flat | {"reason": row.reason}

    def __repr__(self) -> str:
        coefficient = self.plan.coefficient
        values = {row.metric: row.coefficient(coefficient).value for row in self}
        figures = [f"{name} {value:.3f}" for name, value in values.items() if value is not None]
        name = self.about["name"]
        experts = ", ".join(self.about["raters"])
        return (
            f"<Agreement with {experts} on {self.study.rows} pairs of {name}; {coefficient.value}: "
            f"{', '.join(figures)}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `agreement.json`."""
        return {
            "histoeval": __version__,
            "sheet": dict(self.about),
            "settings": self.plan.model_dump(mode="json"),
            **self.study.model_dump(mode="json"),
            "unavailable": dict(self.unavailable),
            "notes": list(self.notes),
        }

    def write(self, folder: Path, command: str | None = None) -> Path:
        """Write `agreement.json` into a folder, with the command that made it."""
        content = self.to_dict() | ({} if command is None else {"command": command})
        json.dumps(content, allow_nan=False)
        with writing_to(folder):
            make_folder(folder)
            write_json(folder / PANEL, panel_content(self.panel))
            write_json(folder / "agreement.json", content)
        return folder / "agreement.json"


def _scale_bounds(text: str) -> Range:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise SettingError(f"--scale {text!r} is not two numbers, as in 0,5") from error
    return low, high


def _metric_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise SettingError(f"--power {text!r} is not two metrics, as in hare,bleu")
    return names[0], names[1]


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """Settings of a comparison of metrics with experts."""

    cases: Annotated[
        PathLike | None, Option("Table of row (from 0) and case, for HARE's layout.", COLUMNS)
    ] = None
    raters: Annotated[
        Sequence[str],
        Option(
            "Column with an expert's scores; repeat it for each rater. When omitted: "
            "columns whose names say so, or columns of numbers that share a scale.",
            COLUMNS,
            name="--rater",
        ),
    ] = ()
    group: Annotated[
        str,
        Option(
            "What is resampled together, and compared within: case, system, row, or a column. "
            "The case is the column case, or --cases, or the reference itself.",
            STATISTICS,
        ),
    ] = "case"
    positive_only: Annotated[
        bool,
        Option(
            "Omit pairs that experts score 0, as the HARE paper does.",
            STATISTICS,
            name="--positive-only/--all",
        ),
    ] = False
    scale: Annotated[
        Range | None,
        Option(
            "Lowest and highest possible expert score, as in 0,5.",
            STATISTICS,
            shell=str | None,
            read=_scale_bounds,
        ),
    ] = None
    coefficient: Annotated[
        str,
        Option(
            "Correlation that ranks the metrics.",
            STATISTICS,
            shell=Literal["spearman", "pearson", "kendall"],
        ),
    ] = RANKED_BY.value
    resamples: Resamples = RESAMPLES
    permutations: Permutations = PERMUTATIONS
    seed: Seed = 0


SHEET = Argument(
    "Pairs that experts have scored: HARE's layout (candidates 0, 1, … beside Scoring 0, "
    "…), or one pair per row with a column for each rater.",
    metavar="SHEET",
    shell=Path,
    python="pairs that experts have scored, in HARE's layout or one pair per row: a file, a "
    "polars or pandas frame, or records (dicts).",
)


@dataclass(frozen=True)
class AgreeSettings(StudySettings):
    sheet: Annotated[Any, SHEET]
    _: KW_ONLY
    metrics: Annotated[
        str | Sequence[str] | None,
        metric_option(
            "Metrics, separated by commas, as for `histoeval score`. When omitted: those of "
            "--scores, or else the default ones.",
            shell=str | None,
        ),
    ] = None
    scores: Annotated[
        Sequence[PathLike],
        Option(
            "scores.jsonl of the same sheet, or its folder; its metrics are not run again. "
            "Can be repeated."
        ),
    ] = ()
    output: Annotated[
        PathLike | None,
        Option("Folder for agreement.json and the scores; a stopped run resumes there."),
    ] = None
    overwrite: Overwrite = False
    by: Annotated[
        Sequence[str],
        Option(
            "Also report each system, set, case or value of a column, such as organ; can be "
            "repeated.",
            STATISTICS,
            name="--by",
        ),
    ] = ()
    power: Annotated[
        tuple[str, str] | None,
        Option(
            "Two metrics, as in hare,bleu: how many pairs are needed to tell them apart? "
            "Takes a while.",
            STATISTICS,
            shell=str | None,
            read=_metric_pair,
        ),
    ] = None
    columns: Annotated[
        Columns | None, Option("of the sheet, where they cannot be guessed.", shell=Columns)
    ] = None
    encoding: Encoding = None
    models: ModelChoice = None


def run_agree(settings: AgreeSettings) -> Agreement:
    columns = settings.columns or GUESS
    source, sheet = open_rated(settings.sheet, settings, columns, settings.encoding, settings.by)
    stored_metrics: dict[str, ScoredMetric] = {}
    for file in settings.scores:
        for name, metric in read_scored(Path(file)).items():
            if metric.values and name in stored_metrics:
                raise InputError(f"{file} has scores of {name}, and so has a file before it")
            # without values, it could not run then
            stored_metrics |= {name: metric} if metric.values else {}
    selected = list(stored_metrics) or metric_names(DEFAULT_METRICS)
    if (requested := settings.metrics) is not None:
        names = requested.split(",") if isinstance(requested, str) else requested
        selected = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    missing = [name for name in selected if name not in stored_metrics]
    if missing or not selected:
        metric_names(missing)
    folder = None if settings.output is None else Path(settings.output)
    if folder is not None:
        with writing_to(folder):
            claim(folder, "agree", overwrite=settings.overwrite)
    computed: dict[str, ScoredMetric] = {}
    unavailable: dict[str, str] = {}
    with protecting(scores_file(Path(file)) for file in settings.scores):
        if missing:
            # a stopped run is continued in the folder `scores`
            store = None if folder is None else ResultFolder(folder / "scores")
            metrics = load_metrics(missing, settings.models)
            with row_progress(source) as watch:
                scores = score_source(
                    source, metrics, store, overwrite=settings.overwrite, watch=watch
                )
            computed = gather(scores, scores.summary["metrics"])
            unavailable = scores.summary["unavailable"]
    scores_by_metric = {
        name: (stored_metrics | computed)[name]
        for name in selected
        if name in stored_metrics | computed
    }
    plan_options = {"by": tuple(settings.by), "power": settings.power}
    agreement = conclude(source, sheet, scores_by_metric, unavailable, settings, **plan_options)
    if folder is not None:
        agreement.write(folder)
    return agreement


@public(AgreeSettings)
def agree(settings: AgreeSettings) -> Agreement:
    """Study how well metrics follow experts.

    Examples:
        >>> histoeval.agree("sheet.tsv", metrics="concordance,bleu").to_polars()
    """
    return run_agree(settings)


def open_rated(
    sheet: Any,
    settings: StudySettings,
    columns: Columns,
    encoding: str | None = None,
    labels: Sequence[str] = (),
) -> tuple[PairSource, Sheet]:
    if (scale := settings.scale) is not None and not scale[0] < scale[1]:
        raise SettingError(f"scores cannot run from {scale[0]:g} to {scale[1]:g}")
    if isinstance(sheet, str | Path):
        demand_table(Path(sheet))
    source = pair_source(sheet, columns=columns, encoding=encoding)
    return source, read_sheet(
        source,
        cases=None if settings.cases is None else Path(settings.cases),
        scores=settings.raters or None,
        group=None if settings.group in OWN else settings.group,
        labels=[name for name in dict.fromkeys(labels) if name not in OWN],
        within=scale,
    )


def conclude(
    source: PairSource,
    sheet: Sheet,
    scored: Mapping[str, ScoredMetric],
    unavailable: Mapping[str, str],
    settings: StudySettings,
    **more: Any,
) -> Agreement:
    """Compute all figures from a sheet that was read and the scores of its pairs."""
    names = ("group", "positive_only", "coefficient", "resamples", "permutations", "seed")
    try:
        plan = StudyPlan(**{name: getattr(settings, name) for name in names}, **more)
    except ValidationError as error:
        detail = error.errors()[0]
        raise SettingError(f"{detail['loc'][0]}: {detail['msg'].lower()}") from error
    panel, notes = panel_of(sheet, scored, plan.group, plan.by)
    is_empty = {name: np.isnan(column.values).all() for name, column in panel.metrics.items()}
    for name, empty in is_empty.items():
        if empty and name not in unavailable and len(panel):
            raise InputError(
                f"{name} has no score for any pair of {source.name} that an expert scored: are "
                f"they of another sheet? A pair of this one has the id {panel.ids[0]!r}"
            )
    scale = settings.scale
    plan = plan.model_copy(update={"expert_range": scale or scale_of(sheet, panel)})
    usable_columns = {name: column for name, column in panel.metrics.items() if not is_empty[name]}
    sheet_info = about_sheet(source, sheet, panel)
    return Agreement(
        study=study(replace(panel, metrics=usable_columns), plan),
        plan=plan,
        panel=panel,
        about=sheet_info | {"experts": experts_line(sheet, panel, settings.raters)},
        notes=(*sheet.notes, *notes, *remarks_on(sheet, panel, scale)),
        unavailable=unavailable,
    )


HARE_SCALE = (0.0, 5.0)  # from what to what the experts of HARE's sheet score
# What every sheet has, whatever its columns: words that `group` and `by` know.
OWN = ("case", "system", "set", "row")


def panel_of(
    sheet: Sheet, scored: Mapping[str, ScoredMetric], group: str, by: Sequence[str]
) -> tuple[Panel, tuple[str, ...]]:
    rated_rows = [row for row in sheet.rated if row.scores]
    keys = [key_of(row, sheet.wide) for row in rated_rows]
    names = list(dict.fromkeys(name for row in rated_rows for name in row.scores))
    panel = Panel(
        ids=tuple(row.pair.id for row in rated_rows),
        systems=() if sheet.wide else tuple(row.pair.system or "" for row in rated_rows),
        groups=tuple(_label(row, group) for row in rated_rows),
        raters={name: _numbers(row.scores.get(name) for row in rated_rows) for name in names},
        metrics={
            name: Column(
                _numbers(metric.values.get(key) for key in keys),
                metric.signature,
                metric.range,
                metric.higher_is_better,
            )
            for name, metric in scored.items()
        },
        labels={name: tuple(_label(row, name) for row in rated_rows) for name in by},
    )
    skipped = len(sheet.rated) - len(rated_rows)
    return panel, (f"{skipped:,} pairs have no expert's score and are skipped",) if skipped else ()


def key_of(row: RatedPair, wide: bool) -> Key:
    """Return the key of a pair in results, where the candidate is not part of the id."""
    system = row.pair.system or ""
    return (row.pair.id.removesuffix(f".{system}") if wide else row.pair.id), system


def _label(row: RatedPair, name: str) -> str:
    own_labels = {
        "case": row.group,
        "system": row.pair.system or "",
        "set": row.set,
        "row": row.pair.id,
    }
    return row.labels[name] if name in row.labels else own_labels.get(name, row.group)


def _numbers(values: Iterable[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def scale_of(sheet: Sheet, panel: Panel) -> Range:
    if sheet.wide or not len(panel):
        return HARE_SCALE
    low, high = float(np.nanmin(panel.ratings)), float(np.nanmax(panel.ratings))
    return (low, high) if low < high else (low, low + 1.0)


def about_sheet(source: PairSource, sheet: Sheet, panel: Panel) -> dict[str, Any]:
    return {
        "name": source.name,
        "sha256": source.sha256,
        "layout": "HARE" if sheet.wide else "long",
        "pairs": len(sheet.rated),
        "rated": len(panel),
        "unreadable": len(sheet.problems),
        "problems": [problem.message for problem in sheet.problems[:20]],
        "raters": list(panel.raters),
        "not_raters": list(sheet.not_raters),
    }


def experts_line(sheet: Sheet, panel: Panel, raters: Sequence[str]) -> str:
    ranges = [
        f"{name} ({np.nanmin(column):g} to {np.nanmax(column):g})"
        for name, column in panel.raters.items()
    ]
    mean_note = "; their mean is the experts' score" if len(ranges) > 1 else ""
    if raters or sheet.wide:
        return f"Experts: {', '.join(ranges)}{mean_note}."
    excluded = f" Not taken as experts: {', '.join(sheet.not_raters)}." if sheet.not_raters else ""
    return (
        f"Experts, as guessed from the columns: {', '.join(ranges)}{mean_note}.{excluded} "
        f"If that is wrong, name them: {naming_raters()}."
    )


def remarks_on(sheet: Sheet, panel: Panel, scale: Range | None) -> Iterable[str]:
    if sheet.problems:
        first_message = sheet.problems[0].message
        yield f"rows that cannot be used: {len(sheet.problems):,}. The first: {first_message}"
    if scale is None and not sheet.wide and len(panel) and np.nanstd(panel.ratings) > 0:
        low, high = scale_of(sheet, panel)
        yield (
            f"experts' scores are taken to run from {low:g} to {high:g}, as they do in the sheet; "
            f"RMSE depends on that: name the scale ({argument('scale')})"
        )

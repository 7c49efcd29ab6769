"""Figures of a study for its coordinator: tables, progress, agreement, and disagreements."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import Field, FiniteFloat

from histoeval.agreement.metric_vs_experts import Disagreement, most_apart
from histoeval.agreement.panel import Column, Panel
from histoeval.agreement.study import Raters, rater_agreement
from histoeval.errors import InputError
from histoeval.io.results import Key, ScoredMetric
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.report import Noun
from histoeval.statistics.raters import krippendorff_alpha
from histoeval.statistics.resampling import Estimate, Numbers, Resamples, resample
from histoeval.web.study.plan import ExpertStudy, sheet_column
from histoeval.web.study.store import RaterRatings

Ratings = Mapping[str, RaterRatings]
Rows = Iterator[Sequence[object]]

SHEET = "sheet.csv"

# enough for a page that is looked at while ratings come in; `agree` makes ten times as many
RESAMPLES = 1_000
MOST_APART = 10

MOST_STEPS = 20


def export(study: ExpertStudy, ratings: Ratings, folder: Path) -> list[Path]:
    if not any(rater_ratings.saved for rater_ratings in ratings.values()):
        raise InputError(f"nobody has scored a pair of {study.file.name!r} yet")
    with writing_to(folder):
        make_folder(folder)
        for name in TABLES:
            write_whole(folder / name, table_csv(name, study, ratings))
    return [folder / name for name in TABLES]


def table_csv(name: str, study: ExpertStudy, ratings: Ratings) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(TABLES[name](study, ratings))
    return text.getvalue().encode()


def sheet_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """Yield a row for each pair, with a column of scores for each rater; empty if not scored."""
    labels = tuple(study.pairs[0].labels)
    raters = study.file.raters
    yield ("id", "system", *labels, "reference", "candidate", *map(sheet_column, raters))
    for pair in study.pairs:
        texts = (*pair.key, *(pair.labels[name] for name in labels), pair.reference, pair.candidate)
        yield (*texts, *(_number(ratings[rater].score_of(pair.key)) for rater in raters))


def rating_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """Yield a row for each pair that a rater has scored, in the order of saving."""
    criteria = [criterion.name for criterion in study.criteria]
    yield ("rater", "id", "system", "score", *criteria, "errors", "comment", "saved", "revisions")
    for rater, rater_ratings in ratings.items():
        for key, line in sorted(rater_ratings.saved.items(), key=lambda item: item[1].number):
            rating = line.rating
            levels = [rating.criteria.get(name, "") for name in criteria]
            answers = (_number(rating.score), *levels, len(rating.errors), rating.comment)
            yield (rater, *key, *answers, line.time, rater_ratings.revisions[key])


def error_rows(study: ExpertStudy, ratings: Ratings) -> Rows:
    """Yield a row for each error that a rater has marked, with its words and their positions."""
    sides = [
        f"{side}{part}" for side in ("reference", "candidate") for part in ("", "_start", "_end")
    ]
    yield ("rater", "id", "system", "kind", "severity", *sides)
    for rater in study.file.raters:
        for key, line in sorted(ratings[rater].saved.items(), key=lambda item: item[1].number):
            for error in line.rating.errors:
                spans = [
                    cell
                    for span in (error.reference, error.candidate)
                    for cell in ((span.text, span.start, span.end) if span else ("", "", ""))
                ]
                yield (rater, *key, error.kind.value, error.severity.name.lower(), *spans)


TABLES: Mapping[str, Callable[[ExpertStudy, Ratings], Rows]] = {
    SHEET: sheet_rows,
    "ratings.csv": rating_rows,
    "errors.csv": error_rows,
}


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


class RaterProgress(Noun):
    rater: str
    saved: int
    drafts: int
    pairs: int
    last: str = ""  # when the last rating was saved; empty before the first


class GrowthStep(Noun):
    """Krippendorff's alpha after so many pairs with two ratings or more."""

    pairs: int
    alpha: FiniteFloat


class RaterGap(Noun):
    number: int
    key: Key
    gap: FiniteFloat
    scores: Mapping[str, FiniteFloat]


class MetricGap(Noun):
    number: int
    metric: str
    found: Disagreement


class StudyFigures(Noun):
    """The figures of a study at one time; `agreement` is None before two raters."""

    progress: tuple[RaterProgress, ...]
    complete: int = 0  # pairs that every rater has scored
    agreement: Raters | None = None
    # Krippendorff's alpha for ordinal scores, by criterion
    criteria: Mapping[str, Estimate] = Field(default_factory=dict)
    growth: tuple[GrowthStep, ...] = ()
    apart: tuple[RaterGap, ...] = ()
    metric_apart: tuple[MetricGap, ...] = ()


def figures(
    study: ExpertStudy, ratings: Ratings, metrics: Mapping[str, ScoredMetric]
) -> StudyFigures:
    progress = tuple(
        RaterProgress(
            rater=rater,
            saved=len(rater_ratings.saved),
            drafts=len(rater_ratings.drafts),
            pairs=len(study.pairs),
            last=max((line.time for line in rater_ratings.saved.values()), default=""),
        )
        for rater, rater_ratings in ratings.items()
    )
    panel = _panel(study, ratings, metrics)
    if not len(panel):
        return StudyFigures(progress=progress)
    has_several_raters = bool(((~np.isnan(panel.ratings)).sum(axis=1) > 1).any())
    drawn = resample(panel.groups, RESAMPLES, study.file.seed)
    numbers = {pair.key: number for number, pair in enumerate(study.pairs, start=1)}
    return StudyFigures(
        progress=progress,
        complete=int((~np.isnan(panel.ratings)).all(axis=1).sum()),
        agreement=rater_agreement(panel, drawn) if has_several_raters else None,
        criteria=_criteria(panel, study, ratings, drawn) if has_several_raters else {},
        growth=tuple(_growth(panel, study, ratings)) if has_several_raters else (),
        apart=_apart(panel, numbers),
        metric_apart=tuple(
            MetricGap(number=numbers[gap.id, gap.system], metric=name, found=gap)
            for name in panel.metrics
            for gap in most_apart(name, panel, MOST_APART)
        ),
    )


def _panel(study: ExpertStudy, ratings: Ratings, metrics: Mapping[str, ScoredMetric]) -> Panel:
    rated = [pair for pair in study.pairs if any(pair.key in r.saved for r in ratings.values())]
    return Panel(
        ids=tuple(pair.key[0] for pair in rated),
        systems=tuple(pair.key[1] for pair in rated),
        groups=tuple(pair.group for pair in rated),
        raters={
            rater: _numbers([rater_ratings.score_of(pair.key) for pair in rated])
            for rater, rater_ratings in ratings.items()
            if rater_ratings.saved
        },
        metrics={
            name: Column(
                _numbers([metric.values.get(pair.key) for pair in rated]),
                metric.signature,
                metric.range,
                metric.higher_is_better,
            )
            for name, metric in metrics.items()
        },
    )


def _numbers(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _criteria(
    panel: Panel, study: ExpertStudy, ratings: Ratings, drawn: Resamples
) -> dict[str, Estimate]:
    keys = list(zip(panel.ids, panel.systems, strict=True))
    alphas = {}
    for name in (criterion.name for criterion in study.criteria):
        columns = []
        for rater in panel.raters:
            lines = [ratings[rater].saved.get(key) for key in keys]
            levels = [line.rating.criteria.get(name) if line else None for line in lines]
            columns.append(_numbers(levels))
        alphas[name] = krippendorff_alpha(np.column_stack(columns), drawn)
    return alphas


def _growth(panel: Panel, study: ExpertStudy, ratings: Ratings) -> Iterator[GrowthStep]:
    keys = list(zip(panel.ids, panel.systems, strict=True))
    times = [sorted(r.saved[key].time for r in ratings.values() if key in r.saved) for key in keys]
    shared = [row for row, rating_times in enumerate(times) if len(rating_times) > 1]
    order = sorted(shared, key=lambda row: (times[row][1], keys[row]))
    counts = sorted({round(len(order) * step / MOST_STEPS) for step in range(1, MOST_STEPS + 1)})
    for count in counts:
        part = panel.of(np.array(order[:count], dtype=np.intp))
        alpha = krippendorff_alpha(part.ratings, resample(part.groups, 1, study.file.seed))
        if alpha.value is not None:
            yield GrowthStep(pairs=count, alpha=alpha.value)


def _apart(panel: Panel, numbers: Mapping[Key, int]) -> tuple[RaterGap, ...]:
    gaps = []
    for row, key in enumerate(zip(panel.ids, panel.systems, strict=True)):
        scores = {name: float(column[row]) for name, column in panel.raters.items()}
        scores_given = {name: score for name, score in scores.items() if not np.isnan(score)}
        gap = max(scores_given.values()) - min(scores_given.values())
        if gap:
            gaps.append(RaterGap(number=numbers[key], key=key, gap=gap, scores=scores_given))
    return tuple(sorted(gaps, key=lambda gap: (-gap.gap, gap.number))[:MOST_APART])

"""Tables on the evaluation of a reader."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.report import Assertion, EntityType
from histoeval.table import ResultTable, terminal_table
from histoeval_research.evaluate.calibration import CalibrationError
from histoeval_research.evaluate.matches import PAIRS
from histoeval_research.evaluate.reader import (
    ALL,
    CONFIDENT,
    Evaluation,
    Figure,
    ReaderMeasure,
    ReportEstimate,
)

HEADLINES: Mapping[str, tuple[ReaderMeasure, str]] = {
    "entities, exact": (ReaderMeasure.EXACT, ALL),
    "entities, HARE's five": (ReaderMeasure.HARE, ALL),
    "entities, overlapping": (ReaderMeasure.OVERLAP, ALL),
    f"entities, score ≥ {CONFIDENT:g}": (ReaderMeasure.CONFIDENT, ALL),
    "relations, end to end": (ReaderMeasure.RELATIONS, ALL),
    "relations, both found": (ReaderMeasure.RELATIONS_ON_FOUND, ALL),
    "relations, on gold": (ReaderMeasure.RELATIONS_ON_GOLD, ALL),
    "assertion, found": (ReaderMeasure.ASSERTION_ON_FOUND, ALL),
    "assertion, on gold": (ReaderMeasure.ASSERTION_ON_GOLD, ALL),
    "absent, on gold": (ReaderMeasure.ASSERTION_ON_GOLD, Assertion.ABSENT),
}
"""The rows of the first table."""

IN_SHORT = {
    ReaderMeasure.EXACT: "exact",
    ReaderMeasure.OVERLAP: "overlap",
    ReaderMeasure.RELATIONS: "end to end",
    ReaderMeasure.RELATIONS_ON_GOLD: "on gold",
    ReaderMeasure.ASSERTION_ON_GOLD: "on gold",
    ReaderMeasure.ASSERTION_ON_FOUND: "found",
}
CALIBRATED = {
    ReaderMeasure.EXACT: "entities",
    ReaderMeasure.RELATIONS: "relations, end to end",
    ReaderMeasure.RELATIONS_ON_GOLD: "relations, on gold",
}
RATES = ("F1", "95 %", "P", "R")
_NONE = "none"


def evaluation_tables(evaluation: Evaluation) -> Iterator[RenderableType]:
    """The headline scores, then types, relations, assertions and calibration."""
    yield Group(_headlines(evaluation), *map(Text, _remarks(evaluation)))
    parts = {
        "Entities": ([*EntityType, ALL], [ReaderMeasure.EXACT, ReaderMeasure.OVERLAP]),
        "Relations": ([*PAIRS, ALL], [ReaderMeasure.RELATIONS, ReaderMeasure.RELATIONS_ON_GOLD]),
        "Assertion": (
            [*Assertion, ALL],
            [ReaderMeasure.ASSERTION_ON_GOLD, ReaderMeasure.ASSERTION_ON_FOUND],
        ),
    }
    for title, (kinds, measures) in parts.items():
        known = [measure for measure in measures if measure in evaluation.figures]
        if known:
            yield _kinds(evaluation, title, kinds, known)
    if evaluation.calibration:
        yield _calibration_errors(evaluation.calibration)
    for measure, calibration in evaluation.calibration.items():
        yield _reliability(calibration, CALIBRATED[measure])


def source_table(sources: Mapping[str, Evaluation]) -> RenderableType:
    """Each source in one row: exact entities, relations end to end, assertion of found ones."""
    rows = []
    for source, evaluation in sources.items():
        exact = _figure(evaluation, ReaderMeasure.EXACT, ALL)
        others = [
            _f1(_figure(evaluation, measure, ALL))
            for measure in (ReaderMeasure.RELATIONS, ReaderMeasure.ASSERTION_ON_FOUND)
        ]
        rows.append([source, f"{evaluation.passages:,}", *_cells(exact)[:2], *others])
    columns = ["passages", "exact F1", "95 %", "relations", "assertion"]
    return _table("Sources", columns, rows)


def _headlines(evaluation: Evaluation) -> RenderableType:
    title = f"{evaluation.passages:,} passages of {evaluation.reports:,} reports"
    rows = [[name, *_cells(_figure(evaluation, *place))] for name, place in HEADLINES.items()]
    return _table(title, [*RATES, "gold", "found"], rows)


def _remarks(evaluation: Evaluation) -> Iterator[str]:
    """Why scores are missing, and what the columns mean."""
    for label, (measure, kind) in HEADLINES.items():
        if kind == ALL and measure in evaluation.missing:
            yield f"{label}: {_NONE}, since {evaluation.missing[measure]}"
    yield "P: precision, R: recall. F1 of all assertions together is their accuracy."
    if evaluation.resamples and evaluation.reports > 1:
        yield f"95 %: over {evaluation.resamples:,} resamples of reports, seed {evaluation.seed}."


def _cells(figure: Figure | None) -> list[str]:
    """F1, its interval, precision, recall, and the counts of gold and found."""
    if figure is None:
        return [_NONE] + [""] * 5
    rates = [f"{rate.value:.3f}" for rate in (figure.precision, figure.recall)]
    return [_f1(figure), _interval(figure.f1), *rates, f"{figure.gold:,}", f"{figure.found:,}"]


def _kinds(
    evaluation: Evaluation, title: str, kinds: Sequence[str], measures: Sequence[ReaderMeasure]
) -> RenderableType:
    """The first measure in full, and F1 of the others."""
    first, *others = measures
    rows = [
        [
            kind,
            *_cells(_figure(evaluation, first, kind))[:-1],
            *[_f1(_figure(evaluation, other, kind)) for other in others],
        ]
        for kind in kinds
        if any(_figure(evaluation, measure, kind) for measure in measures)
    ]
    columns = [*RATES, "gold", *[IN_SHORT[other] for other in others]]
    return _table(f"{title}, {IN_SHORT[first]}", columns, rows)


def _calibration_errors(found: Mapping[ReaderMeasure, CalibrationError]) -> RenderableType:
    rows = [
        [
            CALIBRATED[measure],
            f"{each.count:,}",
            *_decimals(each.confidence, each.accuracy, each.error, each.adaptive_error),
        ]
        for measure, each in found.items()
    ]
    columns = ["count", "confidence", "accuracy", "ECE", "adaptive ECE"]
    return _table("Calibration", columns, rows)


def _reliability(calibration: CalibrationError, what: str) -> RenderableType:
    rows = [
        [
            f"{each.low:.2f}-{each.high:.2f}",
            f"{each.count:,}",
            *_decimals(each.confidence, each.accuracy),
            f"{each.accuracy - each.confidence:+.3f}",
        ]
        for each in calibration.bins
    ]
    columns = ["count", "confidence", "accuracy", "difference"]
    return _table(f"Reliability: {what}", columns, rows)


def _figure(evaluation: Evaluation, measure: ReaderMeasure, kind: str) -> Figure | None:
    return evaluation.figures.get(measure, {}).get(kind)


def _f1(figure: Figure | None) -> str:
    return _NONE if figure is None else f"{figure.f1.value:.3f}"


def _interval(estimate: ReportEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f}-{estimate.high:.3f}"


def _decimals(*numbers: float) -> list[str]:
    return [f"{number:.3f}" for number in numbers]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    return terminal_table(ResultTable(title, ["", *columns], rows))

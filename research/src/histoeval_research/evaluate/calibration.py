"""Scores with intervals, and how far confidence is from how often it is right."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from histoeval.evaluate.estimates import Counts, ReportEstimate, draws_of, estimate_of
from histoeval.report import Noun
from histoeval_research.evaluate.matches import Tally, rates, total

BINS = 15
"""As many as the literature on calibration uses."""

Judged = tuple[float, bool]
"""A confidence, and whether that answer is right."""


class Bin(Noun):
    """Answers of about the same confidence: their mean confidence, and how often they are right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


class CalibrationError(Noun):
    """The mean distance of confidence and accuracy over bins, and the bins.

    `error` is over bins of equal width, `adaptive_error` over bins of about equal count, which
    looks closer where most confidences are. Empty bins are skipped.
    """

    count: int
    confidence: float
    accuracy: float
    error: float
    adaptive_error: float
    bins: tuple[Bin, ...]
    adaptive_bins: tuple[Bin, ...]


def calibration(judged: Sequence[Judged], bins: int = BINS) -> CalibrationError:
    """How well confidences are calibrated; there must be some.

    What has the same confidence is never parted, so the order in which it comes does not matter.
    """
    scores, right = np.array(sorted(judged), dtype=np.float64).T
    width = np.linspace(0, 1, bins + 1)
    share = np.unique(np.quantile(scores, np.linspace(0, 1, bins + 1)))
    even, adaptive = _binned(scores, right, width), _binned(scores, right, share)
    return CalibrationError(
        count=len(scores),
        confidence=float(scores.mean()),
        accuracy=float(right.mean()),
        error=_error(even),
        adaptive_error=_error(adaptive),
        bins=even,
        adaptive_bins=adaptive,
    )


def _binned(
    scores: NDArray[np.float64], right: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[Bin, ...]:
    """Bins from each edge up to below the next one; the last holds its upper edge too."""
    place = np.searchsorted(edges[1:-1], scores, side="right")
    return tuple(
        Bin(
            low=float(edges[number]),
            high=float(edges[min(number + 1, len(edges) - 1)]),
            count=int(inside.sum()),
            confidence=float(scores[inside].mean()),
            accuracy=float(right[inside].mean()),
        )
        for number in np.unique(place)
        for inside in [place == number]
    )


def _error(bins: Sequence[Bin]) -> float:
    distances = sum(each.count * abs(each.accuracy - each.confidence) for each in bins)
    return distances / sum(each.count for each in bins)


ALL = "all"
"""The row of a measure that has all its kinds together."""

M = TypeVar("M", bound=str)


class Figure(Noun):
    """How much of what was found is there, and how much of what is there was found.

    For the row `all` of an assertion measure, the three rates are one: the accuracy.
    """

    gold: int
    found: int
    precision: ReportEstimate
    recall: ReportEstimate
    f1: ReportEstimate


def figures_of(
    tallies: Sequence[Mapping[M, Tally]], reports: Sequence[str], resamples: int, seed: int
) -> dict[M, dict[str, Figure]]:
    """Figures from the counts of passages, and of which report each passage is.

    Each measure has a figure for every kind of thing that either side has, and for all of them
    together; none where neither side has any.
    """
    sums = _by_report(tallies, reports)
    whole = sums.sum(axis=0)
    found, resampled = rates(whole), _resampled_rates(sums, resamples, seed)
    figures: dict[M, dict[str, Figure]] = {measure: {} for measure in tallies[0]}
    for place, (measure, kind) in enumerate(_names(tallies[0])):
        if whole[place, :2].any():
            figures[measure][kind] = _figure(
                whole[place], found[place], resampled[:, place], len(sums)
            )
    return figures


def _names(tallies: Mapping[M, Tally]) -> list[tuple[M, str]]:
    return [(measure, kind) for measure, tally in tallies.items() for kind in (*tally, ALL)]


def _by_report(tallies: Sequence[Mapping[M, Tally]], reports: Sequence[str]) -> Counts:
    """Counts by report, name and field of `Matches`; the order of passages does not matter."""
    places = {report: place for place, report in enumerate(sorted(set(reports)))}
    sums = np.zeros((len(places), len(_names(tallies[0])), 4))
    for report, counted in zip(reports, tallies, strict=True):
        rows = [row for tally in counted.values() for row in (*tally.values(), total(tally))]
        sums[places[report]] += np.array([row.counts for row in rows])
    return sums


def _resampled_rates(sums: Counts, resamples: int, seed: int) -> Counts:
    """The rates by resample and name; NaN where a resample has nothing to count."""
    flat = draws_of(len(sums), resamples, seed) @ sums.reshape(len(sums), -1)
    drawn = flat.reshape(-1, *sums.shape[1:])
    return np.where(drawn[..., :2].any(axis=-1, keepdims=True), rates(drawn), np.nan)


def _figure(counts: Counts, found: Counts, resampled: Counts, cases: int) -> Figure:
    precision, recall, f1 = (
        estimate_of(value, drawn, cases) for value, drawn in zip(found, resampled.T, strict=True)
    )
    return Figure(
        gold=int(counts[0]), found=int(counts[1]), precision=precision, recall=recall, f1=f1
    )

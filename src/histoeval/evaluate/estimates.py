"""Precision, recall and F1 of whatever is counted, each with its bootstrap interval.

Passages of one report are alike, and so are entities of one passage; drawn one by one they would
make an interval too narrow. So whole reports are drawn, each with all its counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from histoeval.evaluate.matches import Counts, Tally, rates, total
from histoeval.report import Noun

ALL = "all"
"""The row of a measure that has all its kinds together."""

COVERED = 0.95
_AT_ONCE = 4_000_000
"""Draws held in memory together."""

M = TypeVar("M", bound=str)


class ReportEstimate(Noun):
    """A number, and between which numbers 95 % of the resamples of reports have it."""

    value: float
    low: float | None = None
    high: float | None = None


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
            figures[measure][kind] = _figure(whole[place], found[place], resampled[:, place])
    return figures


def resampled_sums(counts: Counts, resamples: int, seed: int) -> Counts:
    """For each resample the sum over as many rows as there are, drawn with replacement."""
    rows = len(counts)
    flat = counts.reshape(rows, -1)
    source = np.random.default_rng(seed)
    sums = np.empty((resamples, flat.shape[1]))
    step = max(1, _AT_ONCE // rows)
    for first in range(0, resamples, step):
        some = min(step, resamples - first)
        drawn = source.integers(0, rows, (some, rows)) + rows * np.arange(some)[:, None]
        times = np.bincount(drawn.ravel(), minlength=some * rows).reshape(some, rows)
        sums[first : first + some] = times.astype(np.float64) @ flat
    return sums.reshape(resamples, *counts.shape[1:])


def percentile_interval(values: Counts) -> tuple[float, float] | None:
    """Between which values most resamples lie; those without a value (NaN) are left out."""
    known = values[~np.isnan(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return float(low), float(high)


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
    """The rates by resample and name; NaN where a resample has nothing to count.

    A single report says nothing of how reports differ, and is not resampled.
    """
    drawn = resampled_sums(sums, resamples if len(sums) > 1 else 0, seed)
    return np.where(drawn[..., :2].any(axis=-1, keepdims=True), rates(drawn), np.nan)


def _figure(counts: Counts, found: Counts, resampled: Counts) -> Figure:
    precision, recall, f1 = (
        _estimate(float(value), drawn) for value, drawn in zip(found, resampled.T, strict=True)
    )
    return Figure(
        gold=int(counts[0]), found=int(counts[1]), precision=precision, recall=recall, f1=f1
    )


def _estimate(value: float, drawn: Counts) -> ReportEstimate:
    low, high = percentile_interval(drawn) or (None, None)
    return ReportEstimate(value=value, low=low, high=high)

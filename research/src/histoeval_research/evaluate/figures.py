"""Precision, recall and F1 of whatever is counted, each with its bootstrap interval by report."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from histoeval.evaluate.estimates import Counts, ReportEstimate, draws_of, estimate_of
from histoeval.report import Noun
from histoeval_research.evaluate.matches import Tally, rates, total

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

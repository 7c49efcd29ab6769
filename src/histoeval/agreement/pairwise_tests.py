"""Pairwise tests of metrics against each other, and the ranks that follow from them."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil

from pydantic import FiniteFloat

from histoeval.agreement.metric_vs_experts import MetricVsExperts, scored
from histoeval.agreement.panel import Panel
from histoeval.report import Noun
from histoeval.runtime.threads import side_by_side
from histoeval.statistics.correlation import Coefficient
from histoeval.statistics.resampling import PERMUTATIONS, Estimate, Numbers, Resamples
from histoeval.statistics.significance import (
    LEVEL,
    bootstrap_difference,
    holm,
    perm_both,
    perm_cases,
    significance_clusters,
    williams,
)

ASSUMES_ROWS = "it assumes independent rows, and is too optimistic here"
"""The reason of such a test if groups have several rows."""


class Test(Noun):
    """The p-value of one test, and the same with Holm's correction for all pairs of metrics."""

    p: FiniteFloat | None = None
    holm: FiniteFloat | None = None
    reason: str | None = None


class Rivals(Noun):
    """Two metrics on the pairs that both have scored: by how much the first agrees better.

    `difference` has an interval but no p-value: the tests have those.
    """

    one: str
    other: str
    n: int
    difference: Estimate
    perm_cases: Test
    perm_both: Test
    williams: Test


class Ranking(Noun):
    """Ranks of metrics; those of one rank are not significantly worse than its first.

    There are no ranks if only some pairs of metrics were compared.
    """

    coefficient: Coefficient
    permutations: int
    ranks: dict[str, int]
    rivals: tuple[Rivals, ...]


def rank(
    panel: Panel,
    found: Sequence[MetricVsExperts],
    coefficient: Coefficient,
    resamples: Resamples,
    *,
    only: Sequence[tuple[str, str]] = (),
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Ranking:
    """Compare every two metrics, or only some, with a correction for multiple comparisons.

    More permutations are made than requested if the correction needs them to find anything.
    """
    named = list(only) or list(combinations([each.metric for each in found], 2))
    permutations = max(permutations, ceil(2 * len(named) / LEVEL))

    drawn: dict[bytes, Numbers] = {}

    def compare(pair: tuple[str, str]) -> Rivals:
        return _compare(panel, *pair, coefficient, resamples, permutations, seed, drawn)

    pairs = side_by_side(compare, named)
    corrected = tuple(_corrected(pairs))
    known = {frozenset({each.one, each.other}): each.perm_cases.holm for each in corrected}
    values = {
        each.metric: value
        for each in found
        if (value := each.coefficient(coefficient).value) is not None
    }
    return Ranking(
        coefficient=coefficient,
        permutations=permutations,
        ranks={} if only else significance_clusters(values, known, LEVEL),
        rivals=corrected,
    )


def _compare(
    panel: Panel,
    one: str,
    other: str,
    coefficient: Coefficient,
    resamples: Resamples,
    permutations: int,
    seed: int,
    known: dict[bytes, Numbers],
) -> Rivals:
    rows = scored(panel.metrics[one]) & scored(panel.metrics[other])
    x, y = panel.metrics[one].rising[rows], panel.metrics[other].rising[rows]
    z, drawn = panel.expert[rows], resamples.of(rows)
    cases = drawn.case.tolist()
    swapped = perm_cases(coefficient, x, y, z, cases, permutations, seed)
    single = len(set(cases)) == len(cases)
    return Rivals(
        one=one,
        other=other,
        n=len(z),
        difference=bootstrap_difference(coefficient, x, y, z, drawn, known).model_copy(
            update={"p": None}
        ),
        perm_cases=_test(swapped),
        perm_both=_by_rows(
            swapped if single else perm_both(coefficient, x, y, z, permutations, seed), single
        ),
        williams=_by_rows(williams(x, y, z), single),
    )


def _test(found: Estimate) -> Test:
    return Test(p=found.p, reason=found.reason)


def _by_rows(found: Estimate, single: bool) -> Test:
    """A test that assumes independent rows, with a warning if they are not."""
    return Test(p=found.p, reason=found.reason or (None if single else ASSUMES_ROWS))


def _corrected(pairs: Sequence[Rivals]) -> Sequence[Rivals]:
    """The same with Holm's correction, separately for each test."""
    tests = ("perm_cases", "perm_both", "williams")
    for name in tests:
        every: list[Test] = [getattr(pair, name) for pair in pairs]
        corrected = holm([test.p for test in every])
        pairs = [
            pair.model_copy(update={name: test.model_copy(update={"holm": p})})
            for pair, test, p in zip(pairs, every, corrected, strict=True)
        ]
    return pairs

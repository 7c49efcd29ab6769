"""Cost of each kind of edit by a metric, and whether it grows with the harm that is done.

The cost of an edit is the share of the way that a score goes from that of the reference against
itself, at 0, to the worst score there is, at 1. So metrics of any range and direction, and those
that do not give a text full marks against itself, can be compared.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem, SettingError
from histoeval.evaluate.estimates import ReportEstimate, draws_of, ratio_estimate, share_estimate
from histoeval.evaluate.probes import CRITICAL, Edit, Effect, Probe, pairs_of
from histoeval.metric import Metric, Score
from histoeval.report import Noun

Numbers = NDArray[np.float64]
Answers = Sequence[Score | Problem]
# Whether two edits are to be compared: the second should cost more
Belong = Callable[[Edit, Edit], bool]
K = TypeVar("K", bound=Hashable)

RESAMPLES = 1000
LEAST_CRITICAL = 0.3  # what an edit that could seriously harm a patient should cost at least
DIGITS = 9  # costs that differ only beyond these decimals differ by rounding, and are the same


class Cost(Noun):
    effect: Effect
    severity: float
    edits: int
    scored: int
    cost: ReportEstimate | None


class PairShare(Noun):
    pairs: int
    share: ReportEstimate | None


class ProbeFigures(Noun):
    """All scores of one metric on some probes.

    `below`: pairs of a harmless and a harmful edit of one reference; right where the harmful one
    scores below, a tie is wrong. `auroc`: the same over all references together; a tie is half
    right. `in_order`: pairs of harmful edits of one reference and of different severity; right
    where the worse one scores below. `below_by_kind` is `below` for the pairs that have an edit of
    a kind, and so says where what is wrong comes from. `critical_passed`: edits that could
    seriously harm a patient and cost less than `LEAST_CRITICAL`. `missing` edits have no score, and
    are in no figure; `problem` says why the first of them has none.
    """

    metric: str
    signature: str
    references: int
    edits: int
    missing: int
    problem: str
    below: PairShare
    auroc: PairShare
    in_order: PairShare
    below_by_kind: Mapping[str, PairShare]
    critical_passed: PairShare = PairShare(pairs=0, share=None)
    kinds: Mapping[str, Cost]
    severities: Mapping[int, Cost]


def evaluate_probes(
    metric: Metric, probes: Sequence[Probe], *, resamples: int = RESAMPLES, seed: int = 0
) -> ProbeFigures:
    answers = metric.score(pairs_of(probes))
    return figures_of(metric, probes, answers, resamples=resamples, seed=seed)


def figures_of(
    metric: Metric,
    probes: Sequence[Probe],
    answers: Answers,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ProbeFigures:
    costs, problems = costs_of(metric, probes, answers)
    edits = [probe.edits for probe in probes]
    draws = draws_of(len(probes), resamples, seed)
    kinds = _means(edits, costs, lambda edit: edit.kind, draws)

    def is_harmless_then_harmful(first: Edit, second: Edit) -> bool:
        return first.severity == 0 < second.severity

    def has_kind(kind: str) -> Belong:
        return lambda a, b: kind in (a.kind, b.kind) and is_harmless_then_harmful(a, b)

    return ProbeFigures(
        metric=metric.name,
        signature=str(metric.signature),
        references=len(probes),
        edits=sum(map(len, costs)),
        missing=int(sum(np.isnan(edit_costs).sum() for edit_costs in costs)),
        problem=problems[0] if problems else "",
        below=_within(edits, costs, is_harmless_then_harmful, draws),
        auroc=_across(edits, costs, draws),
        in_order=_within(edits, costs, lambda a, b: 0 < a.severity < b.severity, draws),
        below_by_kind={kind: _within(edits, costs, has_kind(kind), draws) for kind in kinds},
        critical_passed=_critical_passed(edits, costs, draws),
        kinds=kinds,
        severities=_means(edits, costs, lambda edit: edit.severity, draws),
    )


def costs_of(
    metric: Metric, probes: Sequence[Probe], answers: Answers
) -> tuple[list[Numbers], list[str]]:
    worst = metric.range[0 if metric.higher_is_better else 1]
    if not math.isfinite(worst):
        raise SettingError(f"{metric.name} has no worst score, so that costs have no measure")
    if len(answers) != (expected := sum(len(probe.edits) + 1 for probe in probes)):
        raise ValueError(f"{len(answers)} answers for {expected} pairs")

    def cost(own: Score | Problem, edited: Score | Problem) -> float:
        if isinstance(own, Problem) or isinstance(edited, Problem) or own.value == worst:
            return math.nan
        return round((own.value - edited.value) / (own.value - worst), DIGITS)

    costs, problems = [], []
    waiting = iter(answers)
    for probe in probes:
        own, *edited = (next(waiting) for _ in range(len(probe.edits) + 1))
        problems += [answer.message for answer in (own, *edited) if isinstance(answer, Problem)]
        if isinstance(own, Score) and own.value == worst:
            problems.append(f"{probe.id} has the worst score against itself")
        costs.append(np.array([cost(own, answer) for answer in edited]))
    return costs, problems


def _within(
    edits: Sequence[Sequence[Edit]], costs: Sequence[Numbers], belong: Belong, draws: Numbers
) -> PairShare:
    counts = np.zeros((len(edits), 2))
    for row, (probe_edits, probe_costs) in enumerate(zip(edits, costs, strict=True)):
        is_pair = np.array(
            [[belong(first, second) for second in probe_edits] for first in probe_edits]
        )
        is_known = ~np.isnan(probe_costs)
        is_pair &= is_known[:, None] & is_known[None, :]
        counts[row] = (is_pair & (probe_costs[None, :] > probe_costs[:, None])).sum(), is_pair.sum()
    return PairShare(pairs=int(counts[:, 1].sum()), share=share_estimate(counts, draws))


def _critical_passed(
    edits: Sequence[Sequence[Edit]], costs: Sequence[Numbers], draws: Numbers
) -> PairShare:
    counts = np.zeros((len(edits), 2))
    for row, (probe_edits, probe_costs) in enumerate(zip(edits, costs, strict=True)):
        critical = np.array([edit.severity >= CRITICAL for edit in probe_edits]) & ~np.isnan(
            probe_costs
        )
        counts[row] = (probe_costs[critical] < LEAST_CRITICAL).sum(), critical.sum()
    return PairShare(pairs=int(counts[:, 1].sum()), share=share_estimate(counts, draws))


def _across(edits: Sequence[Sequence[Edit]], costs: Sequence[Numbers], draws: Numbers) -> PairShare:
    """Share of pairs of a harmless and a harmful edit whose second costs more, ties half.

    A resample that has a reference twice has its pairs with every other reference twice, and those
    with itself four times; so two tables, reference by reference, are all that it needs.
    """
    harmless, harmful = (
        [
            probe_costs[[edit.effect is effect for edit in probe_edits] & ~np.isnan(probe_costs)]
            for probe_edits, probe_costs in zip(edits, costs, strict=True)
        ]
        for effect in Effect
    )
    sizes = np.array(
        [[len(first), len(second)] for first, second in zip(harmless, harmful, strict=True)]
    )
    owners = np.repeat(np.arange(len(edits)), sizes[:, 1])
    rivals = np.concatenate(harmful)
    right = np.zeros((len(edits), len(edits)))
    for row, own in enumerate(harmless):
        won = (rivals > own[:, None]).sum(axis=0) + (rivals == own[:, None]).sum(axis=0) / 2
        right[row] = np.bincount(owners, won, minlength=len(edits))
    pairs = np.outer(sizes[:, 0], sizes[:, 1]).astype(np.float64)
    drawn = [((draws @ table) * draws).sum(axis=1) for table in (right, pairs)]
    counts = np.array([right.sum(), pairs.sum()])
    share = ratio_estimate(counts, np.stack(drawn, axis=1), len(edits))
    return PairShare(pairs=int(pairs.sum()), share=share)


def _means(
    edits: Sequence[Sequence[Edit]],
    costs: Sequence[Numbers],
    key: Callable[[Edit], K],
    draws: Numbers,
) -> dict[K, Cost]:
    groups: dict[K, list[Edit]] = {}
    for edit in chain.from_iterable(edits):
        groups.setdefault(key(edit), []).append(edit)
    means = {}
    for group, members in groups.items():
        chosen = [
            probe_costs[[key(edit) == group for edit in probe_edits]]
            for probe_edits, probe_costs in zip(edits, costs, strict=True)
        ]
        counts = np.array(
            [[np.nansum(group_costs), (~np.isnan(group_costs)).sum()] for group_costs in chosen]
        )
        means[group] = Cost(
            effect=members[0].effect,
            severity=sum(edit.severity for edit in members) / len(members),
            edits=len(members),
            scored=int(counts[:, 1].sum()),
            cost=share_estimate(counts, draws),
        )
    return dict(sorted(means.items(), key=lambda item: item[1].severity))

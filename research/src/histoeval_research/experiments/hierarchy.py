"""How well numbers follow the error hierarchy, and what each dimension of trust adds to that."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from histoeval.errors import InputError, SettingError
from histoeval.pathgls.policy.policy import DIMENSIONS, PAPER, DimensionWeights
from histoeval.report import Noun
from histoeval.run.trust.rows import ROWS, TrustFolder
from histoeval.statistics.correlation import (
    Coefficient,
    correlate,
    correlate_within,
    undefined_reason,
    weighted,
)
from histoeval.statistics.resampling import (
    RESAMPLES,
    Estimate,
    Numbers,
    Resamples,
    estimate,
    resample,
)
from histoeval_research.experiments.measures import read_perturbed
from histoeval_research.experiments.sensitivity import SCORES, read_scored

TRUST = "trust"


class LevelledReport(NamedTuple):
    """A report with the level of its error and its numbers; those of a case are drawn together."""

    case: str
    level: int
    scores: Mapping[str, float | None]


class LevelScores(Noun):
    """The reports of one level, by one measure."""

    level: int
    rows: int
    mean: float


class Follows(Noun):
    """How a measure follows the hierarchy: Spearman's coefficient with the level turned round.

    1 is for a measure that falls with every step; intervals are by case. `within` is the mean of
    the coefficients inside each case, where no report is compared with one of another case.
    """

    measure: str
    rows: int
    cases: int
    spearman: Estimate
    within: Estimate = Estimate()
    levels: tuple[LevelScores, ...] = ()


class WithoutDimension(Noun):
    """Trust without one dimension: how it follows the hierarchy, and how much is lost."""

    dimension: str
    spearman: Estimate
    lost: Estimate
    """With the dimension less without it; above 0 the dimension helps."""
    lost_per_cent: float | None = None


class Ablation(Noun):
    """Trust from all dimensions that there are, and without each of them."""

    dimensions: tuple[str, ...]
    rows: int
    cases: int
    spearman: Estimate
    without: tuple[WithoutDimension, ...]


def read_graded(results: Path, perturbed: Path | None = None) -> list[LevelledReport]:
    """Rows with levels: of `experiment sensitivity`, or of `trust` beside the perturbed set."""
    if results.is_dir() and (results / ROWS).is_file() and not (results / SCORES).is_file():
        if perturbed is None:
            raise SettingError("results of `trust` need --perturbed FILE, which says the levels")
        return _of_trust(results, perturbed)
    rows = read_scored(results)
    return [LevelledReport(row.patient or row.case, row.level, row.scores) for row in rows]


def _of_trust(results: Path, perturbed: Path) -> list[LevelledReport]:
    known = {row.id: row for row in read_perturbed(perturbed)}
    found = []
    for row in TrustFolder(results):
        if row.id not in known:
            raise InputError(f"{perturbed} has no report {row.id!r}, which {results} has")
        scores: dict[str, float | None] = {name: getattr(row, name) for name in DIMENSIONS}
        found.append(LevelledReport(known[row.id].cluster, known[row.id].level, scores))
    return found


def with_trust(
    rows: Sequence[LevelledReport], weights: DimensionWeights = PAPER
) -> list[LevelledReport]:
    """The rows with one more column: trust, by the dimensions that any row has.

    Where a dimension is missing in all rows it is not part of the sum, and the column's name says
    so; ranks do not care that nothing is re-scaled.
    """
    used = dimensions_in(rows)
    if len(used) < 2:
        return list(rows)
    missing = [name for name in DIMENSIONS if name not in used]
    name = f"{TRUST} without {' and '.join(missing)}" if missing else TRUST
    return [
        row._replace(scores={**row.scores, name: summed(row.scores, used, weights)}) for row in rows
    ]


def dimensions_in(rows: Sequence[LevelledReport]) -> tuple[str, ...]:
    """The dimensions of trust that some row has."""
    return tuple(d for d in DIMENSIONS if any(row.scores.get(d) is not None for row in rows))


def summed(
    scores: Mapping[str, float | None], used: Sequence[str], weights: DimensionWeights
) -> float | None:
    """The weighted sum of some dimensions; none where one of them is missing."""
    known = [(scores.get(name), getattr(weights, name)) for name in used]
    values = [value * weight for value, weight in known if value is not None]
    return sum(values) if len(values) == len(known) else None


def hierarchy(
    rows: Sequence[LevelledReport], resamples: int = RESAMPLES, seed: int = 0
) -> list[Follows]:
    """Every measure's rank correlation with the error level."""
    names = dict.fromkeys(name for row in rows for name in row.scores)
    return [_follows(name, rows, resamples, seed) for name in names]


def _follows(name: str, rows: Sequence[LevelledReport], resamples: int, seed: int) -> Follows:
    own = [(r.case, r.level, s) for r in rows if (s := r.scores.get(name)) is not None]
    cases = [case for case, _, _ in own]
    level = np.array([-float(each) for _, each, _ in own])
    score = np.array([each for _, _, each in own])
    if not own:
        none = Estimate(reason="no report has a number")
        return Follows(measure=name, rows=0, cases=0, spearman=none)
    drawn = resample(cases, resamples, seed)
    found = correlate(Coefficient.SPEARMAN, score, level, drawn)
    steps = sorted({each for _, each, _ in own})
    return Follows(
        measure=name,
        rows=len(own),
        cases=len(set(cases)),
        spearman=_in_our_words(found),
        within=correlate_within(Coefficient.SPEARMAN, score, level, cases, drawn),
        levels=tuple(
            LevelScores(
                level=s, rows=int((level == -s).sum()), mean=float(score[level == -s].mean())
            )
            for s in steps
        ),
    )


def _in_our_words(found: Estimate) -> Estimate:
    """The estimate, with `experts` called what they are here."""
    if found.reason is None:
        return found
    reason = found.reason.replace(
        "the experts give all pairs the same score", "all errors are of one level"
    )
    return found.model_copy(update={"reason": reason.replace("pairs", "reports")})


def ablation(
    rows: Sequence[LevelledReport],
    weights: DimensionWeights = PAPER,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Ablation:
    """Figure 3b: the contribution of each dimension of trust to the rank correlation."""
    used = dimensions_in(rows)
    if len(used) < 2:
        raise InputError("an ablation needs at least two dimensions of trust")
    own = [r for r in rows if summed(r.scores, used, weights) is not None]
    level = np.array([-float(row.level) for row in own])
    drawn = resample([row.case for row in own], resamples, seed)
    whole = _column(own, used, weights)
    full = _in_our_words(correlate(Coefficient.SPEARMAN, whole, level, drawn))
    without = []
    for name in used:
        rest = _column(own, [each for each in used if each != name], weights)
        alone = _in_our_words(correlate(Coefficient.SPEARMAN, rest, level, drawn))
        lost = _difference(whole, rest, level, drawn)
        share = 100 * lost.value / full.value if lost.value is not None and full.value else None
        without.append(
            WithoutDimension(dimension=name, spearman=alone, lost=lost, lost_per_cent=share)
        )
    return Ablation(
        dimensions=used,
        rows=len(own),
        cases=len({row.case for row in own}),
        spearman=full,
        without=tuple(without),
    )


def _column(
    rows: Sequence[LevelledReport], used: Sequence[str], weights: DimensionWeights
) -> Numbers:
    return np.array([summed(row.scores, used, weights) for row in rows], dtype=np.float64)


def _difference(one: Numbers, other: Numbers, level: Numbers, drawn: Resamples) -> Estimate:
    """How much better the first follows the level, both drawn alike."""
    if reason := undefined_reason(one, level) or undefined_reason(other, level):
        return _in_our_words(Estimate(reason=reason))
    cases = len(drawn.times)
    first, second = (
        weighted(Coefficient.SPEARMAN, each, level, drawn.case, cases) for each in (one, other)
    )
    return estimate(lambda times: first(times) - second(times), drawn, null=0.0)

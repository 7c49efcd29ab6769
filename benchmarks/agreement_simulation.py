"""Simulated coverage of intervals and false positive rate of tests.

`python -m benchmarks.agreement_simulation [TABLE] [RUNS]`, where TABLE is coverage, shapes,
accuracy, raters, tests, unlike or systems, and all of them when omitted.

Sheets are drawn with known correlations. Half of the variance lies between cases; experts give
whole scores, most of them low, as in HARE's sheet. `truth` is what a sheet of 200,000 cases shows.
`coverage` and `tests` have Gaussian metrics that are alike; `shapes` has skewed and tied metrics
and experts who give half points; `unlike` compares two metrics of different shapes, of which the
second is made to have the same true correlation as the first.

| table | asks | should be |
|---|---|---|
| coverage, shapes, accuracy, raters | how often the 95 % interval holds the truth | 93 to 97 % |
| tests, unlike, systems | how often p <= 0.05 where nothing is to be found | at most 6 % |
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from histoeval.agreement.systems import contest
from histoeval.statistics.correlation import Coefficient, classical_p, correlate
from histoeval.statistics.pairwise import pairwise_accuracy
from histoeval.statistics.raters import icc, krippendorff_alpha, quadratic_kappa
from histoeval.statistics.resampling import Estimate, resample
from histoeval.statistics.significance import bootstrap_difference, perm_cases, williams

Numbers = NDArray[np.float64]

RUNS, RESAMPLES, PERMUTATIONS = 1000, 500, 199
LARGE = 200_000
CUTS = (0.3, 0.8, 1.3, 2.0, 2.8)
"""Thresholds of the experts' integer scores; 60 % of pairs are below the first."""

SHAPES: dict[str, Callable[[Numbers], Numbers]] = {
    "Gaussian": lambda z: z,
    "lognormal": np.exp,
    "near 1 (beta 8, 1)": lambda z: ndtr(z) ** (1 / 8),
    "five values": lambda z: np.round(4 * ndtr(z)) / 4,
    "half are 0": lambda z: np.maximum(z, 0),
}
"""Distributions of metrics, from a standard normal one."""

SAME_RANKS = ("lognormal", "near 1 (beta 8, 1)")
"""Shapes that leave ranks as they are: what goes by ranks is as for a Gaussian metric."""

EXPERTS: dict[str, Callable[[Numbers], Numbers]] = {
    "whole, 62 % are 0": lambda z: np.searchsorted(CUTS, z).astype(np.float64),
    "half points, 62 % are 0": lambda z: np.searchsorted(np.linspace(0.3, 2.55, 10), z) / 2,
}
WHOLE = next(iter(EXPERTS))
GAUSSIAN = next(iter(SHAPES))


def sheet(
    source: np.random.Generator,
    cases: int,
    per_case: int,
    rhos: Sequence[float],
    shapes: Sequence[str] = (GAUSSIAN, GAUSSIAN),
    experts: str = WHOLE,
    between: Sequence[float] = (0.5, 0.5),
) -> tuple[list[Numbers], Numbers, list[int]]:
    """Metrics with these correlations with experts, the experts, and the cases.

    `between` is the share of each metric's noise that lies between cases.
    """
    case = np.repeat(np.arange(cases), per_case)

    def column(share: float) -> Numbers:
        of_case, of_row = source.normal(size=cases), source.normal(size=len(case))
        return np.asarray(np.sqrt(share) * of_case[case] + np.sqrt(1 - share) * of_row)

    truth = column(0.5)
    metrics = [
        SHAPES[shape](rho * truth + np.sqrt(1 - rho**2) * column(share))
        for rho, shape, share in zip(rhos, shapes, between, strict=False)
    ]
    return metrics, EXPERTS[experts](truth), case.tolist()


def _truths(rho: float, shape: str = GAUSSIAN, experts: str = WHOLE) -> dict[Coefficient, float]:
    """The correlations on a very large sheet; Kendall by scipy, which takes less memory."""
    if not rho:
        return dict.fromkeys(Coefficient, 0.0)
    return {which: _truth(which, rho, shape, experts) for which in Coefficient}


def _truth(which: Coefficient, rho: float, shape: str, experts: str) -> float:
    (metric,), expert, _ = sheet(np.random.default_rng(999), LARGE, 1, [rho], [shape], experts)
    found = {
        Coefficient.PEARSON: stats.pearsonr,
        Coefficient.SPEARMAN: stats.spearmanr,
        Coefficient.KENDALL: stats.kendalltau,
    }[which](metric, expert)
    return float(found.statistic)


def matching(which: Coefficient, wanted: float, shape: str) -> float:
    """The rho at which a metric of this shape has the wanted correlation with experts."""
    low, high = 0.0, 0.999
    while high - low > 1e-4:
        middle = (low + high) / 2
        below = _truth(which, middle, shape, WHOLE) < wanted
        low, high = (middle, high) if below else (low, middle)
    return (low + high) / 2


def coverage(
    cases: int, per_case: int, rho: float, runs: int, shape: str = GAUSSIAN, experts: str = WHOLE
) -> list[str]:
    """The share of runs in which each interval contains the truth, and p is significant."""
    truths = _truths(rho, shape, experts)
    wanted = [Coefficient.PEARSON] if shape in SAME_RANKS else list(Coefficient)
    held = dict.fromkeys(Coefficient, 0)
    for seed in range(runs):
        (metric,), expert, case = sheet(
            np.random.default_rng(seed), cases, per_case, [rho], [shape], experts
        )
        drawn = resample(case, RESAMPLES, seed)
        for which in wanted:
            found = correlate(which, metric, expert, drawn)
            if found.low is not None and found.high is not None:
                held[which] += found.low <= truths[which] <= found.high
    return [
        f"{100 * held[which] / runs:.1f} %" if which in wanted else "as Gaussian"
        for which in Coefficient
    ]


def accuracy_coverage(cases: int, runs: int) -> str:
    """The share of runs in which the interval of acc*eq contains what a large sheet shows."""
    (metric,), expert, case = sheet(np.random.default_rng(999), 4000, 1, [0.5])
    truth = pairwise_accuracy(metric, expert, resample(case, 1)).value
    held = 0
    for seed in range(runs):
        (metric,), expert, case = sheet(np.random.default_rng(seed), cases, 4, [0.5])
        found = pairwise_accuracy(metric, expert, resample(case, RESAMPLES, seed))
        if found.low is not None and found.high is not None and truth is not None:
            held += found.low <= truth <= found.high
    return f"{100 * held / runs:.1f} %"


def rater_coverage(cases: int, runs: int) -> list[str]:
    """The same for three raters: Krippendorff's alpha, quadratic kappa and ICC(2,1)."""
    statistics = (krippendorff_alpha, quadratic_kappa, icc)

    def ratings(source: np.random.Generator, cases: int) -> tuple[Numbers, list[int]]:
        (one, two, three), _, case = sheet(
            source, cases, 4, [0.8] * 3, [GAUSSIAN] * 3, between=[0.5] * 3
        )
        return np.stack([EXPERTS[WHOLE](each) for each in (one, two, three)], axis=1), case

    table, case = ratings(np.random.default_rng(999), LARGE // 4)
    truths = [which(table, resample(case, 1)).value or 0.0 for which in statistics]
    held = [0] * len(statistics)
    for seed in range(runs):
        table, case = ratings(np.random.default_rng(seed), cases)
        drawn = resample(case, RESAMPLES, seed)
        for at, which in enumerate(statistics):
            found = which(table, drawn)
            if found.low is not None and found.high is not None:
                held[at] += found.low <= truths[at] <= found.high
    return [f"{100 * count / runs:.1f} %" for count in held]


def false_findings(cases: int, per_case: int, runs: int, first: int = 0) -> list[list[str]]:
    """The false positive rate of each test, by coefficient."""
    tests: dict[str, Callable[..., float | None]] = {
        "p of a correlation, by case": _p_by_case,
        "p of a correlation, rows independent": lambda w, x, _y, z, *_: classical_p(w, x, z),
        "two metrics: swap cases": lambda w, x, y, z, c, s: (
            perm_cases(w, x, y, z, c, PERMUTATIONS, s).p
        ),
        "two metrics: PERM-BOTH": lambda w, x, y, z, _c, s: (
            perm_cases(w, x, y, z, range(len(z)), PERMUTATIONS, s).p
        ),
        "two metrics: bootstrap": lambda w, x, y, z, c, s: (
            bootstrap_difference(w, x, y, z, resample(c, RESAMPLES, s)).p
        ),
        "two metrics: Williams": lambda w, x, y, z, *_: (
            (williams(x, y, z) if w is Coefficient.PEARSON else Estimate()).p
        ),
    }
    wrong = {name: dict.fromkeys(Coefficient, 0) for name in tests}
    for seed in range(first, first + runs):
        for name, test in tests.items():
            rhos = [0.0, 0.0] if name.startswith("p of") else [0.5, 0.5]
            (one, other), experts, case = sheet(
                np.random.default_rng([seed, 1]), cases, per_case, rhos
            )
            for which in Coefficient:
                p = test(which, one, other, experts, case, seed)
                wrong[name][which] += p is not None and p <= 0.05
    return [
        [name, *[f"{100 * counts[which] / runs:.1f} %" for which in Coefficient]]
        for name, counts in wrong.items()
    ]


def _p_by_case(
    which: Coefficient, x: Numbers, _: Numbers, z: Numbers, cases: list[int], seed: int
) -> float | None:
    return correlate(which, x, z, resample(cases, RESAMPLES, seed)).p


def unlike(
    runs: int, shapes: tuple[str, str], between: tuple[float, float] = (0.5, 0.5)
) -> list[list[str]]:
    """False findings between two metrics of different shapes and the same true correlation."""
    cases, per_case, rho = 37, 4, 0.5
    wrong = {name: dict.fromkeys(Coefficient, 0) for name in ("swap cases", "interval without 0")}
    for which in Coefficient:
        same = rho
        if shapes[0] != shapes[1]:
            same = matching(which, _truth(which, rho, shapes[0], WHOLE), shapes[1])
        for seed in range(runs):
            source = np.random.default_rng([seed, 2])
            (one, other), expert, case = sheet(
                source, cases, per_case, [rho, same], shapes, between=between
            )
            p = perm_cases(which, one, other, expert, case, PERMUTATIONS, seed).p
            wrong["swap cases"][which] += p is not None and p <= 0.05
            drawn = resample(case, RESAMPLES, seed)
            found = bootstrap_difference(which, one, other, expert, drawn)
            if found.low is not None and found.high is not None:
                wrong["interval without 0"][which] += not found.low <= 0 <= found.high
    name = " / ".join(dict.fromkeys(shapes))
    if between[0] != between[1]:
        name = f"noise between cases: {between[0]:.0%} / {between[1]:.0%}"
    return [
        [name, test, *[f"{100 * counts[which] / runs:.1f} %" for which in Coefficient]]
        for test, counts in wrong.items()
    ]


def no_correlation(shape: str, runs: int) -> list[str]:
    """How often a metric that knows nothing has a significant correlation, by case."""
    wrong = dict.fromkeys(Coefficient, 0)
    for seed in range(runs):
        (metric,), expert, case = sheet(np.random.default_rng([seed, 3]), 37, 4, [0.0], [shape])
        for which in Coefficient:
            p = _p_by_case(which, metric, metric, expert, case, seed)
            wrong[which] += p is not None and p <= 0.05
    return [f"{100 * wrong[which] / runs:.1f} %" for which in Coefficient]


def contests(cases: int, per_case: int, runs: int, skewed: bool = False) -> list[list[str]]:
    """How often two equally good systems differ significantly.

    If skewed, the first is near 1 and fails badly on a few reports, the second is always middling.
    """
    wrong = {"two systems: randomisation": 0, "two systems: bootstrap": 0}
    for seed in range(runs):
        (one, other), _, case = sheet(np.random.default_rng(seed), cases, per_case, [0.5, 0.5])
        if skewed:
            one, other = ndtr(one) ** (1 / 8), 8 / 9 + 0.02 * other
        duel = contest(
            {"a": one, "b": other},
            case,
            resamples=RESAMPLES,
            permutations=PERMUTATIONS,
            seed=seed,
        ).duels[0]
        wrong["two systems: randomisation"] += (duel.p or 1) <= 0.05
        wrong["two systems: bootstrap"] += (duel.difference.p or 1) <= 0.05
    return [[name, f"{100 * count / runs:.1f} %"] for name, count in wrong.items()]


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table in Markdown, row by row as they are found."""
    print(f"\n### {title}\n")
    for line in chain((columns, ["---"] * len(columns)), rows):
        print("| " + " | ".join(line) + " |", flush=True)


def main(arguments: Sequence[str]) -> None:
    runs = int(arguments[1]) if len(arguments) > 1 else RUNS
    wanted = arguments[0] if arguments else "all"
    names = [which.value.title() for which in Coefficient]
    sheets = [(37, 4, 0.5), (20, 4, 0.5), (37, 4, 0.0), (75, 8, 0.6)]
    rows: Iterable[Sequence[str]]
    if wanted in ("all", "coverage"):
        rows = ([f"{c} x {n}, rho {r}", *coverage(c, n, r, runs)] for c, n, r in sheets)
        table(f"Coverage, {runs} runs", ["cases x rows", *names], rows)
    if wanted in ("all", "shapes"):
        columns = ["metric", "experts", "cases x rows, rho", *names]
        rows = (
            [shape, experts, f"{c} x {n}, {r}", *coverage(c, n, r, runs, shape, experts)]
            for c, n, r in ((37, 4, 0.5), (20, 4, 0.5), (37, 4, 0.85))
            for experts in (EXPERTS if (c, r) == (37, 0.5) else [WHOLE])
            for shape in SHAPES
        )
        table(f"Coverage by shape, {runs} runs", columns, rows)
    sizes = (37, 20, 8)
    if wanted in ("all", "accuracy"):
        rows = ([f"{cases} x 4", accuracy_coverage(cases, runs)] for cases in sizes)
        table(f"Coverage of acc*eq, {runs} runs", ["cases x rows", "acc*eq"], rows)
    if wanted in ("all", "raters"):
        rows = ([f"{cases} x 4", *rater_coverage(cases, runs)] for cases in sizes)
        columns = ["cases x rows", "alpha", "kappa", "ICC(2,1)"]
        table(f"Coverage of rater statistics, {runs} runs", columns, rows)
    if wanted in ("all", "unlike"):
        rows = ([shape, *no_correlation(shape, runs)] for shape in SHAPES)
        table("False findings: p of a correlation, 37 cases x 4", ["metric", *names], rows)
        alike = (0.5, 0.5)
        pairs = [((GAUSSIAN, shape), alike) for shape in list(SHAPES)[1:]]
        pairs.append((("lognormal", "near 1 (beta 8, 1)"), alike))
        pairs.append(((GAUSSIAN, GAUSSIAN), (0.95, 0.05)))
        rows = (row for both, between in pairs for row in unlike(runs, both, between))
        table("False findings between unlike metrics", ["metrics", "test", *names], rows)
    for cases, per_case in ((120, 1), (37, 4)):
        if wanted in ("all", "tests", f"tests-{per_case}"):
            rows = false_findings(cases, per_case, runs)
            table(f"False findings, {cases} cases x {per_case}", ["test", *names], rows)
        if wanted in ("all", "systems"):
            title = f"False findings between systems, {cases} cases x {per_case}"
            table(title, ["test", "share"], contests(cases, per_case, runs))
            rows = contests(cases, per_case, runs, skewed=True)
            table(f"{title}, skewed", ["test", "share"], rows)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Simulated coverage of intervals and false positive rate of tests.

`python -m benchmarks.agreement_simulation [coverage|tests|systems] [RUNS]`.

Sheets are drawn with known correlations. Half of the variance lies between cases; experts give
whole scores, most of them low, as in HARE's sheet. `truth` is what a sheet of 200,000 cases shows.

| table | asks | should be |
|---|---|---|
| coverage | how often the 95 % interval holds the truth | 93 to 97 % |
| false findings | how often p <= 0.05 where nothing is to be found | at most 6 % |
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from histoeval.agreement.systems import contest
from histoeval.statistics.correlation import Coefficient, classical_p, correlate
from histoeval.statistics.resampling import Estimate, resample
from histoeval.statistics.significance import bootstrap_difference, perm_both, perm_cases, williams

Numbers = NDArray[np.float64]

RUNS, RESAMPLES, PERMUTATIONS = 1000, 500, 199
LARGE = 200_000
CUTS = (0.3, 0.8, 1.3, 2.0, 2.8)
"""Thresholds of the experts' integer scores; 60 % of pairs are below the first."""


def sheet(
    source: np.random.Generator, cases: int, per_case: int, rhos: Sequence[float]
) -> tuple[list[Numbers], Numbers, list[int]]:
    """Metrics with these correlations with experts, the experts, and the cases."""
    case = np.repeat(np.arange(cases), per_case)

    def column() -> Numbers:
        between, within = source.normal(size=cases), source.normal(size=len(case))
        return np.asarray((between[case] + within) / np.sqrt(2))

    truth = column()
    metrics = [rho * truth + np.sqrt(1 - rho**2) * column() for rho in rhos]
    return metrics, np.searchsorted(CUTS, truth).astype(np.float64), case.tolist()


def _truths(rho: float) -> dict[Coefficient, float]:
    """The correlations on a very large sheet; Kendall by scipy, which takes less memory."""
    if not rho:
        return dict.fromkeys(Coefficient, 0.0)
    (metric,), experts, _ = sheet(np.random.default_rng(999), LARGE, 1, [rho])
    return {
        Coefficient.PEARSON: float(stats.pearsonr(metric, experts).statistic),
        Coefficient.SPEARMAN: float(stats.spearmanr(metric, experts).statistic),
        Coefficient.KENDALL: float(stats.kendalltau(metric, experts).statistic),
    }


def coverage(cases: int, per_case: int, rho: float, runs: int) -> list[str]:
    """The share of runs in which each interval contains the truth, and p is significant."""
    truths = _truths(rho)
    held = dict.fromkeys(Coefficient, 0)
    for seed in range(runs):
        (metric,), experts, case = sheet(np.random.default_rng(seed), cases, per_case, [rho])
        drawn = resample(case, RESAMPLES, seed)
        for which in Coefficient:
            found = correlate(which, metric, experts, drawn)
            if found.low is not None and found.high is not None:
                held[which] += found.low <= truths[which] <= found.high
    return [f"{100 * held[which] / runs:.1f} %" for which in Coefficient]


def false_findings(cases: int, per_case: int, runs: int, first: int = 0) -> list[list[str]]:
    """The false positive rate of each test, by coefficient."""
    tests: dict[str, Callable[..., float | None]] = {
        "p of a correlation, by case": _p_by_case,
        "p of a correlation, rows independent": lambda w, x, _y, z, *_: classical_p(w, x, z),
        "two metrics: swap cases": lambda w, x, y, z, c, s: (
            perm_cases(w, x, y, z, c, PERMUTATIONS, s).p
        ),
        "two metrics: PERM-BOTH": lambda w, x, y, z, _c, s: (
            perm_both(w, x, y, z, PERMUTATIONS, s).p
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


def contests(cases: int, per_case: int, runs: int) -> list[list[str]]:
    """How often two equally good systems differ significantly."""
    wrong = {"two systems: randomisation": 0, "two systems: bootstrap": 0}
    for seed in range(runs):
        (one, other), _, case = sheet(np.random.default_rng(seed), cases, per_case, [0.5, 0.5])
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


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown."""
    print(f"\n### {title}\n")
    for line in (columns, ["---"] * len(columns), *rows):
        print("| " + " | ".join(line) + " |", flush=True)


def main(arguments: Sequence[str]) -> None:
    runs = int(arguments[1]) if len(arguments) > 1 else RUNS
    wanted = arguments[0] if arguments else "all"
    names = [which.value.title() for which in Coefficient]
    shapes = [(37, 4, 0.5), (20, 4, 0.5), (37, 4, 0.0), (75, 8, 0.6)]
    if wanted in ("all", "coverage"):
        rows = [[f"{c} x {n}, rho {r}", *coverage(c, n, r, runs)] for c, n, r in shapes]
        table(f"Coverage, {runs} runs", ["cases x rows", *names], rows)
    for cases, per_case in ((120, 1), (37, 4)):
        if wanted in ("all", "tests", f"tests-{per_case}"):
            rows = false_findings(cases, per_case, runs)
            table(f"False findings, {cases} cases x {per_case}", ["test", *names], rows)
        if wanted in ("all", "systems"):
            title = f"False findings between systems, {cases} cases x {per_case}"
            table(title, ["test", "share"], contests(cases, per_case, runs))


if __name__ == "__main__":
    main(sys.argv[1:])

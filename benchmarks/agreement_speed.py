"""How long intervals and tests take for ten metrics on a sheet of HARE's size.

The aim: 10 metrics x 600 pairs x 10,000 resamples under 10 s on two cores, under 1 GB. Each row is
measured in a process of its own, as memory is counted at its peak.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

METRICS, PAIRS, RESAMPLES = 10, 600, 10_000
SIZES = (75, 600)
"""Cases: eight reports each, as in HARE's sheet, and one each, which is the most work."""

Row = tuple[str, ...]


def measure() -> list[Row]:
    """Time and memory of each part, for each number of cases."""
    return [_apart(what, cases) for what in ("intervals", "study") for cases in SIZES]


def _apart(what: str, cases: int) -> Row:
    command = [sys.executable, "-m", "benchmarks.agreement_speed", what, str(cases)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, processor, megabytes = output.split()
    name = "all intervals" if what == "intervals" else "the whole study, with within-case and tests"
    return (name, str(cases), wall, processor, megabytes)


def _run(what: str, cases: int) -> None:
    from histoeval.agreement.metric_vs_experts import follow
    from histoeval.agreement.panel import Column, Panel
    from histoeval.agreement.study import StudyPlan, study
    from histoeval.runtime.threads import side_by_side
    from histoeval.statistics.resampling import resample

    source = np.random.default_rng(0)
    case = np.repeat(np.arange(cases), PAIRS // cases)
    truth = source.normal(size=cases)[case] + source.normal(size=PAIRS)
    panel = Panel(
        ids=tuple(map(str, range(PAIRS))),
        groups=tuple(map(str, case)),
        raters={"expert": np.clip(np.round(truth + 1.5), 0, 5)},
        metrics={
            f"m{n}": Column(truth + source.normal(size=PAIRS) * (0.5 + n / 3))
            for n in range(METRICS)
        },
    )
    wall, processor = time.perf_counter(), time.process_time()
    if what == "study":
        study(panel, StudyPlan(resamples=RESAMPLES))
    else:
        drawn = resample(panel.groups, RESAMPLES)
        side_by_side(lambda name: follow(name, panel, (0, 5), drawn), panel.metrics)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{wall:.1f} {processor:.1f} {peak:.0f}")


if __name__ == "__main__":
    _run(sys.argv[1], int(sys.argv[2]))

"""Distances of harmless and harmful probe edits from their reports."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import fmean

from histoeval.errors import Problem
from histoeval.evaluate.probes import Effect, read_probes
from histoeval.pathgls.stability.distance import NAMES, open_distance

COLUMNS = ["distance", "harmless", "harmful", "worst edits", "AUROC", "missing", "ms each"]


def measure(arguments: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """A row for each distance."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks distances")
    parser.add_argument("--every", type=int, default=1, help="only every N-th probe")
    probes = read_probes()[:: parser.parse_args(arguments).every]
    edits = [(probe.reference, edit) for probe in probes for edit in probe.edits]
    rows = []
    for name in NAMES:
        distance = open_distance(name)
        distance.between(*(edits[0][0],) * 2)
        began = time.perf_counter()
        found = [(edit, distance.between(reference, edit.text)) for reference, edit in edits]
        each = (time.perf_counter() - began) / len(edits)
        known = [(edit, far) for edit, far in found if not isinstance(far, Problem)]
        harmless = [far for edit, far in known if edit.effect is Effect.HARMLESS]
        harmful = [far for edit, far in known if edit.effect is Effect.HARMFUL]
        worst = [far for edit, far in known if edit.severity >= 4]
        means = [f"{fmean(group):.3f}" for group in (harmless, harmful, worst)]
        share = auroc(harmful, harmless)
        missing = str(len(found) - len(known))
        rows.append((name, *means, f"{share:.3f}", missing, f"{1000 * each:.0f}"))
    return rows


def auroc(above: Sequence[float], below: Sequence[float]) -> float:
    """How often a value of the first is above one of the second; ties count half."""
    wins = sum((a > b) + 0.5 * (a == b) for a in above for b in below)
    return wins / (len(above) * len(below))

"""What two texts say of markers: the same value, another, or a new one."""

from __future__ import annotations

from histoeval.nli.features.parse import Statements
from histoeval.terms.values import marker_results as results

_RESULTS_SAME, _RESULTS_OTHER = 0.75, 0.1
_REPAIR = frozenset(
    {"mismatch repair", "microsatellite instability", "MLH1", "PMS2", "MSH2", "MSH6"}
)


def of_markers(one: Statements, other: Statements) -> dict[str, float]:
    """The markers of the hypothesis beside those of the premise."""
    known: dict[str, list[results.Result | None]] = {}
    for marker, result in one.markers:
        known.setdefault(marker, []).append(result)
    same = opposite = new = 0
    for marker, result in other.markers:
        if marker not in known:
            new |= not (marker in _REPAIR and known.keys() & _REPAIR)
            continue
        near = [results.agreement(a, result) for a in known[marker] if a and result]
        same |= bool(near) and max(near) >= _RESULTS_SAME
        opposite |= bool(near) and max(near) < _RESULTS_OTHER
    return {"marker_same": same, "marker_opposite": opposite, "marker_new": new}

"""Features of markers and of sizes, weights, shares and rates: the same, another, or new."""

from histoeval.nli.features.parse import Statements
from histoeval.nli.features.sites import is_apart
from histoeval.terms.values import marker_results as results
from histoeval.terms.values.quantity_relations import Fits, compared

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


def of_sizes(one: Statements, other: Statements) -> dict[str, float]:
    """The quantities of the hypothesis beside those of the premise.

    What is measured at a site that the premise does not have is another thing.
    """
    found = compared(one.quantities, other.quantities)
    apart = is_apart(one, other)
    opposed = Fits.OTHER in found and Fits.SAME not in found
    return {
        "size_same": Fits.SAME in found and Fits.OTHER not in found and not apart,
        "size_some": Fits.SAME in found and Fits.OTHER in found,
        "size_other": opposed and not apart,
        "size_apart": opposed and apart,
        "size_open": found == {Fits.OPEN} and bool(one.quantities),
        "size_new": found == {Fits.OPEN} and not one.quantities,
    }

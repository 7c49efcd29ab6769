"""What two texts say of sizes, weights, shares and rates: the same, another, or nothing yet."""

from __future__ import annotations

from histoeval.nli.features.parse import Statements
from histoeval.nli.features.sites import is_apart
from histoeval.terms.values.quantity_relations import Fits, compared


def of_sizes(one: Statements, other: Statements) -> dict[str, float]:
    """The quantities of the hypothesis beside those of the premise.

    What is measured at a site of which the premise says nothing is another thing.
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

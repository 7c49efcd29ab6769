"""How far confidence is from how often it is right."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from histoeval.report import Noun

BINS = 15  # as many as the literature on calibration uses

Judged = tuple[float, bool]  # a confidence, and whether that answer is right


class Bin(Noun):
    """Answers of about the same confidence: their mean confidence, and how often they are right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


class CalibrationError(Noun):
    """The mean distance of confidence and accuracy over bins, and the bins."""

    # `error` is over bins of equal width, `adaptive_error` over bins of about equal count, which
    # looks closer where most confidences are. Empty bins are skipped.

    count: int
    confidence: float
    accuracy: float
    error: float
    adaptive_error: float
    bins: tuple[Bin, ...]
    adaptive_bins: tuple[Bin, ...]


def calibration(judged: Sequence[Judged], bins: int = BINS) -> CalibrationError:
    """How well confidences are calibrated; there must be some."""
    # What has the same confidence is never parted, so the order in which it comes does not matter.
    scores, right = np.array(sorted(judged), dtype=np.float64).T
    steps = np.linspace(0, 1, bins + 1)
    even = _binned(scores, right, steps)
    adaptive = _binned(scores, right, np.unique(np.quantile(scores, steps)))

    def error(bins: Sequence[Bin]) -> float:
        return sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / len(scores)

    return CalibrationError(
        count=len(scores),
        confidence=float(scores.mean()),
        accuracy=float(right.mean()),
        error=error(even),
        adaptive_error=error(adaptive),
        bins=even,
        adaptive_bins=adaptive,
    )


def _binned(
    scores: NDArray[np.float64], right: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[Bin, ...]:
    """Bins from each edge up to below the next one; the last holds its upper edge too."""
    place = np.searchsorted(edges[1:-1], scores, side="right")
    bins = []
    for number in np.unique(place):
        inside = place == number
        bins.append(
            Bin(
                low=float(edges[number]),
                high=float(edges[min(number + 1, len(edges) - 1)]),
                count=int(inside.sum()),
                confidence=float(scores[inside].mean()),
                accuracy=float(right[inside].mean()),
            )
        )
    return tuple(bins)

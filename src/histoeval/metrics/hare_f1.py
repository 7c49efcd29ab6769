"""The arithmetic of HARE (section 3.3 of the paper) as pure functions.

Empty sides, which the paper leaves open, are defined so that a report always agrees fully with
itself: nothing on both sides is full agreement (1), nothing on one side only is none (0). Where
neither report has relations, there is no F1 of relations, and `Hare` scores the entities alone.
"""

from collections.abc import Hashable, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from histoeval.align.aligner import Vectors

_ROWS_AT_ONCE = 2048
_DECIMALS = 4  # of a cosine: the next ones depend on the processor


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """Share of the candidate in the reference, of the reference in the candidate, and F1."""

    precision: float
    recall: float
    f1: float


FULL = PrecisionRecall(1.0, 1.0, 1.0)
NONE = PrecisionRecall(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each row of one side the position of its nearest row on the other, and the cosine."""

    position: NDArray[np.int64]
    cosine: NDArray[np.float64]


def nearest(rows: Vectors, others: Vectors) -> Nearest:
    """Maximum cosine of each row over the others (unit vectors), in bounded memory."""
    positions, cosines = [], []
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        similarity = rows[first : first + _ROWS_AT_ONCE] @ others.T
        best = similarity.argmax(axis=1)
        positions.append(best)
        cosines.append(np.take_along_axis(similarity, best[:, None], axis=1)[:, 0])
    return Nearest(np.concatenate(positions), np.concatenate(cosines).astype(np.float64))


def entity_agreement(reference: Vectors, candidate: Vectors) -> PrecisionRecall:
    """Mean of the maximum cosines, both ways, and their harmonic mean."""
    if not len(reference) or not len(candidate):
        return NONE if len(reference) or len(candidate) else FULL
    recall = float(nearest(reference, candidate).cosine.round(_DECIMALS).mean())
    precision = float(nearest(candidate, reference).cosine.round(_DECIMALS).mean())
    return PrecisionRecall(precision, recall, harmonic_mean(precision, recall))


def rounded_cosines(rows: Vectors, others: Vectors) -> NDArray[np.float64]:
    return (rows @ others.T).astype(np.float64).round(_DECIMALS)


def relation_agreement(reference: Set[Hashable], candidate: Set[Hashable]) -> PrecisionRecall:
    if not reference or not candidate:
        return NONE if reference or candidate else FULL
    shared = len(reference & candidate)
    precision, recall = shared / len(candidate), shared / len(reference)
    return PrecisionRecall(precision, recall, harmonic_mean(precision, recall))


def harmonic_mean(precision: float, recall: float) -> float:
    """F1; 0 unless both are positive, so that negative cosines cannot leave the range."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)

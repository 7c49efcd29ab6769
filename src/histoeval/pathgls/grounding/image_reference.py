"""The images of a laboratory to an encoder: their mean, and their distances from it.

CLIP models answer anything. From tiles of one's own an encoder gets the centre that phrases are
compared with, and a distance beyond which an image is unlike all that it was validated on:
Mahalanobis' with a few directions of their own variance and one variance for all others
(probabilistic principal components), which a few hundred tiles can carry.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from histoeval.errors import InputError, ModelError
from histoeval.pathgls.grounding.encoder import (
    ClaimCalibration,
    ImageTextEncoder,
    SlideTextEncoder,
    Vectors,
    weights_of,
    why_unknown,
)
from histoeval.pathgls.results import Spot
from histoeval.report import EntityType, Noun

DIRECTIONS = 16  # at most so many directions have a variance of their own
FEWEST_IMAGES = 30
FEWEST_CASES = 5
KEPT = 0.99  # the share of images of left-out cases that lies within the limit
FOLDS = 5
_DIGITS = 6


class ImageReference(Noun):
    encoder: str  # the identity of the encoder that made the vectors
    images: Annotated[int, Field(ge=FEWEST_IMAGES)]
    cases: Annotated[int, Field(ge=FEWEST_CASES)]
    centre: tuple[FiniteFloat, ...]
    directions: tuple[tuple[FiniteFloat, ...], ...]
    variances: tuple[Annotated[FiniteFloat, Field(gt=0)], ...]
    rest: Annotated[FiniteFloat, Field(gt=0)]  # the variance along every other direction
    # An image is unknown from this distance on; 1 is the usual distance
    limit: Annotated[FiniteFloat, Field(gt=0)]

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    def distances(self, vectors: Vectors) -> NDArray[np.float64]:
        directions = np.array(self.directions).reshape(-1, len(self.centre))
        spread = np.array(self.centre), directions, np.array(self.variances), self.rest
        return _distances(vectors, spread)


# A mean, directions with their variances, and the variance of the rest
_Spread = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]


def _spread_of(vectors: NDArray[np.float64]) -> _Spread:
    """Measured on images, a fifth of which must be left for each direction."""
    centre = vectors.mean(axis=0)
    _, lengths, rows = np.linalg.svd(vectors - centre, full_matrices=False)
    variances = lengths**2 / max(1, len(vectors) - 1)
    dimension = vectors.shape[1]
    count = min(DIRECTIONS, len(vectors) // 5, dimension - 1)
    residual = float(variances[count:].sum() / (dimension - count))
    if residual <= 0:
        raise InputError("the images have equal vectors: give different tiles of several cases")
    return centre, rows[:count], np.maximum(variances[:count], residual), residual


def _distances(vectors: NDArray[np.floating], spread: _Spread) -> NDArray[np.float64]:
    """Distances whose square is 1 on average for images like those that were measured."""
    centre, directions, variances, residual = spread
    moved = vectors.astype(np.float64) - centre
    projected = moved @ directions.T
    remainder = np.maximum((moved**2).sum(axis=1) - (projected**2).sum(axis=1), 0.0)
    squares = (projected**2 / variances).sum(axis=1) + remainder / residual
    return np.asarray(np.sqrt(squares / vectors.shape[1]), np.float64)


def measure_images(encoder: str, vectors: Vectors, cases: Sequence[str]) -> ImageReference:
    """Measure a laboratory's images as an encoder sees them; the limit holds across `cases`."""
    names = sorted(set(cases))
    if len(vectors) < FEWEST_IMAGES or len(names) < FEWEST_CASES:
        raise InputError(
            f"{len(vectors)} images of {len(names)} cases are too few to say what images look "
            f"like: give {FEWEST_IMAGES} or more of {FEWEST_CASES} or more cases"
        )
    rows = np.asarray(vectors, np.float64)
    fold = {name: number % FOLDS for number, name in enumerate(names)}
    folds = np.array([fold[case] for case in cases])
    left_out = np.concatenate(
        [_distances(rows[folds == n], _spread_of(rows[folds != n])) for n in range(FOLDS)]
    )
    centre, directions, variances, residual = _spread_of(rows)
    return ImageReference(
        encoder=encoder,
        images=len(rows),
        cases=len(names),
        centre=_numbers(centre),
        directions=tuple(map(_numbers, directions)),
        variances=tuple(variances.tolist()),
        rest=residual,
        limit=float(np.quantile(left_out, KEPT, method="higher")),
    )


class ReferencedEncoder:
    def __init__(self, encoder: ImageTextEncoder, reference: ImageReference) -> None:
        if weights_of(encoder.identity) != weights_of(reference.encoder):
            raise ModelError(
                f"the images were measured with {reference.encoder}, and this is "
                f"{encoder.identity}: measure them again with this encoder"
            )
        self.encoder, self.reference = encoder, reference
        self.identity = f"{encoder.identity}/images@{reference.hash}"
        self.size, self.images, self.texts = encoder.size, encoder.images, encoder.texts
        self.centre = np.array(reference.centre, np.float32)
        self.calibration: ClaimCalibration | None = getattr(encoder, "calibration", None)
        self.calibrations: Mapping[EntityType, ClaimCalibration] = getattr(
            encoder, "calibrations", {}
        )

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        limit = self.reference.limit
        unlike = [
            None
            if distance < limit
            else "not like the images that the encoder was validated on "
            f"(distance {distance:.2f}, limit {limit:.2f})"
            for distance in self.reference.distances(vectors)
        ]
        own = why_unknown(self.encoder, "images", vectors)
        return [reason or distant for reason, distant in zip(own, unlike, strict=True)]

    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        return why_unknown(self.encoder, "phrases", phrases)


class ReferencedSlideEncoder(ReferencedEncoder):
    def slides(self, features: NDArray[np.float32], spots: Sequence[Spot]) -> Vectors:
        assert isinstance(self.encoder, SlideTextEncoder)
        return self.encoder.slides(features, spots)

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        return [None] * len(vectors)

    def unknown_slides(self, vectors: Vectors) -> list[str | None]:
        return super().unknown_images(vectors)


def with_images(encoder: ImageTextEncoder, reference: ImageReference) -> ReferencedEncoder:
    is_of_slides = isinstance(encoder, SlideTextEncoder)
    return (ReferencedSlideEncoder if is_of_slides else ReferencedEncoder)(encoder, reference)


def _numbers(row: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.round(row, _DIGITS).tolist())

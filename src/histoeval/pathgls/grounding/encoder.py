"""Requirements of grounding for an image-text encoder.

An encoder maps image patches and phrases to unit vectors of one space, whose product is their
cosine. A vector never depends on what else is in the batch.
"""

from collections.abc import Callable, Sequence, Sized
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.pathgls.results import Spot
from histoeval.report import Noun

Pixels = NDArray[np.uint8]  # rows, columns, and red, green, blue
Vectors = NDArray[np.float32]  # one row for each patch or phrase, of length 1
SIZE = 224  # pixels along a side of a patch, as PathGLS has it


class ImageTextEncoder(Protocol):
    """Maps patches and phrases into one space.

    An encoder may have more, which is used where it is there:

    - `unknown_images(vectors)`, `unknown_phrases(phrases)`: why each is outside of its training
      data, None where it is not;
    - `calibrations`, by kind of claim, and `calibration`, for all: measured `ClaimCalibration`s;
    - `decisions`: limits that were measured for its verdicts (`Decisions`);
    - `organ_vectors(organs)`: where organs lie, over many wordings of each;
    - `centre`: the mean vector of its training images, shorter than 1. A phrase near it has high
      cosines with all images; this offset is subtracted before claims are compared.
    """

    @property
    def identity(self) -> str:
        """The model, down to its weights, and everything else that its vectors depend on."""

    @property
    def size(self) -> int:
        """Pixels along a side of the patches that it takes."""

    def images(self, patches: Sequence[Pixels]) -> Vectors: ...
    def texts(self, phrases: Sequence[str]) -> Vectors: ...


@runtime_checkable
class SlideTextEncoder(Protocol):
    """An encoder whose texts meet whole slides only; its `images` are features for `slides`."""

    def slides(self, features: NDArray[np.float32], spots: Sequence[Spot]) -> Vectors: ...


class ClaimCalibration(Noun):
    """A logistic curve from a claim's standing among decoys to a value from 0 to 1.

    The standing is how many standard deviations its cosine lies above those of decoys. At the
    `midpoint` a claim is as likely true as a decoy, and `slope` is how fast that changes there.
    """

    slope: float
    midpoint: float


def why_unknown(
    encoder: object, kind: Literal["images", "phrases", "slides"], items: Sized
) -> list[str | None]:
    """Reason why each item is out of scope, or None; an encoder that cannot tell gives None."""
    explain: Callable[..., list[str | None]] | None = getattr(encoder, f"unknown_{kind}", None)
    return explain(items) if explain else [None] * len(items)


def of_length_one(rows: NDArray[np.floating], name: str) -> Vectors:
    """Rows divided by their length; an error where a model returns rows without one."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(f"{name} returned NaN, infinite or zero vectors; check its weights")
    return np.asarray(rows / lengths, np.float32)


def weights_of(identity: str) -> str:
    """The part of an encoder's identity that stands for its weights, whatever folder or library."""
    _, named, rest = identity.partition("@")
    return rest.partition("/")[0] if named else identity

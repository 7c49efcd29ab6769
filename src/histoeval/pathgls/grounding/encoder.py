"""What grounding needs of an image-text encoder.

An encoder maps image patches and phrases to unit vectors of one space, whose product is their
cosine. A vector never depends on what else is in the batch.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.pathgls.results import Spot
from histoeval.report import EntityType, Noun

Pixels = NDArray[np.uint8]
"""Rows, columns, and red, green, blue."""
Vectors = NDArray[np.float32]
"""One row for each patch or phrase, of length 1."""

SIZE = 224
"""Pixels along a side of a patch, as PathGLS has it."""


class ImageTextEncoder(Protocol):
    """Maps patches and phrases into one space."""

    @property
    def identity(self) -> str:
        """The model, down to its weights, and everything else that its vectors depend on."""

    @property
    def size(self) -> int:
        """Pixels along a side of the patches that it takes."""

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        """One vector for each patch of `size` px, in their order."""

    def texts(self, phrases: Sequence[str]) -> Vectors:
        """One vector for each phrase, in their order."""


@runtime_checkable
class SlideTextEncoder(Protocol):
    """An encoder whose space of texts is met by whole slides only, such as TITAN.

    Its `images` are features of patches, of any length, that nothing but `slides` reads.
    """

    def slides(self, features: NDArray[np.float32], spots: Sequence[Spot]) -> Vectors:
        """One row: the slide that patches with these features and positions belong to."""


@runtime_checkable
class Scoped(Protocol):
    """An encoder that can tell what is outside of its training data."""

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        """For each patch why it is out of scope; None where it is not."""

    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        """The same for each phrase."""


@runtime_checkable
class ScopedSlides(Protocol):
    """An encoder of slides that can tell which are unlike those it was validated on."""

    def unknown_slides(self, vectors: Vectors) -> list[str | None]:
        """For each slide why it is out of scope; None where it is not."""


class ClaimCalibration(Noun):
    """A logistic curve from a claim's standing among decoys to a value from 0 to 1.

    The standing is how many standard deviations its cosine lies above those of decoys. At the
    `midpoint` a claim is as likely true as a decoy, and `slope` is how fast that changes there.
    """

    slope: float
    midpoint: float


@runtime_checkable
class Calibrated(Protocol):
    """An encoder for which the separation of true claims and decoys was measured."""

    @property
    def calibration(self) -> ClaimCalibration | None:
        """The measured curve, if there is one."""


@runtime_checkable
class CalibratedByKind(Protocol):
    """An encoder for which it was measured for some kinds of claims separately."""

    @property
    def calibrations(self) -> Mapping[EntityType, ClaimCalibration]:
        """The measured curves, by kind."""


@runtime_checkable
class Centred(Protocol):
    """An encoder that knows the mean of its training images.

    A phrase near that mean has high cosines with all images; this offset is subtracted before
    claims are compared.
    """

    @property
    def centre(self) -> NDArray[np.float32]:
        """The mean vector, which is shorter than 1."""


def unknown_images(encoder: ImageTextEncoder, vectors: Vectors) -> list[str | None]:
    """Why each patch is out of scope; nothing is for an encoder that cannot tell."""
    if isinstance(encoder, Scoped):
        return encoder.unknown_images(vectors)
    return [None] * len(vectors)


def unknown_phrases(encoder: ImageTextEncoder, phrases: Sequence[str]) -> list[str | None]:
    """Why each phrase is out of scope; nothing is for an encoder that cannot tell."""
    if isinstance(encoder, Scoped):
        return encoder.unknown_phrases(phrases)
    return [None] * len(phrases)


def unknown_slides(encoder: object, vectors: Vectors) -> list[str | None]:
    """Why each slide is out of scope; nothing is for an encoder that cannot tell."""
    if isinstance(encoder, ScopedSlides):
        return encoder.unknown_slides(vectors)
    return [None] * len(vectors)


def of_length_one(rows: NDArray[np.floating], name: str) -> Vectors:
    """Rows divided by their length; an error where a model returns rows without one."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(f"{name} returned NaN, infinite or zero vectors; check its weights")
    return np.asarray(rows / lengths, np.float32)


def weights_of(identity: str) -> str:
    """The part of an encoder's identity that stands for its weights.

    It is the same whatever the folder is called and whichever release of a library runs it.
    """
    _, named, rest = identity.partition("@")
    return rest.partition("/")[0] if named else identity

"""Image and text encoders of one space: what grounding asks of them, and how each is opened.

An encoder gives an image patch and a phrase vectors of length 1, whose product is their cosine.
What it gives for one of them never depends on what else is in the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import MissingDependency, ModelError
from histoeval.report import EntityType

Pixels = NDArray[np.uint8]
"""Rows, columns, and red, green, blue."""
Vectors = NDArray[np.float32]
"""One row for each patch or phrase, of length 1."""

BUILTIN = "builtin"
PLIP = "vinid/plip"
NAMES = {"plip": PLIP}
"""Short names of models on the hub."""
OPEN_CLIP = "open_clip:"

SIZE = 224
"""Pixels along a side of a patch, as PathGLS has it."""


class ImageTextEncoder(Protocol):
    """Whatever brings patches and phrases into one space."""

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
class Scoped(Protocol):
    """An encoder that knows what it does not know."""

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        """For each patch why it is outside of what the encoder has seen; nothing where it is in."""

    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        """The same for each phrase."""


class ClaimCalibration(NamedTuple):
    """How a claim's standing among foreign claims becomes a value from 0 to 1.

    The standing is how many standard deviations its cosine lies above those of claims that are
    foreign to the image. `midpoint` is where a claim is as likely true as foreign, and `slope` how
    fast that changes there.
    """

    slope: float
    midpoint: float


@runtime_checkable
class Calibrated(Protocol):
    """An encoder whose makers have measured how true and foreign claims lie apart."""

    @property
    def calibration(self) -> ClaimCalibration | None:
        """What they found, if they did."""


@runtime_checkable
class CalibratedByKind(Protocol):
    """An encoder for which this was measured for some kinds of claims by themselves."""

    @property
    def calibrations(self) -> Mapping[EntityType, ClaimCalibration]:
        """What was found, by kind."""


@runtime_checkable
class Centred(Protocol):
    """An encoder that knows the mean of the images it has seen.

    A phrase that lies near the mean has high cosines with all images; by how much is known then,
    and is taken off before claims are compared.
    """

    @property
    def centre(self) -> NDArray[np.float32]:
        """The mean vector, which is shorter than 1."""


def open_encoder(spec: str | None, device: str | None = None) -> ImageTextEncoder:
    """An encoder by what a person calls it.

    Nothing or "builtin" is the one that is shipped; "plip" and other names of the hub, or folders,
    are CLIP models of Transformers; "open_clip:NAME" is one of open_clip.
    """
    if spec is None or spec == BUILTIN:
        return _open_builtin()
    if spec.startswith(OPEN_CLIP):
        from histoeval.trust.grounding.open_clip import OpenClipEncoder

        return OpenClipEncoder(spec.removeprefix(OPEN_CLIP), device)
    if Path(spec, "manifest.json").is_file():
        return _open_builtin(Path(spec))
    name = NAMES.get(spec.lower(), spec)
    if "/" not in name and not Path(name).is_dir():
        raise ModelError(_nowhere(spec))
    from histoeval.trust.grounding.clip import ClipEncoder

    return ClipEncoder(name, device)


def _nowhere(spec: str) -> str:
    """What is said of a name that is no folder, and on the hub would lack its owner."""
    near = get_close_matches(spec.lower(), [BUILTIN, *NAMES], n=1)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    return (
        f"there is no encoder {spec!r}{guess}: no folder has this name, and models on the hub are "
        f"named with their owner, as in {PLIP}. Give {BUILTIN!r}, 'plip', a folder, a name on the "
        f"hub, or {OPEN_CLIP}NAME"
    )


def _open_builtin(folder: Path | None = None) -> ImageTextEncoder:
    try:
        module = import_module("histoeval.trust.grounding.builtin")
    except ImportError as error:
        raise MissingDependency(
            "this installation has no grounding encoder of its own; name one: --encoder plip, "
            "any CLIP model of Transformers, or open_clip:NAME"
        ) from error
    encoder: ImageTextEncoder = module.BuiltinEncoder(folder)
    return encoder


def unknown_images(encoder: ImageTextEncoder, vectors: Vectors) -> list[str | None]:
    """Why each patch is outside of what an encoder knows; one that cannot tell knows all."""
    if isinstance(encoder, Scoped):
        return encoder.unknown_images(vectors)
    return [None] * len(vectors)


def unknown_phrases(encoder: ImageTextEncoder, phrases: Sequence[str]) -> list[str | None]:
    """Why each phrase is outside of what an encoder knows; one that cannot tell knows all."""
    if isinstance(encoder, Scoped):
        return encoder.unknown_phrases(phrases)
    return [None] * len(phrases)


def of_length_one(rows: NDArray[np.floating], name: str) -> Vectors:
    """Rows divided by their length; refused where a model gives what has none."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ModelError(
            f"{name} gives vectors that are not finite or nothing; its weights are bad"
        )
    return np.asarray(rows / lengths, np.float32)

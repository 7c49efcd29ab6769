"""The folder of a grounding model: its files, their hashes, scope and calibration."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.reader.manifest import HashedFiles, checked_manifest, put_manifest
from histoeval.report import Noun

MANIFEST = "manifest.json"
IMAGE: Final = "image.onnx"
TEXT: Final = "text.onnx"
TOKENIZER: Final = "tokenizer.json"
KNOWN: Final = "known.npz"
FILES = (IMAGE, TEXT, TOKENIZER, KNOWN)

Colours = tuple[float, float, float]


class ImageTowerSpec(Noun):
    """How images are put to the image tower: the side in pixels, and how colours are scaled."""

    file: Literal["image.onnx"] = IMAGE
    size: Annotated[int, Field(ge=1)] = 224
    mean: Colours
    std: Colours


class TextTower(Noun):
    """How phrases are put to the text tower."""

    file: Literal["text.onnx"] = TEXT
    tokenizer: Literal["tokenizer.json"] = TOKENIZER
    max_tokens: Annotated[int, Field(ge=4)] = 32


class Limit(Noun):
    """Where what is known ends, by something kept in a file: beyond the threshold it is unknown."""

    file: Literal["known.npz"] = KNOWN
    threshold: float


class ScopeLimits(Noun):
    """What the model knows: images by their distance, phrases by their likeness to known ones."""

    image: Limit
    """Unknown from this distance on, in which 1 is what a usual image of the training has."""
    stain: Limit
    """Unknown from where another stain is so much likelier than H&E, as a difference of cosines."""
    phrases: Limit
    """Unknown below this cosine with the nearest wording that was learned."""


class LogisticCalibration(Noun):
    """A logistic curve from a claim's standing among decoys to a value from 0 to 1."""

    slope: float
    midpoint: float
    """Where a claim is as likely true as a decoy."""


class GroundingManifest(HashedFiles):
    """What `manifest.json` says: the files and their hashes, both towers, scope, calibration."""

    kind: Literal["grounding"] = "grounding"
    image: ImageTowerSpec
    text: TextTower
    dimension: Annotated[int, Field(ge=2)]
    temperature: float
    """What cosines were divided by while learning."""
    scope: ScopeLimits
    calibrations: dict[str, LogisticCalibration]
    """A curve for each kind of claim: site, diagnosis, finding."""
    decisions: Decisions | None = None
    """When answers count: missing where only one laboratory or too few cases were learned."""
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The model by name and by everything that its answers depend on."""
        content = self.model_dump_json(exclude={"details", "name"})
        return f"{self.name}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def read_grounding_manifest(folder: Path) -> GroundingManifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    return checked_manifest(folder, MANIFEST, GroundingManifest, FILES, "a grounding model")


def write_grounding_manifest(folder: Path, manifest: GroundingManifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)

"""The folder of an aligner: what is in it, whether it is whole, and how a phrase is embedded."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from histoeval.align.opposites.vector import VERSION
from histoeval.errors import ModelError
from histoeval.reader.manifest import (
    ENCODER,
    TOKENIZER,
    HashedFiles,
    checked_manifest,
    put_manifest,
)
from histoeval.report import Noun

MANIFEST = "aligner.json"


class ChannelUse(Noun):
    """That the numbers of `align.opposites.vector` stand beside the vector of the encoder."""

    version: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(gt=0)]


class AlignerManifest(HashedFiles):
    """What `aligner.json` says: the files and their hashes, the size of vectors, the longest text.

    How tokens become one vector is part of the graph, and nothing that its users decide.
    """

    size: Annotated[int, Field(ge=1)]
    """Numbers in a vector of the encoder."""
    tokens: Annotated[int, Field(ge=4)] = 32
    """Where a phrase is cut, the tokens that open and close it included."""
    channel: ChannelUse | None = None
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The aligner by name and by everything that its vectors depend on."""
        content = self.model_dump_json(exclude={"details", "name"})
        return f"{self.name}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def read_aligner_manifest(folder: Path) -> AlignerManifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    manifest = checked_manifest(
        folder, MANIFEST, AlignerManifest, (ENCODER, TOKENIZER), "an aligner"
    )
    if manifest.channel is not None and manifest.channel.version != VERSION:
        raise ModelError(
            f"{folder / MANIFEST} is of version {manifest.channel.version} of the channel, and "
            f"this HistoEval has version {VERSION}: train the aligner again"
        )
    return manifest


def write_aligner_manifest(folder: Path, manifest: AlignerManifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)

"""The folder of an aligner: what is in it, whether it is whole, and how a phrase is embedded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from histoeval.extract.manifest import ENCODER, TOKENIZER, Hashed, checked_manifest, put_manifest

MANIFEST = "aligner.json"


class AlignerManifest(Hashed):
    """What `aligner.json` says: the files and their hashes, the size of vectors, the longest text.

    How tokens become one vector is part of the graph, and nothing that its users decide.
    """

    size: Annotated[int, Field(ge=1)]
    """Numbers in a vector."""
    tokens: Annotated[int, Field(ge=4)] = 32
    """Where a phrase is cut, the tokens that open and close it included."""
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The aligner by name and by everything that its vectors depend on."""
        content = self.model_dump_json(exclude={"details", "name"})
        return f"{self.name}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def read_aligner_manifest(folder: Path) -> AlignerManifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    return checked_manifest(folder, MANIFEST, AlignerManifest, (ENCODER, TOKENIZER), "an aligner")


def write_aligner_manifest(folder: Path, manifest: AlignerManifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)

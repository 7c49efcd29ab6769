"""The folder of an NLI model: what is in it, whether it is whole, and where long texts are cut."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from histoeval.nli.reranker import Reranker
from histoeval.reader.manifest import (
    ENCODER,
    TOKENIZER,
    HashedFiles,
    checked_manifest,
    put_manifest,
)

MANIFEST = "nli.json"
TOKENS = 256
"""Tokens of a premise and its hypothesis together, with the three that open and part them."""


def hypothesis_tokens(tokens: int) -> int:
    """Tokens that the hypothesis of a long pair keeps; the premise has the rest."""
    return tokens * 3 // 8


class EntailerManifest(HashedFiles):
    """What `nli.json` says: the files and their hashes, and where long texts are cut."""

    tokens: Annotated[int, Field(ge=16)] = TOKENS
    hypothesis_tokens: Annotated[int, Field(ge=4)] = hypothesis_tokens(TOKENS)
    opinion: Reranker | None = None
    """The re-ranker, where there is one."""
    details: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _premise_has_room(self) -> Self:
        if self.hypothesis_tokens > self.tokens - 8:
            raise ValueError("the hypothesis would leave no room for the premise")
        return self

    @property
    def identity(self) -> str:
        """The model by name and by everything that its answers depend on."""
        content = self.model_dump_json(exclude={"details", "name"}, exclude_none=True)
        terms = "+terms" if self.opinion else ""
        return f"{self.name}{terms}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def limits_of(name: str, tokens: int) -> EntailerManifest:
    """The manifest of a model that has no files yet: where it cuts pairs."""
    return EntailerManifest(
        name=name, files={}, tokens=tokens, hypothesis_tokens=hypothesis_tokens(tokens)
    )


def read_entailer_manifest(folder: Path) -> EntailerManifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    return checked_manifest(
        folder, MANIFEST, EntailerManifest, (ENCODER, TOKENIZER), "an NLI model"
    )


def write_entailer_manifest(folder: Path, manifest: EntailerManifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)

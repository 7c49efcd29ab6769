"""The folder of a joint reader: what is in it, whether it is whole, and how sure it may be."""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from histoeval.errors import ModelError, explain_validation
from histoeval.reader.links import KINDS
from histoeval.reader.tagging import ASSERTIONS, TAGS
from histoeval.report import Noun

MANIFEST = "reader.json"
ENCODER, LINKER, TOKENIZER = "encoder.onnx", "linker.onnx", "tokenizer.json"


class HashedFiles(Noun):
    """What every manifest holds: the model's name, and the hash of each of its files."""

    format: Literal[1] = 1
    name: str
    files: dict[str, str]


M = TypeVar("M", bound=HashedFiles)


class ConfidenceCurve(Noun):
    """From how sure the model is to how often it is right: a line between the two log odds."""

    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, probability: float) -> float:
        """The share of such answers that are right."""
        sure = min(max(probability, 1e-6), 1 - 1e-6)
        odds = self.slope * math.log(sure / (1 - sure)) + self.offset
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


class Manifest(HashedFiles):
    """What `reader.json` says: the files and their hashes, labels, windows and confidence."""

    tags: tuple[str, ...] = TAGS
    assertions: tuple[str, ...] = ASSERTIONS
    relations: tuple[str, ...] = tuple("-".join(kind) for kind in KINDS)
    window: Annotated[int, Field(ge=16)] = 256
    """Tokens of a window, and how many of them neighbours share."""
    overlap: Annotated[int, Field(ge=0)] = 64
    entity_curve: ConfidenceCurve = ConfidenceCurve()
    relation_curve: ConfidenceCurve = ConfidenceCurve()
    details: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.overlap >= self.window:
            raise ValueError(f"windows of {self.window} tokens cannot overlap by {self.overlap}")
        return self

    @property
    def identity(self) -> str:
        """The reader by name and by everything that its answers depend on."""
        content = self.model_dump_json(exclude={"details", "name"})
        return f"{self.name}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    manifest = checked_manifest(
        folder, MANIFEST, Manifest, (ENCODER, LINKER, TOKENIZER), "a reader"
    )
    known = Manifest(name=manifest.name, files={})
    for labels in ("tags", "assertions", "relations"):
        if getattr(manifest, labels) != getattr(known, labels):
            raise ModelError(
                f"{folder / MANIFEST} has other {labels} than this version of HistoEval reads"
            )
    return manifest


def checked_manifest(folder: Path, name: str, kind: type[M], files: Sequence[str], what: str) -> M:
    """What a folder says of its model, if all these files are those that were written."""
    path = folder / name
    try:
        manifest = kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(
            f"{folder} is not the folder of {what}: {name}: {error.strerror or error}"
        ) from error
    except ValidationError as error:
        fault = explain_validation(error, "the whole")
        raise ModelError(f"{path} is not what {what}'s manifest should be: {fault}") from error
    for file in files:
        if manifest.files.get(file) != hash_of(folder / file):
            raise ModelError(
                f"{folder / file} is not the file that {path.name} names: it was changed or cut "
                f"short; install the package again, or train it again"
            )
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)


def put_manifest(path: Path, manifest: BaseModel) -> None:
    """Write what a folder says of its model, whole or not at all."""
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(manifest.model_dump_json(indent=1) + "\n", "utf-8")
    draft.replace(path)


def hash_of(path: Path) -> str:
    """The sha256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error

"""The folder of a model: what is in it, whether it is whole, and how sure a reader may be."""

import hashlib
import math
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from histoeval.errors import ModelError, explain_validation
from histoeval.reader.links import KINDS
from histoeval.reader.tagging import ASSERTIONS, TAGS
from histoeval.report import Noun

ENCODER, LINKER, TOKENIZER = "encoder.onnx", "linker.onnx", "tokenizer.json"


class ModelManifest(Noun):
    """The manifest in a model's folder: its name, and the hash of each of its files."""

    home: ClassVar[str]  # the file that says it
    parts: ClassVar[tuple[str, ...]]  # the files that must be there
    what: ClassVar[str]  # for messages: "a reader"

    format: Literal[1] = 1
    name: str
    files: dict[str, str]
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The model by name and by everything that its answers depend on."""
        return f"{self.name}@{self.digest()}"

    def digest(self, *, exclude_none: bool = False) -> str:
        content = self.model_dump_json(exclude={"details", "name"}, exclude_none=exclude_none)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The manifest of a folder, if every file is there and is the one that was written."""
        path = folder / cls.home
        try:
            manifest = cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ModelError(
                f"{folder} is not the folder of {cls.what}: {cls.home}: {error.strerror or error}"
            ) from error
        except ValidationError as error:
            fault = explain_validation(error, "the whole")
            raise ModelError(
                f"{path} is not what {cls.what}'s manifest should be: {fault}"
            ) from error
        for file in cls.parts:
            if manifest.files.get(file) != hash_of(folder / file):
                raise ModelError(
                    f"{folder / file} is not the file that {path.name} names: it was changed or "
                    f"cut short; install the package again, or train it again"
                )
        return manifest

    def write(self, folder: Path) -> None:
        path = folder / self.home
        draft = path.with_name(f"{path.name}.part")
        draft.write_text(self.model_dump_json(indent=1) + "\n", "utf-8")
        draft.replace(path)


class ConfidenceCurve(Noun):
    """The share of right answers at each confidence: a line between the two log odds."""

    slope: float = 1.0
    offset: float = 0.0

    def __call__(self, probability: float) -> float:
        sure = min(max(probability, 1e-6), 1 - 1e-6)
        odds = self.slope * math.log(sure / (1 - sure)) + self.offset
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


class Manifest(ModelManifest):
    """The content of `reader.json`: files and their hashes, labels, windows and confidence."""

    home, parts, what = "reader.json", (ENCODER, LINKER, TOKENIZER), "a reader"

    tags: tuple[str, ...] = TAGS
    assertions: tuple[str, ...] = ASSERTIONS
    relations: tuple[str, ...] = tuple("-".join(kind) for kind in KINDS)
    window: Annotated[int, Field(ge=16)] = 256  # tokens of a window
    overlap: Annotated[int, Field(ge=0)] = 64  # how many of them neighbours share
    entity_curve: ConfidenceCurve = ConfidenceCurve()
    relation_curve: ConfidenceCurve = ConfidenceCurve()

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.overlap >= self.window:
            raise ValueError(f"windows of {self.window} tokens cannot overlap by {self.overlap}")
        return self

    @classmethod
    def read(cls, folder: Path) -> Self:
        manifest = super().read(folder)
        for labels in ("tags", "assertions", "relations"):
            if getattr(manifest, labels) != cls.model_fields[labels].default:
                raise ModelError(
                    f"{folder / cls.home} has other {labels} than this version of HistoEval reads"
                )
        return manifest


def hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error

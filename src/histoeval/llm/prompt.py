"""What models are sent: chat messages, and instructions to a model that writes reports."""

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from histoeval.report import Noun

Message = dict[str, Any]
"""A role and its content: a text, or a list of text and image parts."""

Kind = Literal["neutral", "attack", "merge"]

TASK, SITE, REPORTS = "{task}", "{site}", "{reports}"
"""Placeholders of an instruction, filled by plain replacement so that other braces are kept."""

_NEEDED: dict[Kind, tuple[str, ...]] = {"neutral": (), "attack": (TASK,), "merge": (REPORTS,)}


class Instruction(Noun):
    """One instruction to the model that writes reports."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    version: Annotated[int, Field(ge=1)]
    kind: Kind
    text: Annotated[str, Field(min_length=1)]
    system: str | None = None
    """System message, for models that take one; most are prompted without."""
    sites: tuple[str, ...] = ()
    """Organs that `{site}` is drawn from; never one that the report or the specimen names."""
    most_tokens: Annotated[int, Field(ge=16)] = 768
    """How long the answer may be."""

    @model_validator(mode="after")
    def _has_its_placeholders(self) -> Self:
        if self.name == "stain" or self.name.startswith("stain_"):
            raise ValueError("'stain' is the name of the visual attack")
        if missing := [place for place in _NEEDED[self.kind] if place not in self.text]:
            raise ValueError(f"the text of kind {self.kind} must hold {missing[0]}")
        if (SITE in self.text) != bool(self.sites):
            raise ValueError(f"{SITE} in the text and a list of sites go together")
        return self

    @property
    def hash(self) -> str:
        """Twelve characters that change with anything in the instruction."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def identity(self) -> str:
        """Name, version and hash, for signatures."""
        return f"{self.name}-{self.version}-{self.hash}"

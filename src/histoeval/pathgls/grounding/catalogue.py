"""The published encoders that have a name here, and how each is to be had."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from histoeval.report import Noun
from histoeval.resources import load_toml

Loader = Literal["transformers", "open_clip", "conch", "musk", "titan"]


class KnownEncoder(Noun):
    """A published encoder: how it is opened, what it takes, and under which terms."""

    name: str
    title: str
    loads: Loader
    hub: str
    """Its name on the Hugging Face hub."""
    architecture: str = ""
    """Its name in the library that opens it, for weights in a file."""
    weights: str = ""
    """The file of its folder that the library wants, where it wants a file."""
    size: Annotated[int, Field(ge=1)]
    """Pixels along a side of its patches."""
    slides: bool = False
    """It has one vector for a slide and none for a patch."""
    licence: str
    gated: bool
    """Its terms must be accepted on the hub before it can be downloaded."""

    @property
    def advice(self) -> str:
        """How to get it to a machine that does not reach the hub."""
        terms = (
            "accept its terms on the hub and log in (hf auth login), then " if self.gated else ""
        )
        return (
            f"To get {self.title} ({self.licence}): {terms}run: hf download {self.hub} --local-dir "
            f"{self.name}; copy that folder to this machine and give {self.name}=FOLDER."
        )


@cache
def known_encoders() -> dict[str, KnownEncoder]:
    """All of them, by name."""
    content = load_toml("pathgls/grounding/data/encoders.toml")
    return {name: KnownEncoder(name=name, **entry) for name, entry in content.items()}

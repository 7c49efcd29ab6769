"""The subject: the model whose reports are to be trusted, or not. It is shown pictures and writes.

Any OpenAI-compatible vision endpoint, or a Transformers vision-language model in this process. What
it has answered is kept with the replies of judges and never asked again.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import Field

from histoeval.errors import Problem
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Reply
from histoeval.llm.prompt import Instruction
from histoeval.llm.service import RetryPolicy
from histoeval.llm.usage import Usage
from histoeval.report import Noun


class Ask(NamedTuple):
    """One question to the subject: an instruction, its text as filled in, and the pictures."""

    instruction: Instruction
    text: str
    images: tuple[bytes, ...] = ()
    """Each a whole PNG or JPEG file."""


class VlmAnswer(NamedTuple):
    """What the subject answered, and whether it was cut off at the most tokens."""

    text: str
    cut: bool = False


class Vlm(Protocol):
    """A model that describes pictures."""

    @property
    def identity(self) -> str:
        """The model and how it is asked, for signatures; no secret in it."""

    @property
    def gone(self) -> str | None:
        """Why nothing more is asked of it; None while it answers."""

    @property
    def usage(self) -> Usage:
        """What it was asked so far and what that took."""

    def describe(self, images: Sequence[bytes], prompt: Instruction) -> str | Problem:
        """What it says of pictures."""

    def describe_all(self, asks: Sequence[Ask]) -> list[VlmAnswer | Problem]:
        """An answer to each, in their order; equal ones are asked once."""


class VlmSampling(Noun):
    """How a subject is asked; all of it counts for what it answers."""

    temperature: Annotated[float, Field(ge=0)] = 0.0
    seed: int = 0
    body: Mapping[str, Any] = {}
    """What else goes into a request; null takes something out."""

    def parameters(self, most_tokens: int) -> str:
        """What a request says beside the conversation, as JSON."""
        usual = {"temperature": self.temperature, "seed": self.seed, "max_tokens": most_tokens}
        return json.dumps(usual | dict(self.body), sort_keys=True)

    @property
    def identity(self) -> str:
        """One line for signatures."""
        usual = f"temperature={self.temperature:g},seed={self.seed}"
        return f"{usual},body={json.dumps(dict(self.body), sort_keys=True)}" if self.body else usual


class CachedVlm(ABC):
    """A subject that keeps what was answered; how it is asked is left to those who can."""

    def __init__(self, name: str, cache: Cache, manner: VlmSampling) -> None:
        self.name = name
        self.cache = cache
        self.manner = manner
        self.gone: str | None = None
        self.usage = Usage()

    @property
    def identity(self) -> str:
        """The model and how it is asked."""
        return f"{self.name},{self.manner.identity}"

    def describe(self, images: Sequence[bytes], prompt: Instruction) -> str | Problem:
        """What the model says of pictures."""
        (said,) = self.describe_all([Ask(prompt, prompt.text.strip(), tuple(images))])
        return said if isinstance(said, Problem) else said.text

    def describe_all(self, asks: Sequence[Ask]) -> list[VlmAnswer | Problem]:
        """What is known from before, and for the rest what the model says now."""
        keys = [self._key(ask) for ask in asks]
        told: dict[str, Reply | Problem] = {}
        for key in dict.fromkeys(keys):
            if (reply := self.cache.find(key)) is not None:
                self.usage.found(reply)
                told[key] = reply
        new = {key: ask for key, ask in zip(keys, asks, strict=True) if key not in told}
        if new:
            told |= self._ask(new)
        return [_said(told[key]) for key in keys]

    @abstractmethod
    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        """The reply to each new question, kept as soon as it comes."""

    def _keep(self, key: str, ask: Ask, reply: Reply) -> None:
        """Write a reply, so that a kill does not lose it."""
        self.cache.store(key, self.name, ask.instruction.identity, len(ask.text), reply)
        self.cache.write()
        self.usage.paid(reply)

    def _key(self, ask: Ask) -> str:
        """The hash under which a reply is kept."""
        parameters = self.manner.parameters(ask.instruction.most_tokens)
        pictures = [hashlib.sha256(image).hexdigest() for image in ask.images]
        system = ask.instruction.system or ""
        parts = ["subject", self.name, parameters, system, ask.text, *pictures]
        content = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _said(outcome: Reply | Problem) -> VlmAnswer | Problem:
    if isinstance(outcome, Problem):
        return outcome
    if not outcome.text.strip():
        return Problem("empty_report", "the model answered with nothing")
    return VlmAnswer(outcome.text.strip(), outcome.finish == "length")


class VlmConfig(Noun):
    """Which model to ask and how, as a person names it."""

    endpoint: str
    """An address that ends in /v1, or `local` for a Transformers model in this process."""
    model: str
    key_env: str | None = None
    key_file: Path | None = None
    manner: VlmSampling = VlmSampling()
    patience: RetryPolicy = RetryPolicy()
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    cache: Path | None = None
    keep: bool = True
    """Whether replies are kept for the next time."""
    device: str | None = None

"""The model under test: a vision-language model that is shown pictures and writes reports.

Any OpenAI-compatible vision endpoint, or a Transformers model in this process. Its answers are
cached with the replies of judges and never asked for again.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from histoeval.errors import Problem
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Instruction, Reply
from histoeval.llm.service import EndpointConfig
from histoeval.llm.usage import Usage
from histoeval.report import Noun
from histoeval.runtime.memo import Remade


class Ask(NamedTuple):
    """One question to the model: an instruction, its text as filled in, and the pictures."""

    instruction: Instruction
    text: str
    images: tuple[bytes, ...] = ()  # each a whole PNG or JPEG file


class VlmAnswer(NamedTuple):
    """An answer of the model; `cut` if it ends at the token limit."""

    text: str
    cut: bool = False


class VlmSampling(Noun):
    temperature: Annotated[float, Field(ge=0)] = 0.0
    seed: int = 0
    body: Mapping[str, Any] = {}  # extra fields of the request body; null removes one

    def parameters(self, most_tokens: int) -> str:
        """The request without the conversation, as JSON."""
        sampling = {"temperature": self.temperature, "seed": self.seed, "max_tokens": most_tokens}
        return json.dumps(sampling | dict(self.body), sort_keys=True)

    @property
    def identity(self) -> str:
        sampling = f"temperature={self.temperature:g},seed={self.seed}"
        return (
            f"{sampling},body={json.dumps(dict(self.body), sort_keys=True)}"
            if self.body
            else sampling
        )


class Vlm(Remade, ABC):
    """A model that describes pictures; `gone` is the reason why it is no longer asked."""

    def __init__(self, name: str, cache: Cache, manner: VlmSampling) -> None:
        self.name = name
        self.cache = cache
        self.manner = manner
        self.gone: str | None = None
        self.usage = Usage()

    @property
    def identity(self) -> str:
        return f"{self.name},{self.manner.identity}"

    def describe_all(self, asks: Sequence[Ask]) -> list[VlmAnswer | Problem]:
        keys = [self._key(ask) for ask in asks]
        replies: dict[str, Reply | Problem] = {}
        for key in dict.fromkeys(keys):
            if (cached := self.cache.find(key)) is not None:
                self.usage.cached += 1
                replies[key] = cached
        new = {key: ask for key, ask in zip(keys, asks, strict=True) if key not in replies}
        if new:
            replies |= self._ask(new)
        answers: list[VlmAnswer | Problem] = []
        for key in keys:
            reply = replies[key]
            if isinstance(reply, Problem):
                answers.append(reply)
            elif not reply.text.strip():
                answers.append(Problem("empty_report", "the model returned an empty answer"))
            else:
                answers.append(VlmAnswer(reply.text.strip(), reply.finish == "length"))
        return answers

    @abstractmethod
    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        """Ask each new question; replies are cached at once."""

    def _keep(self, key: str, ask: Ask, reply: Reply) -> None:
        self.cache.store(key, self.name, ask.instruction.identity, len(ask.text), reply)
        self.usage.add_reply(reply)

    def _key(self, ask: Ask) -> str:
        parameters = self.manner.parameters(ask.instruction.most_tokens)
        pictures = [hashlib.sha256(image).hexdigest() for image in ask.images]
        system = ask.instruction.system or ""
        parts = ["subject", self.name, parameters, system, ask.text, *pictures]
        content = "".join(f"{len(part)}:{part}" for part in parts)
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


class VlmConfig(EndpointConfig):
    endpoint: str
    """An address that ends in /v1, or `local` for a Transformers model in this process."""
    model: str
    manner: VlmSampling = VlmSampling()

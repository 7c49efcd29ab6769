"""A subject behind an OpenAI-compatible vision endpoint, asked as judges are: many at a time.

Retries, waits and keys are those of `histoeval.llm.service`. An endpoint that fails again and
again is given up: from then on everything that is asked has the same explicit reason, and no time
is lost on it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from histoeval.errors import EndpointError, Problem
from histoeval.llm.api_key import Secret
from histoeval.llm.cache import Cache
from histoeval.llm.chat import NoReply, Reply, Request, RequestRefused
from histoeval.llm.event_loop import run_to_end
from histoeval.llm.prompt import Message
from histoeval.llm.service import Service
from histoeval.vlm.model import Ask, CachedVlm, VlmConfig

FEWEST_FAILURES = 8
"""So many requests in a row must fail, and one for each at a time, to give an endpoint up."""

PICTURE_CHARACTERS = 3000
"""What a picture is taken to cost, in characters, until the server has counted."""

UNREACHABLE, REFUSED = "subject_unreachable", "subject_refused"


@dataclass(frozen=True)
class FreeText:
    """The form of an answer that has none."""

    schema_of_answer: dict[str, Any] = field(default_factory=dict)
    schema_text: str = "{}"


@dataclass(frozen=True)
class PictureRequest(Request):
    """A request whose conversation holds pictures."""

    pictures: int = 0
    written: int = 0

    @property
    def characters(self) -> int:
        """How long the conversation is, with a guess at what a picture costs."""
        return self.written + PICTURE_CHARACTERS * self.pictures


class EndpointVlm(CachedVlm):
    """A model that is asked over HTTP."""

    def __init__(self, choice: VlmConfig, cache: Cache, key: Secret | None) -> None:
        self._service = Service(
            choice.endpoint, choice.model, key, choice.patience, "plain", choice.concurrency
        )
        super().__init__(self._service.identity, cache, choice.manner)
        self._concurrency = choice.concurrency
        self._greeted = False
        self._answered = False
        self._failures = 0

    def greet(self) -> None:
        """See that the endpoint is there and takes the key; `EndpointError` where not."""
        run_to_end(self._greet())

    async def _greet(self) -> None:
        self._greeted = True
        async with self._service:
            await self._service.greet()

    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        told: dict[str, Reply | Problem] = {}
        run_to_end(self._ask_all(iter(asks.items()), told))
        self.usage.retries = self._service.retries
        return told

    async def _ask_all(
        self, asks: Iterator[tuple[str, Ask]], told: dict[str, Reply | Problem]
    ) -> None:
        if not self._greeted and self.gone is None:
            try:
                await self._greet()
            except EndpointError as error:
                self.gone = str(error)
        async with self._service:
            await asyncio.gather(*(self._work(asks, told) for _ in range(self._concurrency)))

    async def _work(
        self, asks: Iterator[tuple[str, Ask]], told: dict[str, Reply | Problem]
    ) -> None:
        for key, ask in asks:
            if self.gone is not None:
                told[key] = Problem(UNREACHABLE, self.gone)
                continue
            try:
                reply = await self._service.ask(self._request(ask))
            except NoReply as error:
                told[key] = self._failed(error)
                continue
            except EndpointError as error:  # a key or a model that no request can do with
                self.gone = str(error)
                told[key] = Problem(UNREACHABLE, self.gone)
                continue
            self._keep(key, ask, reply)
            self._answered, self._failures = True, 0
            told[key] = reply

    def _failed(self, error: NoReply) -> Problem:
        """The reason in words; one refusal says little of the next once others were taken."""
        refused = isinstance(error, RequestRefused)
        if not (refused and self._answered):
            self._failures += 1
        if self._failures >= max(FEWEST_FAILURES, self._concurrency):
            self.gone = (
                f"{self.name} is given up: {self._failures} requests in a row failed; "
                f"the last: {error}"
            )
        return Problem(REFUSED if refused else UNREACHABLE, str(error))

    def _request(self, ask: Ask) -> PictureRequest:
        return PictureRequest(
            messages=messages_of(ask),
            prompt=FreeText(),
            parameters=self.manner.parameters(ask.instruction.most_tokens),
            texts=(ask.text,),
            pictures=len(ask.images),
            written=len(ask.text),
        )


def messages_of(ask: Ask) -> list[Message]:
    """The conversation: pictures first, then the words; a system message where there is one."""
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_uri(image)}} for image in ask.images
    ]
    content: Any = [*parts, {"type": "text", "text": ask.text}] if parts else ask.text
    system = ask.instruction.system
    opening: list[Message] = [{"role": "system", "content": system}] if system else []
    return [*opening, {"role": "user", "content": content}]


def data_uri(image: bytes) -> str:
    """A picture as an address that holds it."""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"

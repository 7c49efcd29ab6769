"""A VLM behind an OpenAI-compatible vision endpoint, asked concurrently.

Retries, rate limits and keys are those of `histoeval.llm.service`. An endpoint that fails again
and again is given up: from then on every question gets that reason at once.
"""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from histoeval.errors import EndpointError, Problem
from histoeval.llm.access import Secret
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Message, NoReply, Reply, Request, RequestRefused
from histoeval.llm.client import run_to_end
from histoeval.llm.service import Service
from histoeval.vlm.model import Ask, CachedVlm, VlmConfig

MIN_FAILURES = 8
"""An endpoint is given up after this many failures in a row, and at least one for each slot."""

PICTURE_CHARACTERS = 3000
"""Estimated cost of a picture, in characters, until the server has counted."""

UNREACHABLE, REFUSED = "subject_unreachable", "subject_refused"


@dataclass(frozen=True)
class PictureRequest(Request):
    """A request whose conversation holds pictures."""

    estimated: int = 0

    @property
    def characters(self) -> int:
        """How long the conversation is, with an estimate for its pictures."""
        return self.estimated


class EndpointVlm(CachedVlm):
    """A model that is asked over HTTP."""

    def __init__(self, config: VlmConfig, cache: Cache, secrets: Mapping[str, Secret]) -> None:
        self._service = Service(
            config.endpoint,
            config.model,
            secrets,
            config.patience,
            "plain",
            config.concurrency,
            config.tls,
            config.log_requests,
            "model under test",
        )
        super().__init__(self._service.identity, cache, config.manner)
        self._concurrency = config.concurrency
        self._checked = self._has_answered = False
        self._failures = 0

    def ping(self) -> None:
        """Check that the endpoint is reachable and accepts the key; `EndpointError` if not."""
        run_to_end(self._ping())

    async def _ping(self) -> None:
        self._checked = True
        async with self._service:
            await self._service.ping()

    def _ask(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        before = self._service.retries
        replies = run_to_end(self._ask_all(asks))
        self.usage.retries += self._service.retries - before
        return replies

    async def _ask_all(self, asks: Mapping[str, Ask]) -> dict[str, Reply | Problem]:
        if not self._checked and self.gone is None:
            try:
                await self._ping()
            except EndpointError as error:
                self.gone = str(error)
        slots = asyncio.Semaphore(self._concurrency)

        async def settle(key: str, ask: Ask) -> Reply | Problem:
            """One question, when a slot is free."""
            async with slots:
                return await self._settle(key, ask)

        async with self._service:
            replies = await asyncio.gather(*[settle(key, ask) for key, ask in asks.items()])
        return dict(zip(asks, replies, strict=True))

    async def _settle(self, key: str, ask: Ask) -> Reply | Problem:
        if self.gone is not None:
            return Problem(UNREACHABLE, self.gone)
        try:
            reply = await self._service.ask(self._request(ask))
        except NoReply as error:
            return self._failed(error)
        except EndpointError as error:  # no other request can succeed
            self.gone = str(error)
            return Problem(UNREACHABLE, self.gone)
        self._keep(key, ask, reply)
        self._has_answered, self._failures = True, 0
        return reply

    def _failed(self, error: NoReply) -> Problem:
        """The reason; a refusal says little about the next once others were answered."""
        refused = isinstance(error, RequestRefused)
        if not (refused and self._has_answered):
            self._failures += 1
        if self._failures >= max(MIN_FAILURES, self._concurrency):
            self.gone = (
                f"{self.name} is given up: {self._failures} requests in a row failed; "
                f"the last: {error}"
            )
        return Problem(REFUSED if refused else UNREACHABLE, str(error))

    def _request(self, ask: Ask) -> PictureRequest:
        return PictureRequest(
            messages=messages_of(ask),
            schema={},
            parameters=self.manner.parameters(ask.instruction.most_tokens),
            texts=(ask.text,),
            estimated=len(ask.text) + PICTURE_CHARACTERS * len(ask.images),
        )


def messages_of(ask: Ask) -> list[Message]:
    """The conversation: a system message if there is one, then the pictures and the text."""
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_uri(image)}} for image in ask.images
    ]
    content: Any = [*parts, {"type": "text", "text": ask.text}] if parts else ask.text
    system = ask.instruction.system
    opening: list[Message] = [{"role": "system", "content": system}] if system else []
    return [*opening, {"role": "user", "content": content}]


def data_uri(image: bytes) -> str:
    """A picture as a data: address."""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(image).decode('ascii')}"

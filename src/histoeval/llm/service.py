"""A model behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, or a hosted one.

A request that fails in a way that may pass is repeated, with waits that grow and are drawn, or as
long as the server asks; one that the server refuses is not. Nothing is logged.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from time import perf_counter
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field

from histoeval.errors import EndpointError, SettingError
from histoeval.llm.api_key import Secret, discreet
from histoeval.llm.chat import NoReply, Reply, Request, RequestRefused
from histoeval.llm.client import Wire, WireError, open_wire
from histoeval.llm.completions import FORMATS, BadCompletion, body_of, complaint_in, read_reply
from histoeval.llm.http1 import Response
from histoeval.llm.rate_limit import RateLimit, wait_before
from histoeval.report import Noun

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 524, 529})
"""What a server may say today and not tomorrow."""

CHARACTERS_PER_TOKEN = 4.0
"""A guess, for the pace and for estimates, until a server has counted."""

KEY_ADVICE = (
    "give the key in the environment as HISTOEVAL_JUDGE_KEY, or name --key-env or --key-file"
)
FUTILE = {
    401: KEY_ADVICE,
    402: "the account has to be paid for first",
    404: "is --model a name that it knows, and --endpoint right: does it end in /v1?",
    405: "is --endpoint right: does it end in /v1?",
}
"""Answers that hold for every request, and what to do then."""

LONGEST_GREETING_S = 30.0
"""A server that does not even say which models it has is not there."""

Positive = Annotated[float, Field(gt=0)]


class RetryPolicy(Noun):
    """How long and how often a service is asked."""

    timeout_s: Positive = 120.0
    attempts: Annotated[int, Field(ge=1)] = 6
    longest_wait_s: Positive = 300.0
    """A server that asks for a longer wait is not waited for."""
    requests_a_minute: Positive | None = None
    tokens_a_minute: Positive | None = None


class Service:
    """One model of one endpoint."""

    def __init__(
        self,
        endpoint: str,
        model: str,
        key: Secret | None = None,
        patience: RetryPolicy | None = None,
        form: str = "auto",
        connections: int = 16,
    ) -> None:
        self.endpoint = checked_endpoint(endpoint)
        self.model = model
        self.retries = 0
        self._key = key
        self._patience = patience or RetryPolicy()
        self._pace = RateLimit(self._patience.requests_a_minute, self._patience.tokens_a_minute)
        self._forms: tuple[str, ...] = FORMATS if form == "auto" else (form,)
        self._limit = "max_tokens"
        self._connections = connections
        self._chance = random.Random()
        self._wire: Wire | None = None

    @property
    def identity(self) -> str:
        """The model and where it is."""
        return f"{self.model}@{self.endpoint}"

    async def __aenter__(self) -> Self:
        self._wire = open_wire(self.endpoint, self._connections, self._headers())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._wire is not None:
            await self._wire.close()
            self._wire = None

    async def greet(self) -> None:
        """See that somebody is there who takes the key, before work begins."""
        try:
            async with asyncio.timeout(LONGEST_GREETING_S):
                response = await self._sent("GET", "/models")
        except (WireError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            raise EndpointError(f"{self.endpoint} cannot be reached: {reason}") from error
        if response.status in (401, 403):
            raise EndpointError(
                f"{self.endpoint} refuses the key ({response.status}); {KEY_ADVICE}"
            )

    async def ask(self, request: Request) -> Reply:
        """The reply to a request, after as many attempts as it takes."""
        guess = request.characters / CHARACTERS_PER_TOKEN
        reason = ""
        for attempt in range(self._patience.attempts):
            if self._pace.limited:
                await self._pace.admit(guess)
            headers: Mapping[str, str] = {}
            began = perf_counter()
            try:
                response, form = await self._posted(request)
                if response.status == 200:
                    took = perf_counter() - began
                    return self._settled(read_reply(response, form, took), guess)
                headers = response.headers
                reason = self._reason(response, request)
            except (WireError, BadCompletion) as error:
                reason = str(error)
            except TimeoutError:
                reason = f"no answer within {self._patience.timeout_s:g} s"
            if attempt + 1 < self._patience.attempts:
                await self._wait(wait_before(attempt, headers, self._chance), reason)
        raise NoReply(f"given up after {self._patience.attempts} attempts; the last: {reason}")

    async def _posted(self, request: Request) -> tuple[Response, str]:
        """A response, and how strictly the model was held to the schema.

        A server that does not know the strictest way is asked in a simpler one, and is asked so
        from then on if that helped; a request that is wrong in itself changes nothing.
        """
        for form in self._forms:
            response = await self._posted_as(request, form)
            if response.status not in (400, 422):
                if response.status == 200 and form in self._forms:
                    self._forms = self._forms[self._forms.index(form) :]
                break
        return response, form

    async def _posted_as(self, request: Request, form: str) -> Response:
        """A response; newer servers have another name for the most tokens."""
        body = body_of(self.model, request, form, self._limit)
        response = await self._sent("POST", "/chat/completions", body)
        if response.status == 400 and "max_completion_tokens" in complaint_in(response):
            self._limit = "max_completion_tokens"
            body = body_of(self.model, request, form, self._limit)
            response = await self._sent("POST", "/chat/completions", body)
        return response

    async def _sent(self, method: str, path: str, body: bytes = b"") -> Response:
        if self._wire is None:
            raise RuntimeError("a service must be entered before it is asked")
        return await self._wire.send(method, path, body, self._patience.timeout_s)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        return headers

    def _reason(self, response: Response, request: Request) -> str:
        """Why there is no reply; raises where asking again is no use."""
        said = discreet(complaint_in(response), self._key, request.texts)
        reason = f"the server answers {response.status}" + (f": {said}" if said else "")
        if advice := self._advice(response):
            raise EndpointError(f"{self.identity}: {reason}; {advice}")
        if response.status not in PASSING:
            raise RequestRefused(reason)
        return reason

    def _advice(self, response: Response) -> str:
        """What to do where no request of this run can succeed; nothing where others may."""
        if response.status // 100 == 3:
            place = response.headers.get("location", "").partition("?")[0]
            where = place.removesuffix("/chat/completions") or "nowhere"
            return f"it sends requests elsewhere, to {where}: if you trust it, name that --endpoint"
        return FUTILE.get(response.status, "")

    async def _wait(self, seconds: float, reason: str) -> None:
        if seconds > self._patience.longest_wait_s:
            raise NoReply(f"{reason}; the server asks to wait {seconds:.0f} s, which is too long")
        self.retries += 1
        await asyncio.sleep(seconds)

    def _settled(self, reply: Reply, guess: float) -> Reply:
        """The reply; the pace learns what it really cost."""
        if reply.tokens_in is not None:
            self._pace.correct(reply.tokens_in + (reply.tokens_out or 0) - guess)
        return reply


def checked_endpoint(endpoint: str) -> str:
    """An address that can be asked and holds no secret."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingError(
            f"--endpoint {endpoint!r} is no address such as http://localhost:8000/v1"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SettingError(
            "--endpoint must be a plain address: a key in it would be written into results; "
            "give it in the environment as HISTOEVAL_JUDGE_KEY"
        )
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise SettingError(f"--endpoint {endpoint!r} is too long: leave /chat/completions out")
    return endpoint.rstrip("/")

"""A model behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, or a hosted one.

Transient failures are retried with exponential backoff and jitter, or after the time that the
server asks for; a request that the server rejects is not. Nothing is logged.
"""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field

from histoeval.errors import EndpointError, SettingError
from histoeval.llm.api_key import Secret, discreet
from histoeval.llm.cache import Cache, default_cache
from histoeval.llm.chat import NoReply, Reply, Request, RequestRefused
from histoeval.llm.client import ClientError, HttpClient, Response, Tls
from histoeval.llm.completions import FORMATS, BadCompletion, body_of, complaint_in, read_reply
from histoeval.llm.retry import TRANSIENT, RateLimit, RetryPolicy, wait_before
from histoeval.report import Noun

CHARACTERS_PER_TOKEN = 4.0
"""A guess, for rate limits and estimates, until a server has counted."""

KEY_ADVICE = (
    "give the key in the environment as HISTOEVAL_JUDGE_KEY, or name --key-env or --key-file"
)
ADVICE = {
    401: KEY_ADVICE,
    402: "the account has to be paid for first",
    404: "is --model a name that it knows, and --endpoint right: does it end in /v1?",
    405: "is --endpoint right: does it end in /v1?",
}
"""What to do about statuses that every request would get."""

PING_TIMEOUT_S = 30.0


class EndpointConfig(Noun):
    """How endpoints are reached, whoever asks them."""

    key_env: str | None = None
    key_file: Path | None = None
    tls: Tls | None = None
    """A private CA, or a certificate of the client."""
    patience: RetryPolicy = RetryPolicy()
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    cache: Path | None = None
    keep: bool = True
    """Whether replies are cached on disk."""
    device: str | None = None
    """Of a model in this process."""

    def open_cache(self) -> Cache:
        """The cache that was named, the default one, or a temporary one."""
        return Cache((self.cache or default_cache()) if self.keep else None)


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
        tls: Tls | None = None,
    ) -> None:
        self.endpoint = checked_endpoint(endpoint)
        self.model = model
        self.retries = 0
        self._key = key
        self._policy = patience or RetryPolicy()
        self._rate = RateLimit(self._policy.requests_a_minute, self._policy.tokens_a_minute)
        self._forms: tuple[str, ...] = FORMATS if form == "auto" else (form,)
        self._limit = "max_tokens"
        self._connections = connections
        self._context = None if tls is None or tls == Tls() else tls.context()
        self._random = random.Random()
        self._client: HttpClient | None = None

    @property
    def identity(self) -> str:
        """The model and where it is."""
        return f"{self.model}@{self.endpoint}"

    async def __aenter__(self) -> Self:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key.reveal()}"
        self._client = HttpClient(self.endpoint, self._connections, headers, self._context)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def ping(self) -> None:
        """Check that the endpoint is reachable and accepts the API key."""
        try:
            async with asyncio.timeout(PING_TIMEOUT_S):
                response = await self._sent("GET", "/models")
        except (ClientError, TimeoutError) as error:
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
        for attempt in range(self._policy.attempts):
            await self._rate.admit(guess)
            headers: Mapping[str, str] = {}
            began = perf_counter()
            try:
                response, form = await self._posted(request)
                if response.status == 200:
                    reply = read_reply(response, form, perf_counter() - began)
                    if reply.tokens_in is not None:
                        self._rate.correct(reply.tokens_in + (reply.tokens_out or 0) - guess)
                    return reply
                headers = response.headers
                reason = self._reason(response, request)
            except (ClientError, BadCompletion) as error:
                reason = str(error)
            except TimeoutError:
                reason = f"no answer within {self._policy.timeout_s:g} s"
            if attempt + 1 < self._policy.attempts:
                await self._wait(wait_before(attempt, headers, self._random), reason)
        raise NoReply(f"given up after {self._policy.attempts} attempts; the last: {reason}")

    async def _posted(self, request: Request) -> tuple[Response, str]:
        """A response, and the format in which the model was asked.

        A server that rejects the strictest format is asked in the next one, and from then on if
        that helped; a request that is wrong in itself changes nothing.
        """
        for form in self._forms:
            response = await self._posted_as(request, form)
            if response.status not in (400, 422):
                if response.status == 200 and form in self._forms:
                    self._forms = self._forms[self._forms.index(form) :]
                break
        return response, form

    async def _posted_as(self, request: Request, form: str) -> Response:
        """A response; newer servers have another name for `max_tokens`."""
        body = body_of(self.model, request, form, self._limit)
        response = await self._sent("POST", "/chat/completions", body)
        if response.status == 400 and "max_completion_tokens" in complaint_in(response):
            self._limit = "max_completion_tokens"
            body = body_of(self.model, request, form, self._limit)
            response = await self._sent("POST", "/chat/completions", body)
        return response

    async def _sent(self, method: str, path: str, body: bytes = b"") -> Response:
        if self._client is None:
            raise RuntimeError("a service must be entered before it is asked")
        return await self._client.send(method, path, body, self._policy.timeout_s)

    def _reason(self, response: Response, request: Request) -> str:
        """Why there is no reply; raises where a retry is useless."""
        complaint = discreet(complaint_in(response), self._key, request.texts)
        reason = f"the server answers {response.status}" + (f": {complaint}" if complaint else "")
        if advice := _advice(response):
            raise EndpointError(f"{self.identity}: {reason}; {advice}")
        if response.status not in TRANSIENT:
            raise RequestRefused(reason)
        return reason

    async def _wait(self, seconds: float, reason: str) -> None:
        if seconds > self._policy.longest_wait_s:
            raise NoReply(f"{reason}; the server asks to wait {seconds:.0f} s, which is too long")
        self.retries += 1
        await asyncio.sleep(seconds)


def _advice(response: Response) -> str:
    """What to do where no request can succeed; empty where others may."""
    if response.status // 100 == 3:
        location = response.headers.get("location", "").partition("?")[0]
        where = location.removesuffix("/chat/completions") or "nowhere"
        return f"it redirects to {where}: if you trust it, name that as --endpoint"
    return ADVICE.get(response.status, "")


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
        raise SettingError(f"--endpoint {endpoint!r} is too long: omit /chat/completions")
    return endpoint.rstrip("/")

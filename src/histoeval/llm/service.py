"""A model behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, or a hosted one.

Transient failures are retried with exponential backoff and jitter, or after the time that the
server asks for; a request that the server rejects is not. Of every request its hash is noted
(`runtime/audit.py`); its content only where a file for that is named.
"""

import asyncio
import email.utils
import json
import random
import re
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from histoeval.errors import EndpointError, SettingError
from histoeval.io.tables.records import shown
from histoeval.llm.access import JUDGE_KEY, SUBJECT_KEY, Access, RetryPolicy, Secret, Tls, discreet
from histoeval.llm.cache import Cache, default_cache
from histoeval.llm.chat import NoReply, Reply, Request, RequestRefused
from histoeval.llm.client import (
    ClientError,
    HttpClient,
    RequestLog,
    Response,
    check_proxies,
    printable,
    tls_context,
)
from histoeval.llm.replies import Unreadable, unique_keys
from histoeval.llm.usage import CHARACTERS_PER_TOKEN, LOOPBACK
from histoeval.runtime.audit import note_sent

# statuses that are worth a retry
TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 524, 529})
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0  # waits double from the first to the longest, unless the server names one


class RateLimit:
    """A rate limit of requests. Tokens beyond the estimate of a reply delay the next requests."""

    def __init__(
        self,
        requests_a_minute: float | None = None,
        tokens_a_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = requests_a_minute
        self._tokens = tokens_a_minute
        self._clock = clock
        self._request_at = self._token_at = clock()

    def reserve(self, tokens: float) -> float:
        """Take the next slot for a request of N tokens; return the seconds until then."""
        now = self._clock()
        self._request_at = max(now, self._request_at)
        self._token_at = max(now, self._token_at)
        start = max(self._request_at, self._token_at)
        if self._requests:
            self._request_at = start + 60 / self._requests
        self.correct(tokens)
        return start - now

    def correct(self, tokens: float) -> None:
        if self._tokens:
            self._token_at += tokens * 60 / self._tokens


def wait_before(retry: int, headers: Mapping[str, str], chance: random.Random) -> float:
    """Return the wait that the server asks for, plus jitter, or else an exponential backoff."""
    requested_wait = retry_after(headers)
    if requested_wait is not None:
        return requested_wait * (1 + 0.1 * chance.random())
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**retry)
    return longest * (0.5 + 0.5 * chance.random())


def retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
        return max(0.0, date.timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or none that there can be
        return None


FORMATS = ("json_schema", "json_object", "plain")  # enforced by servers; the strictest first

KEY_ADVICE = (
    f"give the key in the environment as {JUDGE_KEY} (for generate, trust and experiment: "
    f"{SUBJECT_KEY}), or name it with --key-env, --key-file or --header"
)
# advice on statuses that every request would get
ADVICE = {
    401: KEY_ADVICE,
    402: "the account has to be paid for first",
    404: "is --model a name that it knows, and --endpoint right: does it end in /v1?",
    405: "is --endpoint right: does it end in /v1?",
}

PING_TIMEOUT_S = 30.0

# names of parameters in an address whose values must not be on a command line
_SECRET = re.compile("key|token|secret|sig|passw|auth|code|credential", re.IGNORECASE)


class EndpointConfig(Access):
    """Settings of requests to endpoints, shared by judges and the model under test."""

    patience: RetryPolicy = RetryPolicy()
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    cache: Path | None = None
    keep: bool = True  # True to cache replies on disk
    log_requests: Path | None = None  # every request is appended, without its headers
    device: str | None = None  # of a model in this process

    def open_cache(self) -> Cache:
        return Cache((self.cache or default_cache()) if self.keep else None)


class Service:
    def __init__(
        self,
        endpoint: str,
        model: str,
        secrets: Mapping[str, Secret] | None = None,
        patience: RetryPolicy | None = None,
        form: str = "auto",
        connections: int = 16,
        tls: Tls | None = None,
        log: Path | None = None,
        purpose: str = "chat",
    ) -> None:
        self.endpoint, self._query = checked_endpoint(endpoint)
        check_proxies()
        self.model = model
        self.retries = 0
        self._secrets = dict(secrets or {})
        self._policy = patience or RetryPolicy()
        self._rate = RateLimit(self._policy.requests_a_minute, self._policy.tokens_a_minute)
        self._forms: tuple[str, ...] = FORMATS if form == "auto" else (form,)
        self._limit = "max_tokens"
        self._connections = connections
        self._context = tls_context(self.endpoint, tls)
        self._log = None if log is None else RequestLog(log)
        self._purpose = purpose
        self._random = random.Random()
        self._client: HttpClient | None = None

    @property
    def identity(self) -> str:
        return f"{self.model}@{self.endpoint}"

    async def __aenter__(self) -> Self:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        headers |= {name: secret.reveal() for name, secret in self._secrets.items()}
        self._client = HttpClient(
            self.endpoint, self._connections, headers, self._context, self._query
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(PING_TIMEOUT_S):
                response = await self._send("GET", "/models")
        except (ClientError, TimeoutError) as error:
            reason = str(error) or "no answer in time"
            raise EndpointError(f"{self.endpoint} cannot be reached: {reason}") from error
        if response.status in (401, 403):
            raise EndpointError(
                f"{self.endpoint} refuses the key ({response.status}); {KEY_ADVICE}"
            )

    async def ask(self, request: Request) -> Reply:
        guess = request.characters / CHARACTERS_PER_TOKEN
        reason = ""
        for attempt in range(self._policy.attempts):
            await asyncio.sleep(self._rate.reserve(guess))
            headers: Mapping[str, str] = {}
            start = perf_counter()
            try:
                response, form = await self._post(request)
                if response.status == 200:
                    reply = read_reply(response, form, perf_counter() - start)
                    if reply.tokens_in is not None:
                        self._rate.correct(reply.tokens_in + (reply.tokens_out or 0) - guess)
                    return reply
                headers = response.headers
                reason = self._reason(response, request)
            except ClientError as error:
                reason = str(error)
            except TimeoutError:
                reason = f"no answer within {self._policy.timeout_s:g} s"
            if attempt + 1 < self._policy.attempts:
                wait = wait_before(attempt, headers, self._random)
                if wait > self._policy.longest_wait_s:
                    raise NoReply(
                        f"{reason}; the server asks to wait {wait:.0f} s, which is too long"
                    )
                self.retries += 1
                await asyncio.sleep(wait)
        raise NoReply(f"given up after {self._policy.attempts} attempts; the last: {reason}")

    async def _post(self, request: Request) -> tuple[Response, str]:
        """Post a request; return the response and the format of the question.

        A server that rejects the strictest format is asked in the next one, and from then on if
        that helped; a request that is wrong in itself changes nothing. Newer servers have another
        name for `max_tokens`.
        """
        path, newer = "/chat/completions", "max_completion_tokens"
        for form in self._forms:
            body = body_of(self.model, request, form, self._limit)
            response = await self._send("POST", path, body)
            if response.status == 400 and newer in complaint_in(response):
                self._limit = newer
                body = body_of(self.model, request, form, newer)
                response = await self._send("POST", path, body)
            if response.status not in (400, 422):
                if response.status == 200 and form in self._forms:
                    self._forms = self._forms[self._forms.index(form) :]
                break
        return response, form

    async def _send(self, method: str, path: str, body: bytes = b"") -> Response:
        if self._client is None:
            raise RuntimeError("a service must be entered before it is asked")
        url = f"{self.endpoint}{path}"
        if body:
            note_sent(url, self.model, self._purpose, body)
        if self._log is not None and body:
            self._log.add(url, body, self.model, self._purpose)
        return await self._client.send(method, path, body, self._policy.timeout_s)

    def _reason(self, response: Response, request: Request) -> str:
        """Return the reason for a missing reply; raise where a retry is useless."""
        private = [secret.reveal() for secret in self._secrets.values()]
        private += [value for _, value in parse_qsl(self._query)]
        words = {word for value in private for word in (value, value.split()[-1]) if len(word) > 3}
        complaint = discreet(complaint_in(response), words, request.texts)
        reason = f"the server answers {response.status}" + (f": {complaint}" if complaint else "")
        advice = ADVICE.get(response.status)
        if response.status // 100 == 3:
            location = printable(response.headers.get("location", "").partition("?")[0])
            target = location.removesuffix("/chat/completions") or "nowhere"
            advice = f"it redirects to {target}: if you trust it, name that as --endpoint"
        if advice:
            raise EndpointError(f"{self.identity}: {reason}; {advice}")
        if response.status not in TRANSIENT:
            raise RequestRefused(reason)
        return reason


def checked_endpoint(endpoint: str) -> tuple[str, str]:
    """Return address and query (which is never written); refuse an address with a secret."""
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        keys = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError:  # of the port, or an IPv6 address
        usable = None
    if not usable or not endpoint.isprintable() or " " in endpoint:
        raise SettingError(
            f"--endpoint {endpoint.partition('?')[0].rpartition('@')[2]!r} is no address such as "
            "http://localhost:8000/v1"
        )
    if parts.username or parts.password or any(map(_SECRET.search, keys)):
        raise SettingError(
            "--endpoint must not hold a key, which others could see in the list of processes: "
            f"{KEY_ADVICE}"
        )
    plain = endpoint.partition("#")[0].partition("?")[0].rstrip("/")
    if plain.endswith("/chat/completions"):
        raise SettingError(f"--endpoint {plain!r} is too long: omit /chat/completions")
    host = parts.hostname or ""
    is_local = host in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None
    if parts.scheme == "http" and not is_local:
        warnings.warn(
            f"{plain} is not encrypted: reports, and a key if there is one, can be read on their "
            "way; use https:// where the server has it",
            stacklevel=3,
        )
    return plain, parts.query


def body_of(model: str, request: Request, form: str, limit: str) -> bytes:
    """A request as JSON; `limit` is the server's name for `max_tokens`. Null fields are omitted."""
    parameters = json.loads(request.parameters)
    body: dict[str, Any] = {"messages": list(request.messages), "model": model}
    body |= {limit: parameters.pop("max_tokens"), **parameters}
    if form == "json_schema":
        schema = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": form, "json_schema": schema}
    elif form == "json_object":
        body["response_format"] = {"type": form}
    return json.dumps({name: value for name, value in body.items() if value is not None}).encode()


def read_reply(response: Response, form: str, seconds: float | None = None) -> Reply:
    """Read a chat completion; the `ClientError` for anything else does not quote it."""
    kind = response.headers.get("content-type", "")
    content = _streamed(response.body) if "event-stream" in kind else _object(response.body)
    try:
        choice = content["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise ClientError("the server's answer holds no message") from error
    if text is not None and not isinstance(text, str):
        raise ClientError("the server's message is not a text")
    finish = choice.get("finish_reason")
    return Reply(
        text=shown(text or ""),
        finish=shown(finish) if isinstance(finish, str) else None,
        tokens_in=_count(content.get("usage"), "prompt_tokens"),
        tokens_out=_count(content.get("usage"), "completion_tokens"),
        constrained=form == "json_schema",
        seconds=seconds,
    )


def complaint_in(response: Response) -> str:
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        return ""
    reason: Any = ""
    for key in ("error", "message", "detail"):
        if isinstance(content, dict) and key in content:
            content = reason = content[key]
    return shown(reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False))


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body, object_pairs_hook=unique_keys)
    except Unreadable as error:
        raise ClientError(f"in the server's answer {error}") from error
    except (ValueError, RecursionError) as error:
        raise ClientError("the server's answer is not JSON") from error
    if not isinstance(content, dict):
        raise ClientError("the server's answer is no JSON object")
    return content


def _streamed(body: bytes) -> dict[str, Any]:
    text = ""
    usage = finish = None
    for line in body.decode("utf-8", "replace").split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            finish = finish or "stop"
            break
        event = _object(data.encode()) if data else {}
        usage = event.get("usage") or usage
        if not event.get("choices"):
            continue
        try:
            choice = event["choices"][0]
            text += str((choice.get("delta") or {}).get("content") or "")
            finish = choice.get("finish_reason") or finish
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ClientError("an event of the server's stream holds no message") from error
    if finish is None:
        raise ClientError("the server's stream was cut off")
    choices = [{"message": {"content": text}, "finish_reason": finish}]
    return {"choices": choices, "usage": usage}


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 2**53 else None

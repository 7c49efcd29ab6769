"""Options of a server that is sent requests: the same for every verb that sends any."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError

from histoeval.cli.options.bundle import option
from histoeval.errors import SettingError

REQUESTS = "Requests"
TLS = "TLS"

CacheOption = Annotated[
    Path | None, option("Cache file for replies; ~/.cache/histoeval/judge.sqlite when omitted.")
]
TemperatureOption = Annotated[float, option("Sampling temperature.", REQUESTS, min=0)]


@dataclass(frozen=True)
class RequestOptions:
    """What else each request contains, and how many are sent at a time."""

    body: Annotated[
        str | None,
        option(
            "Extra JSON for the request body; null removes a field, as in "
            '\'{"seed": null, "reasoning_effort": "low"}\'.',
            REQUESTS,
            metavar="JSON",
        ),
    ] = None
    concurrency: Annotated[int, option("Requests at a time.", REQUESTS, min=1, max=1024)] = 16

    def extra(self) -> dict[str, Any]:
        """The object of --body."""
        try:
            body = json.loads(self.body or "{}")
        except ValueError as error:
            raise SettingError(f"--body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise SettingError("--body must be a JSON object")
        return body


@dataclass(frozen=True)
class RateOptions:
    """What a server allows in a minute."""

    rpm: Annotated[
        float | None, option("Maximum requests per minute.", REQUESTS, name="--rpm", min=0.01)
    ] = None
    tpm: Annotated[
        float | None, option("Maximum tokens per minute.", REQUESTS, name="--tpm", min=1)
    ] = None


@dataclass(frozen=True)
class RetryOptions:
    """How long to wait for an answer, and how often to try."""

    timeout: Annotated[float, option("Seconds to wait for an answer.", REQUESTS, min=0.01)] = 120.0
    attempts: Annotated[int, option("Attempts before a request fails.", REQUESTS, min=1)] = 6

    def policy(self, rates: RateOptions) -> dict[str, Any]:
        """The fields of a RetryPolicy."""
        return {
            "timeout_s": self.timeout,
            "attempts": self.attempts,
            "requests_a_minute": rates.rpm,
            "tokens_a_minute": rates.tpm,
        }


@dataclass(frozen=True)
class KeyOptions:
    """Where the API key is."""

    key_env: Annotated[
        str | None,
        option(
            "Environment variable with the API key; HISTOEVAL_JUDGE_KEY when omitted.", REQUESTS
        ),
    ] = None
    key_file: Annotated[Path | None, option("File with the API key.", REQUESTS)] = None


@dataclass(frozen=True)
class TlsOptions:
    """PEM files; the fields of `histoeval.llm.client.Tls`."""

    ca: Annotated[
        Path | None,
        option("PEM file of private certificate authorities, trusted beside the system's.", TLS),
    ] = None
    client_cert: Annotated[
        Path | None,
        option(
            "PEM file with the client certificate (mTLS), and its key unless --client-key "
            "names it.",
            TLS,
        ),
    ] = None
    client_key: Annotated[Path | None, option("PEM file with the key of --client-cert.", TLS)] = (
        None
    )


@dataclass(frozen=True)
class CacheOptions:
    """Whether replies are cached, and where."""

    cache: CacheOption = None
    no_cache: Annotated[bool, option("Do not cache replies.", name="--no-cache")] = False


@contextmanager
def one_complaint() -> Iterator[None]:
    """A value that is not allowed becomes one sentence instead of a page of validation."""
    try:
        yield
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise SettingError(f"{where}: {fault['msg']}") from error

"""Options of a server that is sent requests: the same for every verb that sends any."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ValidationError

from histoeval.cli.options.bundle import option
from histoeval.errors import SettingError, explain_validation

REQUESTS = "Requests"
ACCESS = "Keys and certificates"

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
    log_requests: Annotated[
        Path | None,
        option("File to append every request to, with the reports and without keys.", REQUESTS),
    ] = None

    def extra(self) -> dict[str, Any]:
        """The object of --body."""
        try:
            body = json.loads(self.body or "{}")
        except (ValueError, RecursionError) as error:
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
class TlsOptions:
    """PEM files; the fields of `histoeval.llm.access.Tls`."""

    ca: Annotated[
        Path | None,
        option("PEM file of private certificate authorities, trusted beside the system's.", ACCESS),
    ] = None
    client_cert: Annotated[
        Path | None,
        option(
            "PEM file with the client certificate (mTLS), and its key unless --client-key "
            "names it.",
            ACCESS,
        ),
    ] = None
    client_key: Annotated[
        Path | None, option("PEM file with the key of --client-cert.", ACCESS)
    ] = None


@dataclass(frozen=True)
class AccessOptions:
    """What lets requests into each endpoint, in their order."""

    key_env: Annotated[
        list[str] | None,
        option(
            "Environment variable with the API key; HISTOEVAL_JUDGE_KEY when omitted. With "
            "several endpoints one for each, in order; 'none' for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None
    key_file: Annotated[
        list[Path] | None,
        option("File with the API key; one for each endpoint, or 'none'.", ACCESS),
    ] = None
    header: Annotated[
        list[str] | None,
        option(
            "Further header, as in api-key=env:VARIABLE or api-key=file:PATH; 2:api-key=... is "
            "for the second endpoint.",
            ACCESS,
            metavar="NAME=env:VARIABLE",
        ),
    ] = None
    tls: TlsOptions = TlsOptions()

    def accesses(self, endpoints: int) -> list[dict[str, Any]]:
        """The fields of an Access for each endpoint, or of one for all."""
        headers = [_numbered(each, endpoints) for each in self.header or ()]
        numbered = any(place for place, _, _ in headers)
        keys = max(len(self.key_env or ()), len(self.key_file or ()))
        number = endpoints if numbered or keys > 1 else 1
        if number > 1 and any(not place for place, _, _ in headers):
            raise SettingError(
                "with several endpoints say which one a header is for, as in "
                "--header 2:api-key=env:VARIABLE for the second"
            )
        return [
            {
                "key_env": _place(self.key_env, at, number),
                "key_file": _place(self.key_file, at, number),
                "headers": {name: value for place, name, value in headers if place in (0, at + 1)},
                "tls": vars(self.tls),
            }
            for at in range(number)
        ]

    def only(self) -> dict[str, Any]:
        """The fields of the Access of a single endpoint."""
        (access,) = self.accesses(1)
        return access


def _place(given: Sequence[Any] | None, at: int, number: int) -> Any:
    """The variable or file of an endpoint; None where none is named at all."""
    if not given:
        return None
    if len(given) != number:
        raise SettingError(
            f"{len(given)} keys for {number} endpoints: give --key-env or --key-file once for "
            "each --endpoint, in the same order; 'none' where none is needed"
        )
    return given[at]


def _numbered(text: str, endpoints: int) -> tuple[int, str, str]:
    """The number of the endpoint that a header is for (0: not given), its name and its value."""
    name, found, value = text.partition("=")
    place, numbered, rest = name.partition(":")
    number = int(place) if numbered and place.isdecimal() and place.isascii() else 0
    if not found or (numbered and not 1 <= number <= endpoints):
        raise SettingError(
            f"--header {place} is not understood: write {place}=env:VARIABLE or "
            f"{place}=file:PATH, and 2:{place}=... for the second of several endpoints"
        )
    return number, rest if numbered else name, value


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
        raise SettingError(explain_validation(error, "")) from error

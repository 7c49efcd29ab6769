"""How servers are asked: the settings of every verb that sends requests."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from histoeval.errors import SettingError
from histoeval.llm.access import Tls
from histoeval.report import Noun
from histoeval.settings import ACCESS, REQUESTS, Option

CacheFile = Annotated[
    Path | None, Option("Cache file for replies; ~/.cache/histoeval/judge.sqlite when omitted.")
]
Temperature = Annotated[
    float, Option("Sampling temperature.", REQUESTS, min=0, python="of the sampling.")
]


Positive = Annotated[float, Field(gt=0)]
_RATE = float | None


class RetryPolicy(Noun):
    """Timeouts, retries and rate limits of an endpoint."""

    timeout_s: Annotated[
        Positive, Option("Seconds to wait for an answer.", REQUESTS, name="--timeout", min=0.01)
    ] = 120.0
    attempts: Annotated[
        int, Field(ge=1), Option("Attempts before a request fails.", REQUESTS, min=1)
    ] = 6
    longest_wait_s: Positive = 300.0
    """A request whose server asks for a longer wait is given up."""
    requests_a_minute: Annotated[
        Positive | None,
        Option("Maximum requests per minute.", REQUESTS, name="--rpm", shell=_RATE, min=0.01),
    ] = None
    tokens_a_minute: Annotated[
        Positive | None,
        Option("Maximum tokens per minute.", REQUESTS, name="--tpm", shell=_RATE, min=1),
    ] = None


def _json_object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingError(f"--body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise SettingError("--body must be a JSON object")
    return body


@dataclass(frozen=True)
class AccessOptions:
    """What lets requests into each endpoint, in their order."""

    key_env: Annotated[
        list[str] | None,
        Option(
            "Environment variable with the API key; HISTOEVAL_JUDGE_KEY when omitted. With "
            "several endpoints one for each, in order; 'none' for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None
    key_file: Annotated[
        list[Path] | None,
        Option("File with the API key; one for each endpoint, or 'none'.", ACCESS),
    ] = None
    header: Annotated[
        list[str] | None,
        Option(
            "Further header, as in api-key=env:VARIABLE or api-key=file:PATH; 2:api-key=... is "
            "for the second endpoint.",
            ACCESS,
            metavar="NAME=env:VARIABLE",
        ),
    ] = None
    tls: Tls = field(default_factory=Tls)

    def accesses(self, endpoints: int) -> list[dict[str, Any]]:
        """The fields of an Access for each endpoint, or of one for all."""
        headers = [_numbered_header(text, endpoints) for text in self.header or ()]
        is_numbered = any(number for number, _, _ in headers)
        keys = max(len(self.key_env or ()), len(self.key_file or ()))
        count = endpoints if is_numbered or keys > 1 else 1
        if count > 1 and any(not number for number, _, _ in headers):
            raise SettingError(
                "with several endpoints say which one a header is for, as in "
                "--header 2:api-key=env:VARIABLE for the second"
            )
        return [
            {
                "key_env": _item(self.key_env, index, count),
                "key_file": _item(self.key_file, index, count),
                "headers": {
                    name: value for number, name, value in headers if number in (0, index + 1)
                },
                "tls": self.tls,
            }
            for index in range(count)
        ]


@dataclass(frozen=True)
class VlmAccess(AccessOptions):
    """What lets requests into the endpoint of the model under test."""

    key_env: Annotated[
        list[str] | None,
        Option(
            "Environment variable with the API key; HISTOEVAL_SUBJECT_KEY when omitted; 'none' "
            "for no key.",
            ACCESS,
            metavar="VARIABLE",
        ),
    ] = None

    def only(self) -> dict[str, Any]:
        """The fields of the Access of a single endpoint."""
        (access,) = self.accesses(1)
        return access


def _item(given: Sequence[Any] | None, index: int, count: int) -> Any:
    """The variable or file of an endpoint; None where none is named at all."""
    if not given:
        return None
    if len(given) != count:
        raise SettingError(
            f"{len(given)} keys for {count} endpoints: give --key-env or --key-file once for "
            "each --endpoint, in the same order; 'none' where none is needed"
        )
    return given[index]


def _numbered_header(text: str, endpoints: int) -> tuple[int, str, str]:
    """The number of the endpoint that a header is for (0: not given), its name and its value."""
    name, equals, value = text.partition("=")
    prefix, colon, rest = name.partition(":")
    number = int(prefix) if colon and prefix.isdecimal() and prefix.isascii() else 0
    if not equals or (colon and not 1 <= number <= endpoints):
        raise SettingError(
            f"--header {prefix} is not understood: write {prefix}=env:VARIABLE or "
            f"{prefix}=file:PATH, and 2:{prefix}=... for the second of several endpoints"
        )
    return number, rest if colon else name, value


@dataclass(frozen=True)
class RequestOptions:
    """What else each request contains, how many are sent at a time, and what is kept."""

    body: Annotated[
        Mapping[str, Any],
        Option(
            "Extra JSON for the request body; null removes a field, as in "
            '\'{"seed": null, "reasoning_effort": "low"}\'.',
            REQUESTS,
            shell=str | None,
            read=_json_object,
            metavar="JSON",
        ),
    ] = field(default_factory=dict)
    concurrency: Annotated[int, Option("Requests at a time.", REQUESTS, min=1, max=1024)] = 16
    log_requests: Annotated[
        Path | None,
        Option("File to append every request to, with the reports and without keys.", REQUESTS),
    ] = None
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    cache: CacheFile = None
    keep: Annotated[bool, Option("Do not cache replies.", name="--no-cache")] = True

    def fields(self) -> dict[str, Any]:
        """The fields of an EndpointConfig."""
        return {name: value for name, value in vars(self).items() if name in _ENDPOINT_FIELDS}


_ENDPOINT_FIELDS = ("concurrency", "log_requests", "patience", "cache", "keep")

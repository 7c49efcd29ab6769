"""Options of a server that is sent requests: the same for every verb that sends any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from histoeval.errors import SettingError

REQUESTS = "Requests"

CacheOption = Annotated[
    Path | None,
    typer.Option(help="Cache file for replies; ~/.cache/histoeval/judge.sqlite when omitted."),
]
TemperatureOption = Annotated[
    float, typer.Option(min=0, help="Sampling temperature.", rich_help_panel=REQUESTS)
]


@dataclass(frozen=True)
class RequestOptions:
    """What else each request contains, and how many are sent at a time."""

    body: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="Extra JSON for the request body; null removes a field, as in "
            '\'{"seed": null, "reasoning_effort": "low"}\'.',
            rich_help_panel=REQUESTS,
        ),
    ] = None
    concurrency: Annotated[
        int, typer.Option(min=1, max=1024, help="Requests at a time.", rich_help_panel=REQUESTS)
    ] = 16

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
        float | None,
        typer.Option(
            "--rpm", min=0.01, help="Maximum requests per minute.", rich_help_panel=REQUESTS
        ),
    ] = None
    tpm: Annotated[
        float | None,
        typer.Option("--tpm", min=1, help="Maximum tokens per minute.", rich_help_panel=REQUESTS),
    ] = None


@dataclass(frozen=True)
class RetryOptions:
    """How long to wait for an answer, and how often to try."""

    timeout: Annotated[
        float,
        typer.Option(min=0.01, help="Seconds to wait for an answer.", rich_help_panel=REQUESTS),
    ] = 120.0
    attempts: Annotated[
        int, typer.Option(min=1, help="Attempts before a request fails.", rich_help_panel=REQUESTS)
    ] = 6

    def policy(self, rates: RateOptions) -> dict[str, Any]:
        """The fields of a RetryPolicy."""
        return {
            "timeout_s": self.timeout,
            "attempts": self.attempts,
            "requests_a_minute": rates.rpm,
            "tokens_a_minute": rates.tpm,
        }


@dataclass(frozen=True)
class CacheOptions:
    """Whether replies are cached, and where."""

    cache: CacheOption = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not cache replies.")] = False


@contextmanager
def one_complaint() -> Iterator[None]:
    """A value that is not allowed becomes one sentence instead of a page of validation."""
    try:
        yield
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise SettingError(f"{where}: {fault['msg']}") from error

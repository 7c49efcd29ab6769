"""Options of a server that is asked, whoever asks it: each stands here once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.errors import SettingError

ASKING = "How they are asked"

CacheOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps replies; ~/.cache/histoeval/judge.sqlite when left out.",
        show_default=False,
    ),
]


@bundle
class Load:
    """What else goes into each request, and how many go at a time."""

    body: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="What else goes into each request; null takes out what is there, as in "
            '\'{"seed": null, "reasoning_effort": "low"}\'.',
            rich_help_panel=ASKING,
        ),
    ] = None
    concurrency: Annotated[
        int, typer.Option(min=1, max=1024, help="Requests at a time.", rich_help_panel=ASKING)
    ] = 16

    def more(self) -> dict[str, Any]:
        """The object that --body holds."""
        try:
            body = json.loads(self.body or "{}")
        except ValueError as error:
            raise SettingError(f"--body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise SettingError("--body must be a JSON object")
        return body


@bundle
class Rates:
    """What a server allows in a minute."""

    rpm: Annotated[
        float | None,
        typer.Option("--rpm", min=0.01, help="Most requests a minute.", rich_help_panel=ASKING),
    ] = None
    tpm: Annotated[
        float | None,
        typer.Option("--tpm", min=1, help="Most tokens a minute.", rich_help_panel=ASKING),
    ] = None


@bundle
class TimeoutOptions:
    """How long an answer is waited for, and how often."""

    timeout: Annotated[
        float,
        typer.Option(min=0.01, help="Seconds to wait for an answer.", rich_help_panel=ASKING),
    ] = 120.0
    attempts: Annotated[
        int,
        typer.Option(min=1, help="Tries before a request is given up.", rich_help_panel=ASKING),
    ] = 6

    def patience(self, rates: Rates) -> dict[str, Any]:
        """As the asking of servers takes it."""
        return {
            "timeout_s": self.timeout,
            "attempts": self.attempts,
            "requests_a_minute": rates.rpm,
            "tokens_a_minute": rates.tpm,
        }


@bundle
class Replies:
    """Whether replies are kept, and where."""

    cache: CacheOption = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep no replies.")] = False


@contextmanager
def faults_told() -> Iterator[None]:
    """A value that cannot be, as one sentence in place of a page of validation."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise SettingError(f"{where}: {fault['msg']}") from error

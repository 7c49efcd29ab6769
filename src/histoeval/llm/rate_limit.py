"""How fast a service may be asked: so many requests and tokens a minute, evenly spread."""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
"""Waits double from the first to the longest, unless the server says how long."""


class RateLimit:
    """Lets requests go at a rate. What one costs more than was thought, the next ones wait for."""

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

    @property
    def limited(self) -> bool:
        """Whether there is anything to wait for."""
        return bool(self._requests or self._tokens)

    def reserve(self, tokens: float) -> float:
        """Take the next place for a request of so many tokens; how many seconds it is away."""
        now = self._clock()
        self._request_at = max(now, self._request_at)
        self._token_at = max(now, self._token_at)
        at = max(
            self._request_at if self._requests else now, self._token_at if self._tokens else now
        )
        if self._requests:
            self._request_at = at + 60 / self._requests
        self.correct(tokens)
        return at - now

    def correct(self, tokens: float) -> None:
        """Count so many tokens more, or fewer, than were reserved."""
        if self._tokens:
            self._token_at += tokens * 60 / self._tokens

    async def admit(self, tokens: float) -> None:
        """Wait for the next place."""
        if (wait := self.reserve(tokens)) > 0:
            await asyncio.sleep(wait)


def wait_before(retry: int, headers: Mapping[str, str], chance: random.Random) -> float:
    """Seconds to wait before a retry, counted from 0: what the server asks for, or a drawn number.

    What the server asks for is kept to, and a little more, so that not all come back at once.
    """
    asked = retry_after(headers)
    if asked is not None:
        return asked * (1 + 0.1 * chance.random())
    most = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**retry)
    return most * (0.5 + 0.5 * chance.random())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, in either form of the header."""
    said = headers.get("retry-after", "").strip()
    if said.replace(".", "", 1).isdigit():
        return float(said)
    parsed = email.utils.parsedate_tz(said) if said else None
    if parsed is None:
        return None
    return max(0.0, email.utils.mktime_tz(parsed) - datetime.now(UTC).timestamp())

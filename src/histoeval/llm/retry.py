"""What is retried, when and how often; and rate limits (requests and tokens a minute)."""

import asyncio
import email.utils
import random
import time
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from histoeval.report import Noun

TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 524, 529})
"""Statuses that are worth a retry."""

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 60.0
"""Waits double from the first to the longest, unless the server names one."""


Positive = Annotated[float, Field(gt=0)]


class RetryPolicy(Noun):
    """Timeouts, retries and rate limits of an endpoint."""

    timeout_s: Positive = 120.0
    attempts: Annotated[int, Field(ge=1)] = 6
    longest_wait_s: Positive = 300.0
    """A request whose server asks for a longer wait is given up."""
    requests_a_minute: Positive | None = None
    tokens_a_minute: Positive | None = None


class RateLimit:
    """Spaces requests. Tokens that a reply cost beyond the estimate delay the next requests."""

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
        """Take the next slot for a request of N tokens; in how many seconds it is."""
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
        """Count N tokens more, or fewer, than were reserved."""
        if self._tokens:
            self._token_at += tokens * 60 / self._tokens

    async def admit(self, tokens: float) -> None:
        """Wait for the next slot."""
        if (wait := self.reserve(tokens)) > 0:
            await asyncio.sleep(wait)


def wait_before(retry: int, headers: Mapping[str, str], chance: random.Random) -> float:
    """Seconds before a retry, counted from 0: what the server asks for, or backoff with jitter.

    A little is added to what the server asks for, so that not all requests return at once.
    """
    asked_for = retry_after(headers)
    if asked_for is not None:
        return asked_for * (1 + 0.1 * chance.random())
    longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**retry)
    return longest * (0.5 + 0.5 * chance.random())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, in either form of the header."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.replace(".", "", 1).isdigit():
        return float(value)
    try:
        when = email.utils.parsedate_to_datetime(value)
        return max(0.0, when.timestamp() - time.time())
    except (ValueError, OverflowError):  # no date, or none that there can be
        return None

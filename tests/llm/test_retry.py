"""Requests go no faster than they may, and waits grow, vary and follow the server."""

from __future__ import annotations

import email.utils
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.llm import service
from histoeval.llm.service import RateLimit, retry_after, wait_before


@given(
    st.integers(1, 600), st.lists(st.floats(0, 3), min_size=1, max_size=60), st.integers(1, 3000)
)
def test_no_minute_exceeds_its_limits(a_minute: int, pauses: list[float], tokens: int) -> None:
    now, allowed = 0.0, 6000
    limits = RateLimit(a_minute, allowed, lambda: now)
    starts: list[float] = []
    for pause in pauses:
        now += pause
        starts.append(now + limits.reserve(tokens))
    for start in starts:
        within = [other for other in starts if start <= other < start + 60 - 1e-6]
        assert len(within) <= a_minute
        assert (len(within) - 1) * tokens <= allowed


def test_without_limits_nobody_waits() -> None:
    limits = RateLimit(clock=lambda: 0.0)
    assert [limits.reserve(10**9) for _ in range(1000)] == [0.0] * 1000


def test_what_a_request_cost_more_than_was_thought_is_waited_for() -> None:
    limits = RateLimit(None, 600, lambda: 0.0)
    assert limits.reserve(10) == 0
    limits.correct(50)
    assert limits.reserve(10) == pytest.approx(6.0)


def test_waits_grow_to_a_minute_and_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT_S", 0.5)
    chance = random.Random(0)
    drawn = [[wait_before(n, {}, chance) for _ in range(50)] for n in range(12)]
    for n, waits in enumerate(drawn):
        most = min(60.0, 0.5 * 2**n)
        assert most / 2 <= min(waits) < max(waits) <= most
        assert len(set(waits)) > 40


@pytest.mark.parametrize("asked", ["7", "0", "12.5"])
def test_a_server_that_says_how_long_is_waited_for_that_long(asked: str) -> None:
    wait = wait_before(0, {"retry-after": asked}, random.Random(1))
    assert float(asked) <= wait <= 1.1 * float(asked)


def test_a_date_is_understood_too_and_what_is_neither_is_not() -> None:
    then = datetime.now(UTC) + timedelta(seconds=30)
    found = retry_after({"retry-after": email.utils.format_datetime(then, usegmt=True)})
    assert found == pytest.approx(30, abs=2)
    for wrong in ("soon", "\u00b2", "\u0663", "Wed, 21 Oct 99999999999 07:28:00 GMT", "-1", "."):
        assert retry_after({"retry-after": wrong}) is None
    assert retry_after({"retry-after": "9" * 400}) == float("inf")
    assert retry_after({}) is None
    past = datetime.now(UTC) - timedelta(hours=1)
    assert retry_after({"retry-after": email.utils.format_datetime(past, usegmt=True)}) == 0

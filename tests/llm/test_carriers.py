"""What carries requests, and who is greeted before the first of them."""

from __future__ import annotations

import asyncio

import pytest

from histoeval.errors import EndpointError
from histoeval.llm import service
from histoeval.llm.api_key import Secret
from histoeval.llm.client import HttpxWire, PlainWire, open_wire
from histoeval.llm.http1 import Response
from histoeval.llm.service import Service
from tests.llm.test_service import GOOD, PROMPT, TEXTS, ask, at_first
from tests.support.fake_server import Loopback, Wrong


def test_httpx_carries_the_same_requests_and_fails_in_the_same_words(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "open_wire", HttpxWire)
    (reply,) = ask(loopback, key=Secret("sk-1"))
    assert GOOD in reply.text
    assert loopback.calls[0].headers["authorization"] == "Bearer sk-1"
    assert loopback.calls[0].body["messages"] == PROMPT.messages(*TEXTS)
    loopback.fault = at_first(Wrong(cut=True), Wrong(status=503), Wrong(delay=3))
    assert GOOD in ask(loopback, timeout_s=0.5)[0].text
    assert len(loopback.calls) == 5


def test_tls_and_proxies_are_left_to_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_wire("http://localhost:8000/v1", 4, {}), PlainWire)
    assert isinstance(open_wire("https://api.example.com/v1", 4, {}), HttpxWire)
    monkeypatch.setenv("http_proxy", "http://proxy.example.com:3128")
    monkeypatch.setenv("no_proxy", "localhost")
    assert isinstance(open_wire("http://models.example.com/v1", 4, {}), HttpxWire)
    assert isinstance(open_wire("http://localhost:8000/v1", 4, {}), PlainWire)


def test_each_request_has_its_own_time(loopback: Loopback) -> None:
    loopback.delay = 0.5

    async def run() -> list[object]:
        wire = open_wire(loopback.url, 4, {})
        times = (9.0, 0.1, 0.3, 9.0)
        sent = [wire.send("POST", "/x", b'{"messages": [0, {"content": ""}]}', t) for t in times]
        try:
            return [*await asyncio.gather(*sent, return_exceptions=True)]
        finally:
            await wire.close()

    first, second, third, fourth = asyncio.run(run())
    assert isinstance(first, Response)
    assert isinstance(fourth, Response)
    assert isinstance(second, TimeoutError)
    assert isinstance(third, TimeoutError)


def greet(server: Loopback, status: int) -> None:
    head = f"HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n".encode()
    server.respond = lambda call: (head, Wrong())  # type: ignore[method-assign]
    asked = Service(server.url, "m")

    async def run() -> None:
        async with asked:
            await asked.greet()

    asyncio.run(run())


def test_a_key_that_is_refused_and_a_server_that_is_not_there_are_said_at_once(
    loopback: Loopback,
) -> None:
    with pytest.raises(EndpointError, match="refuses the key"):
        greet(loopback, 401)
    greet(loopback, 404)
    asked = Service("http://127.0.0.1:9/v1", "m")

    async def nobody() -> None:
        async with asked:
            await asked.greet()

    with pytest.raises(EndpointError, match="nothing listens there"):
        asyncio.run(nobody())

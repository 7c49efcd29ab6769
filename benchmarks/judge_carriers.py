"""What a request costs the processor of whoever sends it, by the library that carries it.

64 at a time to a server on this machine, with a body of the size that a judge is sent. Libraries
that are not installed are left out.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks.judge_speed import CONCURRENT, server
from histoeval.llm.client import open_wire

REQUESTS = 1_280
BODY = json.dumps(
    {"messages": [{"content": "x" * 8_000}, {"content": "scored 4 3 3 4"}], "model": "m"}
).encode()
PATH = "/chat/completions"

Send = Callable[[], Awaitable[Any]]


async def _own(url: str, stack: AsyncExitStack) -> Send:
    wire = open_wire(url, CONCURRENT, {"Content-Type": "application/json"})
    stack.push_async_callback(wire.close)
    return lambda: wire.send("POST", PATH, BODY, 60.0)


def _httpx(name: str) -> Callable[[str, AsyncExitStack], Awaitable[Send]]:
    async def opened(url: str, stack: AsyncExitStack) -> Send:
        library: Any = import_module(name)
        limits = library.Limits(max_connections=CONCURRENT, max_keepalive_connections=CONCURRENT)
        client = await stack.enter_async_context(library.AsyncClient(limits=limits, timeout=60))
        return lambda: client.post(f"{url}{PATH}", content=BODY)

    return opened


async def _aiohttp(url: str, stack: AsyncExitStack) -> Send:
    library: Any = import_module("aiohttp")
    connector = library.TCPConnector(limit=CONCURRENT)
    session = await stack.enter_async_context(library.ClientSession(connector=connector))

    async def send() -> bytes:
        async with session.post(f"{url}{PATH}", data=BODY) as response:
            return bytes(await response.read())

    return send


CARRIERS: dict[str, Callable[[str, AsyncExitStack], Awaitable[Send]]] = {
    "histoeval": _own,
    "aiohttp": _aiohttp,
    "httpx": _httpx("httpx"),
    "httpx2": _httpx("httpx2"),
}


async def _processor_ms(name: str, url: str) -> float:
    async with AsyncExitStack() as stack:
        send = await CARRIERS[name](url, stack)

        async def some(times: int) -> None:
            for _ in range(times):
                await send()

        await asyncio.gather(*[some(2) for _ in range(CONCURRENT)])
        began = time.process_time()
        await asyncio.gather(*[some(REQUESTS // CONCURRENT) for _ in range(CONCURRENT)])
        return (time.process_time() - began) / REQUESTS * 1e3


def measure() -> list[list[str]]:
    """Carrier and milliseconds of processor time for a request, the best of two."""
    found = []
    for name in CARRIERS:
        if find_spec(name) is None:
            continue
        with server() as port:
            url = f"http://127.0.0.1:{port}/v1"
            best = min(asyncio.run(_processor_ms(name, url)) for _ in range(2))
        found.append([name, f"{best:.2f}"])
    return found

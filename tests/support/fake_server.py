"""A server with an OpenAI-compatible API on this machine that behaves as badly as it is told.

It reads the scores that a candidate deserves from words in it ("scored 4 2 3 1"), so that a test
knows the right answer without knowing anything of how it is asked. Run as a program it serves
until it is killed: `python -m tests.support.fake_server PORT DELAY` (and keeps no calls).
"""

import asyncio
import json
import re
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

CRITERIA = (
    "critical_finding_concordance",
    "factual_accuracy",
    "factual_completeness",
    "overall_equivalence",
)
DESERVED = re.compile(r"scored (\d) (\d) (\d) (\d)")


class Call(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def case(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def repairs(self) -> bool:
        return len(self.body["messages"]) > 2


class Wrong(NamedTuple):
    """What to send in place of a good answer."""

    status: int = 200
    content: str | None = None
    """The words of the model."""
    raw: bytes | None = None
    """The whole body."""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    """Whether the connection ends half way."""
    delay: float = 0.0


Fault = Callable[[Call], Wrong | None]


def right_answer(call: Call) -> str:
    found = DESERVED.search(call.case)
    scores = map(int, found.groups()) if found else (1, 1, 1, 1)
    answer: dict[str, Any] = dict(zip(CRITERIA, scores, strict=True))
    return json.dumps(answer | {"reasoning": "as it deserves"})


def completion(content: str) -> bytes:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 900, "completion_tokens": 50}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def stream(content: str) -> bytes:
    """The same, as events of a few characters each."""
    pieces = [content[at : at + 9] for at in range(0, len(content), 9)]
    events: list[dict[str, Any]] = [
        {"choices": [{"delta": {"content": piece}}]} for piece in pieces
    ]
    events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


@dataclass
class Loopback:
    """The server: what it says, how it misbehaves, and what it was asked."""

    delay: float = 0.0
    keeps: bool = True
    say: Callable[[Call], str] = right_answer
    fault: Fault = lambda call: None
    calls: list[Call] = field(default_factory=list)
    answered: list[Call] = field(default_factory=list)
    connections: int = 0
    most_at_once: int = 0
    port: int = 0
    scheme: str = "http"
    open: set[Any] = field(default_factory=set)
    waiting: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    def connected(self) -> asyncio.Protocol:
        self.connections += 1
        return _Connection(self)

    def respond(self, call: Call) -> tuple[bytes, Wrong]:
        if call.path.partition("?")[0].endswith("/models"):
            return _http(200, b'{"data": []}', ()), Wrong()
        wrong = self.fault(call) or Wrong()
        content = self.say(call) if wrong.content is None else wrong.content
        body = completion(content) if wrong.raw is None else wrong.raw
        return _http(wrong.status, body, wrong.headers), wrong


class _Connection(asyncio.Protocol):
    def __init__(self, server: Loopback) -> None:
        self._server = server
        self._got = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._server.open.add(transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._server.open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, rest = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", 0))
        if len(rest) < size:
            return
        self._got = b""
        self._answer(Call(first.split()[1], headers, json.loads(rest or b"{}")))

    def _answer(self, call: Call) -> None:
        server = self._server
        if call.body and server.keeps:
            server.calls.append(call)
        server.waiting += 1
        server.most_at_once = max(server.most_at_once, server.waiting)
        sent, wrong = server.respond(call)
        wait = server.delay + wrong.delay if call.body else 0.0
        asyncio.get_running_loop().call_later(wait, self._send, call, sent, wrong)

    def _send(self, call: Call, sent: bytes, wrong: Wrong) -> None:
        self._server.waiting -= 1
        if self._transport.is_closing():
            return
        self._transport.write(sent[: len(sent) // 2] if wrong.cut else sent)
        if wrong.cut:
            self._transport.close()
        elif wrong.status == 200 and self._server.keeps:
            self._server.answered.append(call)


def _http(status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> bytes:
    kind = b"application/json"
    told = {"Content-Type": kind.decode(), "Content-Length": str(len(body)), **dict(headers)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode("latin-1") + body


@contextmanager
def serving(
    server: Loopback, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[Loopback]:
    loop = asyncio.new_event_loop()
    server.scheme = "http" if tls is None else "https"
    listening = loop.run_until_complete(loop.create_server(server.connected, host, 0, ssl=tls))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:

        async def end() -> None:
            listening.close()
            for transport in list(server.open):
                transport.close()

        asyncio.run_coroutine_threadsafe(end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(port: int, delay: float) -> None:
    server = Loopback(delay=delay, keeps=False)
    listening = await asyncio.get_running_loop().create_server(
        server.connected, "127.0.0.1", port, backlog=512
    )
    print(listening.sockets[0].getsockname()[1], flush=True)  # noqa: T201
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))

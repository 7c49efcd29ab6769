"""Servers that speak HTTP in unusual ways, or behave badly in it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

import pytest

from histoeval.errors import EndpointError
from histoeval.llm.client import PlainWire, WireError, open_wire
from histoeval.llm.http1 import MOST_BYTES, Response
from histoeval.llm.service import RetryPolicy, Service
from tests.llm.test_service import REQUEST
from tests.support.fake_server import Loopback, Wrong

Pieces = Sequence[bytes]
"""What is sent in answer to one request, with a pause between; an empty one ends the connection."""

END = b""


def sized(body: bytes, *lines: bytes) -> bytes:
    head = b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *lines])
    return head + b"\r\n\r\n" + body


class Script:
    """A server that says what it is told to, whatever it is asked; connections are counted."""

    def __init__(self, *answers: Pieces, host: str = "127.0.0.1") -> None:
        self.answers = list(answers)
        self.host = host
        self.connections = self.requests = self.port = 0
        self.heads: list[str] = []
        self.at_work: list[asyncio.Task[None] | None] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.at_work.append(asyncio.current_task())
        while self.answers and (head := await self._asked(reader)):
            self.heads.append(head)
            for piece in self.answers.pop(0):
                await asyncio.sleep(0.005)
                if piece == END:
                    writer.close()
                    return
                writer.write(piece)
        writer.close()

    async def _asked(self, reader: asyncio.StreamReader) -> str:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await reader.readexactly(int(head.split("Content-Length: ")[1].split("\r\n")[0]))
        except (asyncio.IncompleteReadError, ConnectionError):
            return ""
        return head

    async def end(self) -> None:
        """Wait until the server has seen that nobody listens any more."""
        self.answers.clear()
        await asyncio.wait([each for each in self.at_work if each is not None])
        await asyncio.sleep(0)

    def answered(self, times: int = 1, timeout: float = 2.0, pause: float = 0.0) -> list[Response]:
        """The responses to so many requests, one after the other, over one wire."""
        host = f"[{self.host}]" if ":" in self.host else self.host

        async def run() -> list[Response]:
            async with await asyncio.start_server(self.serve, self.host, 0) as server:
                self.port = server.sockets[0].getsockname()[1]
                wire = open_wire(f"http://{host}:{self.port}/v1", 4, {})
                assert isinstance(wire, PlainWire)
                found = []
                try:
                    for _ in range(times):
                        found.append(await wire.send("POST", "/x", b"{}", timeout))
                        await asyncio.sleep(pause)
                finally:
                    await wire.close()
                    await self.end()
                return found

        return asyncio.run(run())


def test_a_head_may_come_in_any_pieces() -> None:
    whole = sized(b"hello", b"X-Long: " + b"y" * 500)
    pieces = [whole[at : at + 97] for at in range(0, len(whole), 97)]
    assert Script(pieces).answered()[0].body == b"hello"


def test_chunks_with_extensions_and_trailers_are_read_and_the_connection_kept() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = [head, b"3;a=b\r\nhel\r", b"\n2\r\nlo\r\n0\r\nChecksum: 1\r\n", b"\r\n"]
    script = Script(answer, answer)
    assert [found.body for found in script.answered(2)] == [b"hello", b"hello"]
    assert script.connections == 1


def test_an_empty_body_is_a_body_and_some_responses_have_none() -> None:
    script = Script([sized(b"")], [b"HTTP/1.1 204 None\r\n\r\n"], [sized(b"x")])
    assert [found.status for found in script.answered(3)] == [200, 204, 200]
    assert script.connections == 1


@pytest.mark.parametrize("said", [b"Connection: close", b"connection: Close, x"])
def test_a_server_that_says_it_closes_is_not_used_again(said: bytes) -> None:
    script = Script([sized(b"a", said), END], [sized(b"b", said), END])
    assert [found.body for found in script.answered(2)] == [b"a", b"b"]
    assert script.connections == 2


def test_http_1_0_ends_with_the_connection() -> None:
    answer = [b"HTTP/1.0 200 OK\r\n\r\nhel", b"lo", END]
    assert [found.body for found in Script(answer, answer).answered(2)] == [b"hello", b"hello"]


def test_what_is_said_while_a_server_thinks_is_passed_over() -> None:
    before = b"HTTP/1.1 100 Continue\r\n\r\n"
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    assert Script([before, early + sized(b"then")]).answered()[0].body == b"then"


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_connection_that_was_closed_in_between_is_no_failure(pause: float) -> None:
    """Whether the end is seen before the next request is sent, or only after it."""
    script = Script([sized(b"a"), END], [sized(b"b"), END], [sized(b"c")])
    assert [found.body for found in script.answered(3, pause=pause)] == [b"a", b"b", b"c"]
    assert script.connections == 3


def test_a_connection_that_ends_within_an_answer_is_a_failure() -> None:
    with pytest.raises(WireError, match="dropped"):
        Script([sized(b"a")], [b"HTTP/1.1 200 OK\r\nConte", END]).answered(2)
    with pytest.raises(WireError, match="dropped"):
        Script([END]).answered()


def test_a_server_that_does_not_end_is_not_waited_for() -> None:
    with pytest.raises(TimeoutError):
        Script([sized(b"hello")[:-2]], [b"never"]).answered(timeout=0.1)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000], "HTTP/1.1"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MOST_BYTES + 1)], "too long"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"], "HTTP/1.1"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n"], "HTTP/1.1"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\n\r\n"], "HTTP/1.1"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFF\r\n\r\n"], "too long"),
        ([b"HTTP/1.1 200 OK\r\n\r\n", *[b"y" * 2**20] * 18], "too long"),
        ([b"SSH-2.0-OpenSSH_9.6\r\n\r\n"], "HTTP/1.1"),
    ],
)
def test_what_is_too_long_or_no_http_is_refused(pieces: Pieces, said: str) -> None:
    with pytest.raises(WireError, match=said):
        Script(pieces).answered()


def test_words_that_nobody_asked_for_end_the_connection() -> None:
    script = Script([sized(b"a"), sized(b"late")], [sized(b"b")])
    assert [found.body for found in script.answered(2, pause=0.05)] == [b"a", b"b"]
    assert script.connections == 2


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6 here")
def test_an_address_of_ipv6_is_taken() -> None:
    script = Script([sized(b"six")], host="::1")
    assert script.answered()[0].body == b"six"
    assert f"Host: [::1]:{script.port}\r\n" in script.heads[0]


def asked(endpoint: str) -> str:
    """What a service says to a request, or why there is nothing to say."""
    service = Service(endpoint, "m", patience=RetryPolicy(timeout_s=2, attempts=1))

    async def run() -> str:
        async with service:
            return (await service.ask(REQUEST)).text

    return asyncio.run(run())


def test_an_address_may_end_in_a_slash(loopback: Loopback) -> None:
    assert "overall_equivalence" in asked(f"{loopback.url}/")
    assert loopback.calls[0].path == "/v1/chat/completions"


def test_a_redirection_is_not_followed_and_says_where_to(loopback: Loopback) -> None:
    there = "https://models.example.com/v1/chat/completions?token=sk-secret"
    loopback.fault = lambda call: Wrong(status=307, raw=b"", headers=(("Location", there),))
    with pytest.raises(EndpointError, match=r"https://models\.example\.com/v1:") as caught:
        asked(loopback.url)
    assert "sk-secret" not in str(caught.value)
    assert len(loopback.calls) == 1


def test_an_address_without_its_end_is_explained(loopback: Loopback) -> None:
    loopback.fault = lambda call: (
        None if call.path.startswith("/v1/") else Wrong(status=404, raw=b"{}")
    )
    with pytest.raises(EndpointError, match="does it end in /v1"):
        asked(loopback.url.removesuffix("/v1"))

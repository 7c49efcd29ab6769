"""HTTP/1.1 with connections that are kept open: how requests reach a server.

Plain HTTP without a proxy, which is how models on this machine or in the house are served, goes
over connections of our own: a request costs a tenth of a millisecond there, and sixteen times that
with httpx, which is more than the server may take. Everything else (TLS with the certificates of
the system, proxies) is left to httpx, whose cost does not matter beside a distant service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

MOST_BYTES = 16 * 2**20
"""An answer that is longer is none."""

_HEAD = 2**16


class WireError(Exception):
    """No answer came, or half of one; the text says how, for people."""


class Response(NamedTuple):
    """What a server sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire(Protocol):
    """Carries requests to one server."""

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:
        """The response to a request; `WireError` where there is none."""

    async def close(self) -> None:
        """Close all connections."""


def open_wire(endpoint: str, connections: int, headers: Mapping[str, str]) -> Wire:
    """The way to an endpoint, with the headers that all requests have."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    proxied = parts.scheme in getproxies() and not proxy_bypass(host)
    if parts.scheme == "http" and not proxied:
        return PlainWire(host, parts.port or 80, parts.path, headers)
    return HttpxWire(endpoint, connections, headers)


class Connection(asyncio.Protocol):
    """One connection that is used again and again, for one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._got = bytearray()
        self._answer: asyncio.Future[Response] | None = None
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It can be used."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.open = True

    async def exchange(self, request: bytes) -> Response:
        """Send a request and wait for the response; the connection is open after it, or not."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._got.clear()
        try:
            self._transport.write(request)
            return await self._answer
        finally:
            if not self._answer.done() or self._answer.cancelled():
                self.close()
            self._answer = None

    def data_received(self, data: bytes) -> None:
        """Some bytes came; when they make a response, whoever waits has it."""
        self._got += data
        self._read(ended=False)

    def connection_lost(self, _error: Exception | None) -> None:
        """The server is gone; what came so far may be all there is."""
        self.open = False
        self._read(ended=True)

    def _read(self, *, ended: bool) -> None:
        if self._answer is None or self._answer.done():
            self.open = False  # words that nobody asked for
            return
        try:
            found = parse(self._got, ended=ended)
        except ValueError as error:
            self.close()
            self._answer.set_exception(WireError(str(error)))
            return
        if found is None and not ended:
            return
        if found is None:
            self._answer.set_exception(WireError("the connection was dropped"))
            return
        if found.headers.get("connection", "").lower() == "close" or not _sized(found.headers):
            self.close()
        self._answer.set_result(found)

    def close(self) -> None:
        """Let go."""
        self.open = False
        if self._transport is not None:
            self._transport.close()


class PlainWire:
    """Our own connections to a server without TLS; as many as are in use at once."""

    def __init__(self, host: str, port: int, path: str, headers: Mapping[str, str]) -> None:
        self._host, self._port, self._path = host, port, path
        told = {"Host": f"[{host}]:{port}" if ":" in host else f"{host}:{port}", **headers}
        self._lines = "".join([f"{name}: {value}\r\n" for name, value in told.items()])
        self._idle: list[Connection] = []

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:
        """The response to a request, over an open connection if there is one."""
        first = f"{method} {self._path}{path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n"
        request = f"{first}{self._lines}\r\n".encode("latin-1") + body
        connection = await self._connection()
        response = await connection.exchange(request)
        if connection.open:
            self._idle.append(connection)
        return response

    async def _connection(self) -> Connection:
        """One that is open and idle, or a new one; what the server has closed is let go."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        loop = asyncio.get_running_loop()
        try:
            _, made = await loop.create_connection(Connection, self._host, self._port)
        except OSError as error:
            raise WireError(_plainly(error)) from error
        return made

    async def close(self) -> None:
        """Close what is idle; nothing else is open."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()


class HttpxWire:
    """Connections of httpx: TLS, certificates and proxies as the system has them."""

    def __init__(self, endpoint: str, connections: int, headers: Mapping[str, str]) -> None:
        import httpx2  # noqa: PLC0415 - slow to import

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._endpoint = endpoint
        self._failed: type[Exception] = httpx2.HTTPError
        self._client: Any = httpx2.AsyncClient(limits=limits, timeout=None, headers=dict(headers))

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:
        """The response to a request."""
        url = f"{self._endpoint}{path}"
        try:
            found = await self._client.request(method, url, content=body)
        except self._failed as error:
            raise WireError(_plainly(error)) from error
        named = {name.lower(): value for name, value in found.headers.items()}
        return Response(found.status_code, named, found.content)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def parse(got: bytes | bytearray, *, ended: bool) -> Response | None:
    """The response that these bytes are; None where there must be more to come."""
    end = got.find(b"\r\n\r\n")
    if end < 0:
        if len(got) > _HEAD:
            raise ValueError("what answered does not speak HTTP/1.1")
        return None
    status, headers = _head(bytes(got[:end]))
    rest = end + 4
    if len(got) > MOST_BYTES:
        raise ValueError("the answer is too long")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = _unchunked(bytes(got[rest:])) if got.endswith(b"\r\n\r\n") else None
    elif (size := headers.get("content-length")) is not None:
        body = bytes(got[rest : rest + int(size)]) if len(got) - rest >= int(size) else None
    else:
        body = bytes(got[rest:]) if ended else None
    return None if body is None else Response(status, headers, body)


def _unchunked(coded: bytes) -> bytes | None:
    """The body that was sent in chunks; None where the last one is not there yet."""
    body = bytearray()
    at = 0
    while (end := coded.find(b"\r\n", at)) >= 0:
        size = int(coded[at:end].split(b";")[0], 16)
        if size == 0:
            return bytes(body)
        body += coded[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return None


def _sized(headers: Mapping[str, str]) -> bool:
    """Whether the end of a body can be told without closing the connection."""
    return "content-length" in headers or "transfer-encoding" in headers


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise ValueError("what answered does not speak HTTP/1.1")
    pairs = [line.partition(":") for line in lines]
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _plainly(error: BaseException) -> str:
    """What went wrong on the way, in words that quote nothing that was sent."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return f"{type(error).__name__}: {error}"

"""HTTP/1.1 with connections that are kept open: how requests reach a server.

Plain HTTP without a proxy, which is how models on this machine or in the house are served, goes
over connections of our own: a request costs a tenth of a millisecond there, and fifteen times that
with httpx, which is more than the server may take. Everything else (TLS with the certificates of
the system, proxies) is left to httpx, whose cost does not matter beside a distant service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self
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

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """The response to a request; `WireError` where there is none."""

    async def close(self) -> None:
        """Close all connections."""


def open_wire(endpoint: str, connections: int) -> Wire:
    """The way to an endpoint."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    proxied = parts.scheme in getproxies() and not proxy_bypass(host)
    if parts.scheme == "http" and not proxied:
        return PlainWire(host, parts.port or 80, parts.path)
    return HttpxWire(endpoint, connections)


class Connection:
    """One connection that is used again and again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.open = True

    @classmethod
    async def to(cls, host: str, port: int) -> Self:
        """Connect."""
        return cls(*await asyncio.open_connection(host, port, limit=_HEAD))

    @property
    def ended(self) -> bool:
        """Whether the server has closed it."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def exchange(self, request: bytes) -> Response:
        """Send a request and read the response; the connection is open after it, or not."""
        self.open, keep = False, True
        self._writer.write(request)
        status, headers = _head(await self._reader.readuntil(b"\r\n\r\n"))
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await self._chunks()
        elif "content-length" in headers:
            body = await self._reader.readexactly(_size(headers["content-length"], 10))
        else:
            body, keep = await self._reader.read(MOST_BYTES), False
        self.open = keep and headers.get("connection", "").lower() != "close"
        return Response(status, headers, body)

    async def _chunks(self) -> bytes:
        body = bytearray()
        while size := _size((await self._reader.readuntil(b"\r\n")).split(b";")[0].decode(), 16):
            body += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
            _size(str(len(body)), 10)
        while (await self._reader.readuntil(b"\r\n")) != b"\r\n":
            pass
        return bytes(body)

    def close(self) -> None:
        """Let go."""
        self._writer.close()


class PlainWire:
    """Our own connections to a server without TLS; as many as are in use at once."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._host, self._port, self._path = host, port, path
        self._idle: list[Connection] = []

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """The response to a request, over an open connection if there is one."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        told = {"Host": f"{host}:{self._port}", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        request = f"{method} {self._path}{path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body
        try:
            return await self._over(await self._connection(), request)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            raise WireError(_plainly(error)) from error

    async def _connection(self) -> Connection:
        """One that is open and idle, or a new one; what the server has closed is let go."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.ended:
                return connection
            connection.close()
        return await Connection.to(self._host, self._port)

    async def _over(self, connection: Connection, request: bytes) -> Response:
        try:
            response = await connection.exchange(request)
        finally:
            if connection.open:
                self._idle.append(connection)
            else:
                connection.close()
        return response

    async def close(self) -> None:
        """Close what is idle; nothing else is open."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()


class HttpxWire:
    """Connections of httpx: TLS, certificates and proxies as the system has them."""

    def __init__(self, endpoint: str, connections: int) -> None:
        import httpx2  # noqa: PLC0415 - slow to import

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._endpoint = endpoint
        self._failed: type[Exception] = httpx2.HTTPError
        self._client: Any = httpx2.AsyncClient(limits=limits, timeout=None, http2=False)

    async def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """The response to a request."""
        url = f"{self._endpoint}{path}"
        try:
            found = await self._client.request(method, url, headers=dict(headers), content=body)
        except self._failed as error:
            raise WireError(_plainly(error)) from error
        named = {name.lower(): value for name, value in found.headers.items()}
        return Response(found.status_code, named, found.content)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("what answered does not speak HTTP/1.1")
    pairs = (line.partition(":") for line in lines if line)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}


def _size(text: str, base: int) -> int:
    size = int(text.strip(), base)
    if not 0 <= size <= MOST_BYTES:
        raise ValueError("the answer is too long")
    return size


def _plainly(error: BaseException) -> str:
    """What went wrong on the way, in words that quote nothing that was sent."""
    if isinstance(error, asyncio.IncompleteReadError | ConnectionResetError | BrokenPipeError):
        return "the connection was dropped"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return f"{type(error).__name__}: {error}"

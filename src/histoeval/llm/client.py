"""HTTP/1.1 with connections that are kept open: how requests reach a server.

Plain HTTP without a proxy, which is how models on this machine or in the house are served, goes
over connections of our own: a request costs a tenth of a millisecond there, and sixteen times that
with httpx, which is more than the server may take. Everything else (TLS with the certificates of
the system, proxies) is left to httpx, whose cost does not matter beside a distant service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from histoeval.llm.http1 import MOST_BYTES, TOO_LONG, Response, parse


class WireError(Exception):
    """No answer came, or half of one; the text says how, for people."""


class Wire(Protocol):
    """Carries requests to one server."""

    async def send(self, method: str, path: str, body: bytes, timeout: float) -> Response:
        """The response to a request; `WireError` where there is none, `TimeoutError` in time."""

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
        self.used = False
        """Whether it has carried a response before."""

    @property
    def stale(self) -> bool:
        """Whether the server had closed it before it saw the last request, as servers may."""
        return self.used and not self.open and not self._got

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
            response = await self._answer
        except BaseException:
            self.close()
            raise
        finally:
            self._answer = None
        self.used = True
        return response

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
            self.close()  # words that nobody asked for
            return
        try:
            found = parse(self._got, ended=ended)
        except ValueError as error:
            self.fail(WireError(str(error)))
            return
        if found is not None:
            if ended or not found.kept_open:
                self.close()
            self._answer.set_result(found)
        elif ended:
            self.fail(WireError("the connection was dropped"))

    def fail(self, error: Exception) -> None:
        """There will be no response for whoever waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    def close(self) -> None:
        """Let go."""
        self.open = False
        if self._transport is not None:
            self._transport.close()


class Clock:
    """Ends what takes too long; one alarm for all, since nearly every one is never needed."""

    def __init__(self) -> None:
        self._deadlines: dict[Connection, float] = {}
        self._alarm: asyncio.TimerHandle | None = None

    def add(self, connection: Connection, seconds: float) -> None:
        """Let a connection have so much time from now."""
        loop = asyncio.get_running_loop()
        deadline = self._deadlines[connection] = loop.time() + seconds
        if self._alarm is None or deadline < self._alarm.when():
            self.stop()
            self._alarm = loop.call_at(deadline, self._ring)

    def remove(self, connection: Connection) -> None:
        """It was in time."""
        del self._deadlines[connection]

    def stop(self) -> None:
        """Watch no longer."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        left = [deadline for deadline in self._deadlines.values() if deadline > now]
        for connection, deadline in self._deadlines.items():
            if deadline <= now:
                connection.fail(TimeoutError())
        self._alarm = loop.call_at(min(left), self._ring) if left else None


class PlainWire:
    """Our own connections to a server without TLS; as many as are in use at once."""

    def __init__(self, host: str, port: int, path: str, headers: Mapping[str, str]) -> None:
        self._host, self._port, self._path = host, port, path
        told = {"Host": f"[{host}]:{port}" if ":" in host else f"{host}:{port}", **headers}
        self._lines = "".join([f"{name}: {value}\r\n" for name, value in told.items()])
        self._idle: list[Connection] = []
        self._clock = Clock()

    async def send(self, method: str, path: str, body: bytes, timeout: float) -> Response:
        """The response to a request, over an open connection if there is one."""
        first = f"{method} {self._path}{path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n"
        request = f"{first}{self._lines}\r\n".encode("latin-1") + body
        while True:
            connection = self._idle_one() or await self._new_one(timeout)
            try:
                self._clock.add(connection, timeout)
                response = await connection.exchange(request)
            except WireError:
                if connection.stale:
                    continue
                raise
            finally:
                self._clock.remove(connection)
            if connection.open:
                self._idle.append(connection)
            return response

    def _idle_one(self) -> Connection | None:
        """A connection that is open and idle; what the server has closed is let go."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        return None

    async def _new_one(self, timeout: float) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                _, made = await loop.create_connection(Connection, self._host, self._port)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise WireError(_plainly(error)) from error
        return made

    async def close(self) -> None:
        """Close what is idle; nothing else is open."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        self._clock.stop()


class HttpxWire:
    """Connections of httpx: TLS, certificates and proxies as the system has them."""

    def __init__(self, endpoint: str, connections: int, headers: Mapping[str, str]) -> None:
        import httpx2

        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._endpoint = endpoint
        self._failed: type[Exception] = httpx2.HTTPError
        self._client: Any = httpx2.AsyncClient(limits=limits, timeout=None, headers=dict(headers))

    async def send(self, method: str, path: str, body: bytes, timeout: float) -> Response:
        """The response to a request."""
        url = f"{self._endpoint}{path}"
        try:
            async with (
                asyncio.timeout(timeout),
                self._client.stream(method, url, content=body) as found,
            ):
                return await self._whole(found)
        except self._failed as error:
            raise WireError(_plainly(error)) from error

    async def _whole(self, found: Any) -> Response:
        body = bytearray()
        async for piece in found.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise WireError(TOO_LONG)
        named = {name.lower(): value for name, value in found.headers.items()}
        return Response(found.status_code, named, bytes(body))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def _plainly(error: BaseException) -> str:
    """What went wrong on the way, in words that quote nothing that was sent."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there"
    return f"{type(error).__name__}: {error}"

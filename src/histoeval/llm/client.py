"""HTTP requests to one endpoint, over httpx2: TLS, proxies and decompression are its own.

What is ours: one deadline for a whole exchange, a limit on the size of an answer, and errors in
words that quote nothing that was sent or received. Redirects are never followed, so that the key
and the reports stay with the server that was named. Proxies come from HTTP_PROXY, HTTPS_PROXY,
ALL_PROXY and NO_PROXY.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies

from histoeval.errors import SettingError
from histoeval.report import Noun

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 16 * 2**20
"""Longest answer that is read, counted after decompression."""

DROPPED = "the connection was dropped, or what answered does not speak HTTP"
REFUSED = "connection refused; is the server running?"


class ClientError(Exception):
    """There is no usable answer; the message says why and is human-readable."""


class Response(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: bytes


class Tls(Noun):
    """Certificates beyond those of the system, all as PEM files."""

    ca: Path | None = None
    """Private certificate authorities to trust beside those of the system."""
    client_cert: Path | None = None
    """Certificate that this client identifies itself with; it may hold the key as well."""
    client_key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """What TLS connections are made with."""
        import httpx2

        context = httpx2.create_ssl_context()
        if self.client_key is not None and self.client_cert is None:
            raise SettingError("--client-key needs --client-cert, the certificate it belongs to")
        path = self.ca
        try:
            if path is not None:
                context.load_verify_locations(path)
            if (path := self.client_cert) is not None:
                context.load_cert_chain(path, self.client_key, password=lambda: "")
        except OSError as error:
            what = "a CA certificate" if path == self.ca else "a client certificate with its key"
            reason = error.strerror or str(error)
            raise SettingError(
                f"{path} cannot be used as {what}: {reason} (unencrypted PEM is expected)"
            ) from error
        return context


class HttpClient:
    """Connections to one endpoint, at most as many as are asked for.

    Each connection has a client of its own: the library's pool looks through all of its connections
    at every request, which is a quarter of the processor time where there are 64.
    """

    def __init__(
        self,
        endpoint: str,
        connections: int,
        headers: Mapping[str, str],
        context: ssl.SSLContext | None = None,
    ) -> None:
        import httpx2

        self._endpoint = endpoint
        self._open = partial(
            httpx2.AsyncClient,
            verify=context or _context_for(endpoint),
            headers=dict(headers),
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1),
            timeout=None,
            follow_redirects=False,
        )
        self._clients: list[httpx2.AsyncClient] = []
        self._idle: list[httpx2.AsyncClient] = []
        self._room = asyncio.Semaphore(connections)
        self._failures = (httpx2.HTTPError, httpx2.InvalidURL)

    async def send(self, method: str, path: str, body: bytes, timeout: float) -> Response:
        """The response to a request; `ClientError` where there is none, `TimeoutError` if late."""
        url = f"{self._endpoint}{path}"
        try:
            async with (
                asyncio.timeout(timeout),
                self._client() as client,
                client.stream(method, url, content=body) as response,
            ):
                return await _read(response)
        except self._failures as error:
            raise ClientError(_reason(error)) from error

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx2.AsyncClient]:
        async with self._room:
            if not self._idle:
                self._idle.append(self._open())
                self._clients.append(self._idle[-1])
            client = self._idle.pop()
            try:
                yield client
            finally:
                self._idle.append(client)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.aclose()


def _context_for(endpoint: str) -> ssl.SSLContext:
    """The system's certificates where TLS is spoken, since loading them takes 70 ms."""
    if any(url.startswith("https:") for url in (endpoint, *getproxies().values())):
        return _system_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody


@cache
def _system_context() -> ssl.SSLContext:
    """The certificates of the system, or of SSL_CERT_FILE and SSL_CERT_DIR."""
    import httpx2

    return httpx2.create_ssl_context()


async def _read(response: httpx2.Response) -> Response:
    body = bytearray()
    async for piece in response.aiter_bytes():  # decompressed, at most 1 MiB at a time
        body += piece
        if len(body) > MAX_BYTES:
            raise ClientError(f"the answer is longer than {MAX_BYTES / 2**20:.0f} MiB")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, bytes(body))


def _reason(error: Exception) -> str:
    """Why there is no answer, without the text of the error where that may quote the answer."""
    import httpx2

    untrusted = "its certificate is not trusted: {0.verify_message}; name a private CA with --ca"
    known: tuple[tuple[type[BaseException], str], ...] = (
        (ConnectionRefusedError, REFUSED),
        (socket.gaierror, "unknown host"),
        (ssl.SSLCertVerificationError, untrusted),
        (ssl.SSLError, "no TLS connection: {0.reason}"),
        (httpx2.DecodingError, "the compressed answer is broken"),
        (httpx2.ProxyError, "the proxy refuses: {0}"),
        (httpx2.NetworkError, DROPPED),
        (httpx2.RemoteProtocolError, DROPPED),
    )
    causes = list(_causes(error))
    for kind, text in known:
        for cause in causes:
            if isinstance(cause, kind):
                return text.format(cause)
    return type(error).__name__


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what caused it, and the members of groups."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for each in error.exceptions:
                yield from _causes(each)
        error = error.__cause__ or error.__context__

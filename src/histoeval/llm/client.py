"""HTTP requests to one endpoint, over httpx2: TLS, proxies and decompression are its own.

What is ours: one deadline for a whole exchange, a limit on the size of an answer, and errors in
words that quote nothing that was sent or received. Redirects are never followed, so that the key
and the reports stay with the server that was named. Proxies come from HTTP_PROXY, HTTPS_PROXY,
ALL_PROXY and NO_PROXY, certificates from the system, SSL_CERT_FILE, SSL_CERT_DIR or
REQUESTS_CA_BUNDLE.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import re
import socket
import ssl
import threading
from base64 import b64decode
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from concurrent.futures import wait
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from histoeval.errors import OutputError, SettingError
from histoeval.io.folder_kinds import VERB_FILES
from histoeval.llm.access import Tls
from histoeval.runtime.audit import sent_line

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 16 * 2**20  # longest answer that is read, counted after decompression
DROPPED = "the connection was dropped, or what answered does not speak HTTP"
REFUSED = "connection refused; is the server running?"
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")  # the first one counts


class ClientError(Exception):
    """A request without a usable answer; the message gives a human-readable reason."""


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]  # by lower-case names
    body: bytes


class HttpClient:
    """Connections to one endpoint, up to a maximum.

    Each connection has a client of its own: the library's pool looks through all of its connections
    at every request, which is a quarter of the processor time where there are 64.
    """

    def __init__(
        self,
        endpoint: str,
        connections: int,
        headers: Mapping[str, str],
        context: ssl.SSLContext | None = None,
        query: str = "",
    ) -> None:
        import httpx2

        self._endpoint, self._query = endpoint, f"?{query}" if query else ""
        self._open = partial(
            httpx2.AsyncClient,
            verify=context or tls_context(endpoint),
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
        """Send a request; `ClientError` if there is no response, `TimeoutError` if it is late."""
        url = f"{self._endpoint}{path}{self._query}"
        try:
            async with (
                asyncio.timeout(timeout),
                self._client() as client,
                client.stream(method, url, content=body) as response,
            ):
                return await _read(response)
        except self._failures as error:
            raise ClientError(f"{_reason(error)}{_proxy_advice(self._endpoint)}") from error

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
        for client in self._clients:
            await client.aclose()


def tls_context(endpoint: str, tls: Tls | None = None) -> ssl.SSLContext:
    """Return a TLS context; the system's certificates, which take 70 ms, load only for https."""
    variable = next((name for name in _CERTIFICATES if os.environ.get(name)), "")
    path = os.environ.get(variable, "")
    if tls is not None and tls != Tls():
        context = _system_context.__wrapped__(variable, path)
        tls.add_to(context)
        return context
    if any(url.startswith("https:") for url in (endpoint, *getproxies().values())):
        return _system_context(variable, path)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody


@cache
def _system_context(variable: str, path: str) -> ssl.SSLContext:
    import httpx2

    try:
        if path and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, "no such file or folder")
        context = httpx2.create_ssl_context()
        if variable == _CERTIFICATES[-1]:
            kind = "capath" if Path(path).is_dir() else "cafile"
            context.load_verify_locations(**{kind: path})
    except OSError as error:
        source = f"{path}, which {variable} names," if path else "the system's certificate store"
        reason = error.strerror or str(error)
        raise SettingError(f"{source} cannot be used as CA certificates: {reason}") from error
    return context


def check_proxies() -> None:
    """`SettingError` if the environment names a proxy that can never be used."""
    for scheme in ("http", "https", "all"):
        name, kind, address = _proxy(scheme)
        is_usable = kind in ("http", "https") or (
            kind.startswith("socks5") and find_spec("socksio")
        )
        try:
            is_usable = is_usable and (not address or urlsplit(f"//{address}").port != 0)
        except ValueError:
            is_usable = False
        if address and not is_usable:
            advice = " (SOCKS needs `pip install socksio`)" if kind.startswith("socks") else ""
            raise SettingError(
                f"the proxy {kind}://{address}, which {name} names, cannot be used{advice}: an "
                "address such as http://proxy.example.com:3128 is expected"
            )


def _proxy(scheme: str) -> tuple[str, str, str]:
    """Return the variable of a proxy, its scheme, and its address without user and password."""
    kind, separator, address = getproxies().get(scheme, "").rpartition("://")
    return f"{scheme.upper()}_PROXY", kind if separator else "http", address.rpartition("@")[2]


def _proxy_advice(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    for scheme in (parts.scheme, "all"):
        name, kind, address = _proxy(scheme)
        if address and not proxy_bypass(parts.hostname or ""):
            return f"; {name} names the proxy {kind}://{address}: is it right, and running?"
    return ""


async def _read(response: httpx2.Response) -> Response:
    body = bytearray()
    async for piece in response.aiter_bytes():  # decompressed, at most 1 MiB at a time
        body += piece
        if len(body) > MAX_BYTES:
            raise ClientError(f"the answer is longer than {MAX_BYTES / 2**20:.0f} MiB")
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, bytes(body))


def _reason(error: Exception) -> str:
    """The reason for a missing answer, without error texts that may quote the answer."""
    import httpx2

    reasons: dict[type[BaseException], str] = {
        ConnectionRefusedError: REFUSED,
        socket.gaierror: "unknown host",
        ssl.SSLCertVerificationError: "its certificate is not trusted: {0.verify_message}; name "
        "the CA that signed it (PEM) with --ca, or in the environment as SSL_CERT_FILE",
        ssl.SSLError: "no TLS connection: {0.reason}",
        httpx2.DecodingError: "the compressed answer is broken",
        httpx2.ProxyError: "the proxy refuses: {0}",
        httpx2.NetworkError: DROPPED,
        httpx2.RemoteProtocolError: DROPPED,
    }
    causes = list(_causes(error))
    for kind, text in reasons.items():
        for cause in causes:
            if isinstance(cause, kind):
                return printable(text.format(cause))
    return type(error).__name__


def printable(text: str) -> str:
    """A message of a server or proxy, without characters that steer a terminal."""
    return "".join(character for character in text[:300] if character.isprintable())


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its causes, and the members of exception groups."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for member in error.exceptions:
                yield from _causes(member)
        error = error.__cause__ or error.__context__


T = TypeVar("T")
POLL_S = 0.5  # between looks for Ctrl-C, where a lock cannot be interrupted (Windows)


class BackgroundLoop:
    """An event loop in a daemon thread of its own, so that notebooks with a loop can use it too."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while not wait([future], POLL_S).done:
                pass
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its result, also in a thread that already runs a loop."""
    with BackgroundLoop() as loop:
        return loop.run(work)


_START = b'{"time": "'  # the beginning of every log
_PICTURE = re.compile(r'(?<="data:image/)([a-z]{1,10});base64,([A-Za-z0-9+/=]+)(?=")')


class RequestLog:
    """A file that requests are appended to before they are sent, for an audit: `--log-requests`.

    A line of JSON for each: what `runtime/audit.py` notes of it, and the body with the reports in
    it. Pictures are replaced by their hashes; headers, keys and the query of the address are left
    out. Only the owner can read the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            is_log = True
            if path.is_file():
                with path.open("rb") as file:
                    is_log = file.read(len(_START)) in (b"", _START)
            if not is_log or any(path.name in files for files in VERB_FILES.values()):
                raise OutputError(
                    f"{path} is no log of requests; give another name to --log-requests"
                )
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            if path.is_file():  # and no device
                path.chmod(0o600)
        except OSError as error:
            raise self._unusable(error) from error

    def add(self, url: str, body: bytes, model: str = "", purpose: str = "") -> None:

        def hashed(picture: re.Match[str]) -> str:
            return f"{picture[1]};sha256,{hashlib.sha256(b64decode(picture[2])).hexdigest()}"

        content = json.loads(_PICTURE.sub(hashed, body.decode()))
        line = sent_line(url, model, purpose, body) | {"body": content}
        try:
            os.write(self._file, f"{json.dumps(line)}\n".encode())
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> OutputError:
        return OutputError(f"requests cannot be logged in {self.path}: {error.strerror or error}")

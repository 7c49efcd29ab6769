"""Access control: keys in links, names of the server, forged requests, and size.

Every request passes `Guard` before any place sees it. A key in a link (`?token=…`) becomes a
cookie that no script can read and no other site can send; the link is then opened without it.
"""

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# what this machine is called in the address of a page that is served to itself only
LOCAL = ("127.0.0.1", "localhost", "::1")
MAX_BODY = 32 * 2**20  # bytes of a request, uploads among them
MAX_DIGITS = 18  # digits of a length that can be meant; Python refuses to read thousands

# what a served page may do: nothing inline runs, and nothing comes from elsewhere
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
# sent with every answer that does not say otherwise; pages hold the texts of people
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
OPEN = "/static/"  # scripts and styles are nobody's secret
_SAFE = {"GET", "HEAD", "OPTIONS"}


class Visitor(NamedTuple):
    """The holder of a key, and the addresses open to it, by their beginning: a rater's are few."""

    name: str
    area: str = "/"

    def may_open(self, path: str) -> bool:
        area = self.area.rstrip("/")
        return path == area or path.startswith(f"{area}/")


OWNER = Visitor("owner")
NOBODY = Visitor("nobody", "/nowhere")


def visitor_of(request: Request) -> Visitor:
    visitor: Visitor = request.scope["visitor"]
    return visitor


@asynccontextmanager
async def form_of(request: Request) -> AsyncIterator[FormData]:
    """Open the fields of a form; no field is larger than a body may be."""
    async with request.form(max_files=1, max_fields=100, max_part_size=MAX_BODY) as form:
        yield form


class Guard:
    """Middleware that lets nothing through that is not meant for this server and visitor.

    `keys` maps the token of each link to its holder. `hosts` are the names under which the server
    may be called; with `any_address` also every numeric address, which no foreign name can stand
    for. `refuse` makes a page of a refusal.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: Mapping[str, Visitor],
        refuse: Callable[[Request, HTTPException], Awaitable[Response]],
        hosts: Iterable[str] = LOCAL,
        *,
        any_address: bool = False,
    ) -> None:
        self._app = app
        self._refuse = refuse
        self._hosts = {host.lower() for host in hosts}
        self._any_address = any_address
        self._tokens = dict(keys)
        self._cookies = {f"histoeval-{_derived(token, 'name')[:12]}": token for token in keys}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await self._checked(request)
        except HTTPException as refusal:
            answer = await self._refuse(request, refusal)
        except ClientDisconnect:
            return  # an upload that was broken off: nobody waits for an answer
        if isinstance(answer, Response):
            await answer(scope, receive, _with_headers(send))
        else:
            await self._app(scope, answer, _with_headers(send))

    async def _checked(self, request: Request) -> Response | Receive:
        scope = request.scope
        scope["visitor"], scope["csrf"] = NOBODY, ""
        self._check_host(request.headers)
        if request.url.path.startswith(OPEN):
            return request.receive
        if (token_in_link := request.query_params.get("token")) is not None:
            return self._admitted(request, token_in_link)
        token = self._token_of(request)
        scope["visitor"], scope["csrf"] = self._tokens[token], _derived(token, "csrf")
        if not scope["visitor"].may_open(request.url.path):
            raise HTTPException(403, "This page is not open to the link that you came by.")
        if request.method in _SAFE:
            return request.receive
        return await _unforged(request)

    def _check_host(self, headers: Headers) -> None:
        name = ""
        with suppress(ValueError):  # an address that cannot be read, as //[::1, has no name
            name = (urlsplit(f"//{headers.get('host', '')}").hostname or "").lower()
        if name in self._hosts:
            return
        if self._any_address:
            with suppress(ValueError):
                ip_address(name)
                return
        raise HTTPException(
            421, "This server does not go by that name. Open the link that it printed."
        )

    def _admitted(self, request: Request, token_in_link: str) -> Response:
        """Turn the key of a link into a cookie, and open the link without it."""
        token = next(
            (candidate for candidate in self._tokens if _same(candidate, token_in_link)), None
        )
        if token is None:
            raise HTTPException(
                403,
                "The token in this link is not one of this server. Use the link that it printed "
                "last, or, in a study, the one that you were sent.",
            )
        rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
        address = f"/{request.url.path.lstrip('/')}"  # two slashes would name another host
        answer = RedirectResponse(f"{address}?{urlencode(rest)}" if rest else address, 303)
        name = next(name for name, holder in self._cookies.items() if holder == token)
        answer.set_cookie(
            name, _derived(token, "cookie"), httponly=True, samesite="strict", path="/"
        )
        return answer

    def _token_of(self, request: Request) -> str:
        """Return the key of the sender of a request; one browser may hold several.

        Of those, the one counts whose holder may open the address, and the narrowest first: each
        tab stays with the rater whose link it was opened by.
        """
        held = [
            token
            for name, token in self._cookies.items()
            if _same(_derived(token, "cookie"), request.cookies.get(name, ""))
        ]
        if not held:
            raise HTTPException(
                401,
                "Open this place by the link that `histoeval serve` printed, or, in a study, by "
                "the one that you were sent: it holds the token that lets you in.",
            )
        path = request.url.path
        visitors = {token: self._tokens[token] for token in held}
        return min(held, key=lambda t: (not visitors[t].may_open(path), -len(visitors[t].area)))


async def _unforged(request: Request) -> Receive:
    """Return the body for reading again after checking that one of our own pages sent it."""
    headers = request.headers
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        raise HTTPException(403, "Another site sent this request; it was not carried out.")
    body = await _limited_body(request)
    csrf = headers.get("x-csrf-token")
    if csrf is None:
        async with form_of(Request(request.scope, _replay(body))) as form:
            field = form.get("csrf")
        csrf = field if isinstance(field, str) else ""
    if not _same(request.scope["csrf"], csrf):
        raise HTTPException(
            403,
            "This form is not from a page that is open now. Go back, reload it, and send it again.",
        )
    return _replay(body)


async def _limited_body(request: Request) -> bytes:
    most = f"More than {MAX_BODY // 2**20} MB were sent. Use `histoeval score` for large tables."
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > MAX_DIGITS or int(length) > MAX_BODY:
        raise HTTPException(413, most)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            raise HTTPException(413, most)
        chunks.append(chunk)
    return b"".join(chunks)


def _replay(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _derived(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), sha256).hexdigest()


def _same(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode(), second.encode())

"""Reading HTTP/1.1: from the bytes that came so far to a response, or to what is wrong in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

MOST_BYTES = 16 * 2**20
"""An answer that is longer is none."""

_HEAD = 2**16
CONTINUE = 100
BODILESS = (204, 304)
"""Responses that are over with their headers."""

NOT_HTTP = "what answered does not speak HTTP/1.1"
TOO_LONG = "the answer is too long"


class Response(NamedTuple):
    """What a server sent."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    kept_open: bool = True
    """Whether the connection can carry the next request."""


def parse(got: bytes | bytearray, *, ended: bool) -> Response | None:
    """The response that these bytes are; None where there must be more to come."""
    rest = 0
    status = CONTINUE
    while status // 100 == 1 and status != 101:  # what a server says while it makes up its mind
        end = got.find(b"\r\n\r\n", rest)
        if end < 0:
            if len(got) - rest > _HEAD:
                raise ValueError(NOT_HTTP)
            return None
        version, status, headers = _head(bytes(got[rest:end]))
        rest = end + 4
    if len(got) - rest > MOST_BYTES + _HEAD:
        raise ValueError(TOO_LONG)
    sized = True
    if status in BODILESS:
        body: bytes | None = b""
    elif headers.get("transfer-encoding", "").lower().endswith("chunked"):
        body = _unchunked(bytes(got[rest:])) if got.endswith(b"\r\n\r\n") else None
    elif (size := headers.get("content-length")) is not None:
        length = _number(size, 10)
        body = bytes(got[rest : rest + length]) if len(got) - rest >= length else None
    else:
        body, sized = (bytes(got[rest:]) if ended else None), False
    if body is None:
        return None
    said = headers.get("connection", "").lower()
    kept_open = sized and ("close" not in said if version == "HTTP/1.1" else "keep-alive" in said)
    return Response(status, headers, body, kept_open)


def _unchunked(coded: bytes) -> bytes | None:
    """The body that was sent in chunks; None where the last one is not there yet."""
    body = bytearray()
    at = 0
    while (end := coded.find(b"\r\n", at)) >= 0:
        size = _number(coded[at:end].split(b";")[0].strip().decode("latin-1"), 16)
        if size == 0:
            return bytes(body)
        body += coded[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return None


def _number(text: str, base: int) -> int:
    """A length, written as the standard has it and no longer than can be borne."""
    if not text.isascii() or not text.isalnum():
        raise ValueError(NOT_HTTP)
    try:
        number = int(text, base)
    except ValueError as error:
        raise ValueError(NOT_HTTP) from error
    if number > MOST_BYTES:
        raise ValueError(TOO_LONG)
    return number


def _head(head: bytes) -> tuple[str, int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not (rest[:3].isascii() and rest[:3].isdigit()):
        raise ValueError(NOT_HTTP)
    pairs = [line.partition(":") for line in lines]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return version, int(rest[:3]), headers

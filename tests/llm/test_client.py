"""HTTP/1.1 as servers speak it, in whatever pieces it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.llm.http1 import Response, parse

BODIES = st.binary(max_size=40)


def sized(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Y: a: b\r\n\r\n" % len(body) + body


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    coded = b"".join(b"%X;name=value\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n\r\n"


@given(BODIES, st.integers(1, 50), st.booleans())
def test_a_response_is_whole_with_its_last_byte_and_not_before(
    body: bytes, size: int, in_chunks: bool
) -> None:
    sent = chunked(body, size) if in_chunks else sized(body)
    for length in range(len(sent)):
        assert parse(sent[:length], ended=False) is None
        assert parse(sent[:length], ended=True) is None
    found = parse(sent, ended=False)
    assert found is not None
    assert (found.status, found.body) == (200, body)


@given(BODIES)
def test_a_body_of_unknown_length_ends_with_the_connection(body: bytes) -> None:
    sent = b"HTTP/1.0 503 Busy\r\n\r\n" + body
    assert parse(sent, ended=False) is None
    assert parse(sent, ended=True) == Response(503, {}, body, kept_open=False)


def test_headers_are_known_by_lower_case_names() -> None:
    found = parse(sized(b"x"), ended=False)
    assert found is not None
    assert found.headers == {"content-length": "1", "x-y": "a: b"}


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"HTTP|invalid literal"):
        parse(sent, ended=False)


@given(st.binary(max_size=200))
def test_any_bytes_are_waited_for_or_refused(sent: bytes) -> None:
    try:
        found = parse(b"HTTP/1.1 200 OK\r\n" + sent, ended=True)
    except ValueError:
        return
    assert found is None or found.status == 200

"""Whatever a server sends, it is a reply or no completion; nothing else can happen."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.llm.chat import Reply
from histoeval.llm.client import ClientError, Response
from histoeval.llm.service import complaint_in, read_reply
from tests.support.fake_server import completion, stream
from tests.support.tables import from_table

EVENTS = {"content-type": "text/event-stream"}
KEYS = st.sampled_from(
    ["choices", "message", "content", "usage", "prompt_tokens", "finish_reason", "delta", "error"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def completed(message: Any, **rest: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, **rest}]}).encode()


def read(body: bytes, headers: dict[str, str] | None = None) -> Reply:
    return read_reply(Response(200, headers or {}, body), "plain")


@given(JSON)
def test_any_json_is_a_reply_or_no_completion(content: Any) -> None:
    body = json.dumps(content).encode()
    events = b"".join(b"data: " + body + b"\n\n" for _ in range(2)) + b"data: [DONE]\n"
    for response in (Response(200, {}, body), Response(200, EVENTS, events)):
        with suppress(ClientError):
            assert isinstance(read_reply(response, "plain"), Reply)
        assert isinstance(complaint_in(response), str)


@given(st.binary(max_size=60))
def test_any_bytes_are_no_completion(body: bytes) -> None:
    with pytest.raises(ClientError):
        read(body)


def test_bodies_that_nest_without_end_are_no_completion() -> None:
    with pytest.raises(ClientError):
        read(b"[" * 200_000)
    assert complaint_in(Response(500, {}, b"[" * 200_000)) == ""


@given(st.text())
def test_a_message_comes_through_whole_or_in_pieces(text: str) -> None:
    assert read(completion(text)).text == text
    assert read(stream(text), EVENTS).text == text


def test_an_answer_that_gives_a_key_twice_is_no_completion() -> None:
    """Which of the two counts would be a guess."""
    twice = b'{"choices": [{"message": {"content": "4", "content": "1"}}]}'
    with pytest.raises(ClientError, match="twice"):
        read(twice)
    with pytest.raises(ClientError, match="twice"):
        read(b'data: {"choices": [{"delta": {"content": "4", "content": "1"}}]}\n', EVENTS)


def test_separators_that_are_no_line_ends_stay_in_a_stream() -> None:
    event = json.dumps({"choices": [{"delta": {"content": "a\u2028b\x85c"}}]}, ensure_ascii=False)
    assert read(f"data: {event}\r\n\r\ndata: [DONE]\r\n".encode(), EVENTS).text == "a\u2028b\x85c"


def test_what_is_odd_beside_the_message_is_not_believed() -> None:
    odd = {"prompt_tokens": -3, "completion_tokens": True}
    body = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": odd}).encode()
    assert (read(body).tokens_in, read(body).tokens_out) == (None, None)
    assert read(completed({"content": "x"}, finish_reason=7)).finish is None
    assert read(completed({"content": "x"}, finish_reason="\ud800")).finish == "\\ud800"
    assert read(completed({"content": None})).text == ""
    assert read(completed({"content": "half \ud800"})).text == "half \\ud800"


@from_table
def test_a_complaint_is_found_where_servers_put_it(body: str, said: str) -> None:
    assert complaint_in(Response(400, {}, body.encode())) == said

"""The form in which OpenAI-compatible servers take requests and give answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from histoeval.io.tables.row_faults import shown
from histoeval.llm.chat import Reply, Request
from histoeval.llm.http1 import Response
from histoeval.llm.prompt import Message

FORMATS = ("json_schema", "json_object", "plain")
"""How a server is asked to hold the model to the schema, the strictest first."""


class BadCompletion(Exception):  # noqa: N818 - it says what the answer is
    """What came back is not what such servers send; the text quotes nothing of it."""


def body_of(model: str, request: Request, form: str, limit: str) -> bytes:
    """A request as such servers take it; `limit` is the name they have for the most tokens.

    What all requests of a run share is turned into JSON once, since a fast server waits for it.
    """
    rest = _rest(model, request.parameters, request.prompt.schema_text, form, limit)
    first, *others = request.messages
    plain = isinstance(first["content"], str)
    opening = _shared(first["role"], first["content"]) if plain else _bytes(_message(first))
    asked = _bytes("".join([f",{_message(each)}" for each in others]))
    return b"".join((b'{"messages":[', opening, asked, rest))


@lru_cache(maxsize=256)
def _rest(model: str, parameters: str, schema: str, form: str, limit: str) -> bytes:
    """Everything after the conversation; what is null is left out."""
    told = json.loads(parameters)
    body = {"model": model, limit: told.pop("max_tokens"), **told}
    if form == "json_schema":
        described = {"name": "answer", "strict": True, "schema": json.loads(schema)}
        body["response_format"] = {"type": form, "json_schema": described}
    elif form == "json_object":
        body["response_format"] = {"type": form}
    told = {name: value for name, value in body.items() if value is not None}
    return _bytes("]," + json.dumps(told, ensure_ascii=False)[1:])


def _message(message: Message) -> str:
    """One message as JSON, quicker than by an encoder that must first find out what it has."""
    said = message["content"]
    content = encode_basestring(said) if isinstance(said, str) else json.dumps(said)
    return f'{{"role":{encode_basestring(message["role"])},"content":{content}}}'


@lru_cache(maxsize=16)
def _shared(role: str, content: str) -> bytes:
    """The instructions, which every conversation begins with."""
    return _bytes(_message({"role": role, "content": content}))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def read_reply(response: Response, form: str, seconds: float | None = None) -> Reply:
    """The reply in a response, which may come whole or as a stream of events."""
    kind = response.headers.get("content-type", "")
    content = _streamed(response.body) if "event-stream" in kind else _object(response.body)
    try:
        choice = content["choices"][0]
        text = choice["message"]["content"]
    except (KeyError, IndexError, TypeError) as error:
        raise BadCompletion("the server's answer holds no message") from error
    if text is not None and not isinstance(text, str):
        raise BadCompletion("the server's message is not a text")
    finish = choice.get("finish_reason")
    return Reply(
        text=shown(text or ""),
        finish=finish if isinstance(finish, str) else None,
        tokens_in=_count(content.get("usage"), "prompt_tokens"),
        tokens_out=_count(content.get("usage"), "completion_tokens"),
        constrained=form == "json_schema",
        seconds=seconds,
    )


def complaint_in(response: Response) -> str:
    """What a server says of a request that it does not take; nothing where it gives no reason."""
    try:
        said = json.loads(response.body)
    except (ValueError, RecursionError):
        return ""
    reason: Any = ""
    for key in ("error", "message", "detail"):
        if isinstance(said, dict) and key in said:
            said = reason = said[key]
    return shown(reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False))


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadCompletion("the server's answer is not JSON") from error
    if not isinstance(content, dict):
        raise BadCompletion("the server's answer is no JSON object")
    return content


def _streamed(body: bytes) -> dict[str, Any]:
    """The pieces of a stream put together; a stream that does not end is no answer."""
    pieces: list[str] = []
    usage: Any = None
    finish = None
    for line in body.decode("utf-8", "replace").split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            finish = finish or "stop"
            break
        event = _object(data.encode()) if data else {}
        usage = event.get("usage") or usage
        piece, end = _piece(event)
        pieces.append(piece)
        finish = end or finish
    if finish is None:
        raise BadCompletion("the server's stream was cut off")
    message = {"content": "".join(pieces)}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _piece(event: Mapping[str, Any]) -> tuple[str, Any]:
    """The words that an event adds, and why the model stopped, if it did."""
    if not event.get("choices"):
        return "", None
    try:
        choice = event["choices"][0]
        words = (choice.get("delta") or {}).get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadCompletion("an event of the server's stream holds no message") from error
    return str(words), choice.get("finish_reason")


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 2**53 else None

"""Requests and answers of OpenAI-compatible servers (`/chat/completions`)."""

import json
from collections.abc import Mapping
from typing import Any

from histoeval.io.tables.row_faults import shown
from histoeval.llm.chat import Reply, Request
from histoeval.llm.client import Response

FORMATS = ("json_schema", "json_object", "plain")
"""Ways to have a server enforce the schema, the strictest first."""


class BadCompletion(Exception):  # noqa: N818 - it says what the answer is
    """The server's answer is not a chat completion; the message quotes nothing of it."""


def body_of(model: str, request: Request, form: str, limit: str) -> bytes:
    """A request as JSON; `limit` is the server's name for `max_tokens`. Null fields are omitted."""
    parameters = json.loads(request.parameters)
    body: dict[str, Any] = {"messages": list(request.messages), "model": model}
    body |= {limit: parameters.pop("max_tokens"), **parameters}
    if form == "json_schema":
        schema = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": form, "json_schema": schema}
    elif form == "json_object":
        body["response_format"] = {"type": form}
    return json.dumps({name: value for name, value in body.items() if value is not None}).encode()


def read_reply(response: Response, form: str, seconds: float | None = None) -> Reply:
    """The reply in a response, which may be one object or a stream of events."""
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
        finish=shown(finish) if isinstance(finish, str) else None,
        tokens_in=_count(content.get("usage"), "prompt_tokens"),
        tokens_out=_count(content.get("usage"), "completion_tokens"),
        constrained=form == "json_schema",
        seconds=seconds,
    )


def complaint_in(response: Response) -> str:
    """The reason that a server gives for refusing a request; empty if it gives none."""
    try:
        content = json.loads(response.body)
    except (ValueError, RecursionError):
        return ""
    reason: Any = ""
    for key in ("error", "message", "detail"):
        if isinstance(content, dict) and key in content:
            content = reason = content[key]
    return shown(reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False))


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise BadCompletion("the server's answer is not JSON") from error
    if not isinstance(content, dict):
        raise BadCompletion("the server's answer is no JSON object")
    return content


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadCompletion("the server's answer gives a key twice")
    return found


def _streamed(body: bytes) -> dict[str, Any]:
    """A stream of events put together; one that does not end is an error."""
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
    """The text that an event adds, and the finish reason if it has one."""
    if not event.get("choices"):
        return "", None
    try:
        choice = event["choices"][0]
        text = (choice.get("delta") or {}).get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadCompletion("an event of the server's stream holds no message") from error
    return str(text), choice.get("finish_reason")


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count < 2**53 else None

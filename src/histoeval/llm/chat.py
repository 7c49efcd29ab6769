"""What comes back from a judge for one request, whoever carried it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from histoeval.errors import HistoEvalError
from histoeval.llm.prompt import Message


class Reply(NamedTuple):
    """The words of a model, and what they cost."""

    text: str
    finish: str | None = None
    """Why the model stopped: 'stop', or 'length' where it was cut off."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    constrained: bool = False
    """Whether the server held the model to the schema."""
    seconds: float | None = None
    """How long the answer took, waits before it not counted."""


class Form(Protocol):
    """What an answer must look like; a prompt has one."""

    @property
    def schema_of_answer(self) -> dict[str, Any]:
        """The JSON schema of the answer."""

    @property
    def schema_text(self) -> str:
        """The schema as JSON."""


@dataclass(frozen=True)
class Request:
    """One question to a model: the conversation, how it is to answer, and what must stay secret."""

    messages: Sequence[Message]
    prompt: Form = field(repr=False)
    """What the conversation began with: it has the schema of the answer."""
    parameters: str
    """As JSON."""
    texts: tuple[str, ...] = field(default=(), repr=False)
    """What must not be quoted in any message of ours."""

    @property
    def characters(self) -> int:
        """How long the conversation is."""
        return sum(len(message["content"]) for message in self.messages)


class NoReply(HistoEvalError):  # noqa: N818 - it says what there is
    """A request that was given up; its text is meant for people and quotes no report."""

    code = "judge_unreachable"


class RequestRefused(NoReply):
    """The server says that the request is wrong, and would say so again."""

    code = "judge_refused"


class Chat(Protocol):
    """A model that can be asked, for as long as it is entered."""

    @property
    def identity(self) -> str:
        """What the model is and where, for signatures and keys; no secret in it."""

    @property
    def retries(self) -> int:
        """How often a request had to be repeated so far."""

    async def __aenter__(self) -> Self:
        """Open what it takes."""

    async def __aexit__(self, *_: object) -> None:
        """Close it."""

    async def greet(self) -> None:
        """See that it is there; `EndpointError` where it is not."""

    async def ask(self, request: Request) -> Reply:
        """The reply to a request, or `NoReply`."""

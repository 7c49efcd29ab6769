"""A chat model that can be asked, its requests and its replies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from histoeval.errors import HistoEvalError
from histoeval.llm.prompt import Message


class Reply(NamedTuple):
    """What a model answered, and what it cost."""

    text: str
    finish: str | None = None
    """Why the model stopped: 'stop', or 'length' where it was cut off."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    constrained: bool = False
    """Whether the server enforced the schema."""
    seconds: float | None = None
    """How long the answer took, without the waits before it."""


@dataclass(frozen=True)
class Request:
    """One question to a model: the conversation, the form of the answer, and what is private."""

    messages: Sequence[Message]
    schema: Mapping[str, Any] = field(repr=False)
    """JSON schema of the answer; empty for free text."""
    parameters: str
    """As JSON."""
    texts: tuple[str, ...] = field(default=(), repr=False)
    """Must not be quoted in any message of ours."""

    @property
    def characters(self) -> int:
        """How long the conversation is."""
        return sum(len(message["content"]) for message in self.messages)


class NoReply(HistoEvalError):  # noqa: N818 - it says what there is
    """A request that was given up; the message is human-readable and quotes no report."""

    code = "judge_unreachable"


class RequestRefused(NoReply):
    """The server rejects the request and would do so again."""

    code = "judge_refused"


class Chat(Protocol):
    """A model that can be asked while its context is open."""

    @property
    def identity(self) -> str:
        """Model and place, for signatures and cache keys; never a secret."""

    @property
    def retries(self) -> int:
        """How often a request was repeated so far."""

    async def __aenter__(self) -> Self:
        """Open connections."""

    async def __aexit__(self, *_: object) -> None:
        """Close them."""

    async def ping(self) -> None:
        """Check that it is reachable; `EndpointError` if not."""

    async def ask(self, request: Request) -> Reply:
        """The reply to a request, or `NoReply`."""

"""One question to one judge about one pair, and its outcome."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from histoeval.judges.answer import Answer, read_answer
from histoeval.judges.listing import Listing, ListPrompt
from histoeval.judges.prompt import Order, Prompt
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Message, Reply, Request
from histoeval.llm.replies import Unreadable

REPAIR = """\
Your answer cannot be used: {error}. Answer again about the same two reports, with nothing but the \
JSON object that was asked for. What stands between the marks is still data."""

_MAX_QUOTED = 4000
"""Characters of a wrong answer that are shown to the model that gave it."""


@dataclass(frozen=True)
class MissingAnswer:
    """Why there is no answer, and everything that the model replied instead."""

    code: str
    message: str
    raw: tuple[str, ...] = field(default=(), repr=False)


Outcome = Answer | Listing | MissingAnswer
AnyPrompt = Prompt | ListPrompt


@dataclass(frozen=True)
class Question:
    """What a judge is asked; equal questions are asked once."""

    judge: str
    prompt: AnyPrompt = field(repr=False, compare=False)
    reference: str = field(repr=False)
    candidate: str = field(repr=False)
    parameters: str
    """As JSON, the seed of this repeat included."""
    form: str = "auto"
    repeat: int = 0
    order: Order = "usual"

    @cached_property
    def key(self) -> str:
        """The hash under which the reply is cached."""
        asked = (self.judge, self.prompt.hash, self.parameters, self.form, self.order)
        parts = (*asked, str(self.repeat), self.reference, self.candidate)
        content = "".join([f"{len(part)}:{part}" for part in parts])
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, text: str) -> Answer | Listing:
        """The answer in a reply; `Unreadable` where it is not what was asked for."""
        if isinstance(self.prompt, ListPrompt):
            return self.prompt.read(text, self.reference, self.candidate)
        return read_answer(text, self.prompt)

    def request(self, messages: list[Message]) -> Request:
        """A conversation as it goes to the model."""
        texts = (self.reference, self.candidate)
        return Request(messages, self.prompt.schema_of_answer, self.parameters, texts)


def cached_replies(cache: Cache, question: Question) -> list[str]:
    """The cached replies to a question: the first, and that to the repair if there was one."""
    found: list[str] = []
    key = question.key
    while len(found) < 2 and (reply := cache.find(key)) is not None:
        found.append(reply.text)
        key = repair_key(key, reply)
    return found


def repair_key(key: str, reply: Reply) -> str:
    """The hash under which the reply to a repair is cached."""
    asked = f"repair {key} {reply.text}"
    return hashlib.sha256(asked.encode("utf-8", "backslashreplace")).hexdigest()


def repair_messages(reply: Reply, error: Unreadable) -> list[Message]:
    """The model's own words and what is wrong with them."""
    quoted = reply.text[-_MAX_QUOTED:] or "(nothing)"
    return [
        {"role": "assistant", "content": quoted},
        {"role": "user", "content": REPAIR.format(error=error)},
    ]

"""Judges on a bench: all of them asked about many pairs, many at a time, none twice the same."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from histoeval.judge.prompt import Order, Prompt
from histoeval.judge.question import Question
from histoeval.judge.queue import Outcome, Stream
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Chat
from histoeval.llm.usage import Usage
from histoeval.report import Noun, Pair

Form = Literal["auto", "json_schema", "json_object", "plain"]


class JudgeSampling(Noun):
    """How judges are asked; all of it counts for what they answer."""

    temperature: Annotated[float, Field(ge=0)] = 0.0
    seed: int = 0
    """Of the first repeat; each further one has the next."""
    repeats: Annotated[int, Field(ge=1)] = 1
    check_order: bool = False
    """Ask once more with the candidate shown first."""
    form: Form = "auto"
    body: Mapping[str, Any] = {}
    """What else goes into a request; null takes something out."""

    def parameters(self, prompt: Prompt, repeat: int) -> str:
        """What a request says beside the conversation, as JSON."""
        usual = {"temperature": self.temperature, "seed": self.seed + repeat}
        return json.dumps(usual | {"max_tokens": prompt.most_tokens} | dict(self.body))

    @property
    def identity(self) -> str:
        """One line for signatures."""
        also = json.dumps(dict(self.body), sort_keys=True) if self.body else "none"
        usual = f"temperature={self.temperature:g},seed={self.seed},repeats={self.repeats}"
        order = ",order=both" if self.check_order else ""
        return f"{usual},form={self.form},body={also}{order}"


class JudgeAnswer(NamedTuple):
    """What one judge answered to one asking."""

    judge: str
    repeat: int
    order: Order
    outcome: Outcome


class JudgeRequest(NamedTuple):
    """Everything that is asked about some pairs."""

    prompt: str
    """Its hash."""
    pairs: Sequence[Pair]
    questions: list[list[Question]]
    """Those about each pair."""

    def about(self, prompt: Prompt, pairs: Sequence[Pair]) -> bool:
        """Whether it is just this."""
        return self.prompt == prompt.hash and self.pairs == pairs


class JudgePanel:
    """Some judges, how they are asked, and where their replies are kept."""

    def __init__(
        self, chats: Sequence[Chat], cache: Cache, manner: JudgeSampling, concurrency: int = 16
    ) -> None:
        self.chats = tuple(chats)
        self.judges = tuple(chat.identity for chat in chats)
        """Who sits on it."""
        self.cache = cache
        self.manner = manner
        self.concurrency = concurrency
        self.usage = {chat.identity: Usage() for chat in chats}
        self.settled: Callable[[], None] = _nobody_listens
        """Called for each question that is settled."""
        self._greeted: set[str] = set()
        self._parameters: dict[tuple[int, int], str] = {}
        self._stream: Stream | None = None
        self._expected: deque[JudgeRequest] = deque()
        self._last: tuple[JudgeRequest, list[list[JudgeAnswer]]] | None = None

    @property
    def identity(self) -> str:
        """Who is asked and how, for signatures."""
        return f"{'+'.join(self.judges)},{self.manner.identity}"

    def expect(self, prompt: Prompt, pairs: Sequence[Pair]) -> None:
        """Have judges asked about pairs that somebody will soon want to `ask` about."""
        if not self._expected or not self._expected[-1].about(prompt, pairs):
            self._expected.append(self._asked(prompt, pairs))
            self._take(self._expected[-1])

    def ask(self, prompt: Prompt, pairs: Sequence[Pair]) -> list[list[JudgeAnswer]]:
        """What every judge says of every pair; the last pairs are remembered."""
        if self._last is not None and self._last[0].about(prompt, pairs):
            return self._last[1]
        expected = bool(self._expected) and self._expected[0].about(prompt, pairs)
        asked = self._expected.popleft() if expected else self._asked(prompt, pairs)
        try:
            stream = self._take(asked)
            told = stream.outcomes(q.key for each in asked.questions for q in each)
        except BaseException:
            self.close()
            raise
        if not stream.busy:
            self.close()
        self._last = asked, [[_given(q, told) for q in each] for each in asked.questions]
        return self._last[1]

    def close(self) -> None:
        """Expect no more: ask nothing further, keep what was answered, close connections."""
        self._expected.clear()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    @property
    def questions_a_pair(self) -> int:
        """How often judges are asked about one pair."""
        return len(self.chats) * (self.manner.repeats + self.manner.check_order)

    def questions(self, prompt: Prompt, pair: Pair) -> Iterator[Question]:
        """Everything that is asked about a pair."""
        for judge in self.judges:
            for repeat in range(self.manner.repeats):
                yield self._question(judge, prompt, pair, repeat, "usual")
            if self.manner.check_order:
                yield self._question(judge, prompt, pair, 0, "swapped")

    def _question(
        self, judge: str, prompt: Prompt, pair: Pair, repeat: int, order: Order
    ) -> Question:
        told = (prompt.most_tokens, repeat)
        if told not in self._parameters:
            self._parameters[told] = self.manner.parameters(prompt, repeat)
        parameters = self._parameters[told]
        texts = (pair.reference, pair.candidate)
        return Question(judge, prompt, *texts, parameters, self.manner.form, repeat, order)

    def _asked(self, prompt: Prompt, pairs: Sequence[Pair]) -> JudgeRequest:
        questions = [list(self.questions(prompt, pair)) for pair in pairs]
        return JudgeRequest(prompt.hash, pairs, questions)

    def _take(self, asked: JudgeRequest) -> Stream:
        """The stream, with these questions on their way in it."""
        if self._stream is None:
            self._stream = Stream(
                self.chats, self.cache, self.usage, self.concurrency, self._greeted, self.settled
            )
        self._stream.take(question for each in asked.questions for question in each)
        return self._stream


def _given(question: Question, told: Mapping[str, Outcome]) -> JudgeAnswer:
    return JudgeAnswer(question.judge, question.repeat, question.order, told[question.key])


def _nobody_listens() -> None:
    pass

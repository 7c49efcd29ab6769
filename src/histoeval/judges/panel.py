"""A panel of judges: all of them asked about many pairs, concurrently, and nothing asked twice."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from histoeval.judges.prompt import Order
from histoeval.judges.question import AnyPrompt, Outcome, Question
from histoeval.judges.queue import JudgeQueue
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Chat
from histoeval.llm.usage import Usage
from histoeval.report import Noun, Pair
from histoeval.runtime.recipe import Remade

Form = Literal["auto", "json_schema", "json_object", "plain"]


class JudgeSampling(Noun):
    """How judges are asked; all of it is part of the cache key."""

    temperature: Annotated[float, Field(ge=0)] = 0.0
    seed: int = 0
    """Of the first repeat; repeat n uses seed + n."""
    repeats: Annotated[int, Field(ge=1)] = 1
    check_order: bool = False
    """Ask once more with the candidate shown first."""
    form: Form = "auto"
    body: Mapping[str, Any] = {}
    """Extra fields of the request body; null removes one."""

    def parameters(self, prompt: AnyPrompt, repeat: int) -> str:
        """The request without the conversation, as JSON."""
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
    """What one judge answered to one question."""

    judge: str
    repeat: int
    order: Order
    outcome: Outcome


class _Asked(NamedTuple):
    prompt: str
    """Its hash."""
    pairs: Sequence[Pair]
    answers: list[list[JudgeAnswer]]


class JudgePanel(Remade):
    """Some judges, how they are asked, and the cache of their replies."""

    def __init__(
        self, chats: Sequence[Chat], cache: Cache, manner: JudgeSampling, concurrency: int = 16
    ) -> None:
        self.chats = tuple(chats)
        self.judges = tuple(chat.identity for chat in chats)
        self.cache = cache
        self.manner = manner
        self.concurrency = concurrency
        self.usage = {chat.identity: Usage() for chat in chats}
        self.settled: Callable[[], None] = _ignore
        """Called, in a thread of the panel's own, for each question that has an outcome."""
        self._reachable: set[str] = set()
        self._queue: JudgeQueue | None = None
        self._last: _Asked | None = None

    @property
    def identity(self) -> str:
        """Who is asked and how, for signatures."""
        return f"{'+'.join(self.judges)},{self.manner.identity}"

    def prefetch(self, prompt: AnyPrompt, pairs: Sequence[Pair]) -> None:
        """Start on pairs that `ask` is called about later."""
        self._submit([question for pair in pairs for question in self.questions(prompt, pair)])

    def ask(self, prompt: AnyPrompt, pairs: Sequence[Pair]) -> list[list[JudgeAnswer]]:
        """Every judge's answers about every pair; those about the last pairs are remembered."""
        last = self._last
        if last is not None and last.prompt == prompt.hash and last.pairs == pairs:
            return last.answers
        questions = [list(self.questions(prompt, pair)) for pair in pairs]
        try:
            queue = self._submit([question for each in questions for question in each])
            outcomes = queue.outcomes(question.key for each in questions for question in each)
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise
        finally:
            if self._queue is not None and self._queue.over:
                self.close()
        answers = [
            [JudgeAnswer(q.judge, q.repeat, q.order, outcomes[q.key]) for q in each]
            for each in questions
        ]
        self._last = _Asked(prompt.hash, pairs, answers)
        return answers

    def close(self) -> None:
        """Stop asking and close the connections; what was answered is cached."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    @property
    def questions_a_pair(self) -> int:
        """How many questions are asked about one pair."""
        return len(self.chats) * (self.manner.repeats + self.manner.check_order)

    def questions(self, prompt: AnyPrompt, pair: Pair) -> Iterator[Question]:
        """Everything that is asked about a pair."""
        for judge in self.judges:
            for repeat in range(self.manner.repeats):
                yield self._question(judge, prompt, pair, repeat, "usual")
            if self.manner.check_order:
                yield self._question(judge, prompt, pair, 0, "swapped")

    def _question(
        self, judge: str, prompt: AnyPrompt, pair: Pair, repeat: int, order: Order
    ) -> Question:
        parameters = self.manner.parameters(prompt, repeat)
        texts = (pair.reference, pair.candidate)
        return Question(judge, prompt, *texts, parameters, self.manner.form, repeat, order)

    def _submit(self, questions: Sequence[Question]) -> JudgeQueue:
        if self._queue is None:
            self._queue = JudgeQueue(
                self.chats, self.cache, self.usage, self.concurrency, self._reachable, self.settled
            )
        self._queue.submit(questions)
        return self._queue


def _ignore() -> None:
    pass

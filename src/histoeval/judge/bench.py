"""Judges on a bench: all of them asked about many pairs, many at a time, none twice the same."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from histoeval.errors import EndpointError
from histoeval.judge.cache import Cache
from histoeval.judge.prompt import Order, Prompt
from histoeval.judge.question import Asker, Missing, Question
from histoeval.judge.reading import Answer
from histoeval.judge.replies import Chat
from histoeval.judge.usage import Usage
from histoeval.report import Noun, Pair

FEWEST_FAILURES = 8
"""So many requests in a row must fail, and one for each at a time, to give a service up."""

Form = Literal["auto", "json_schema", "json_object", "plain"]


class Manner(Noun):
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


class Given(NamedTuple):
    """What one judge answered to one asking."""

    judge: str
    repeat: int
    order: Order
    outcome: Answer | Missing


class Bench:
    """Some judges, how they are asked, and where their replies are kept."""

    def __init__(
        self, chats: Sequence[Chat], cache: Cache, manner: Manner, concurrency: int = 16
    ) -> None:
        self.chats = tuple(chats)
        self.cache = cache
        self.manner = manner
        self.concurrency = concurrency
        self.usage = {chat.identity: Usage() for chat in chats}
        self.settled: Callable[[], None] = _nobody_listens
        """Called for each question that is settled."""
        self._greeted: set[str] = set()
        self._parameters: dict[tuple[int, int], str] = {}
        self._last: tuple[str, Sequence[Pair], list[list[Given]]] | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """Who sits on it."""
        return tuple(chat.identity for chat in self.chats)

    @property
    def identity(self) -> str:
        """Who is asked and how, for signatures."""
        return f"{'+'.join(self.judges)},{self.manner.identity}"

    def ask(self, prompt: Prompt, pairs: Sequence[Pair]) -> list[list[Given]]:
        """What every judge says of every pair; the last pairs are remembered."""
        if self._last is None or self._last[0] != prompt.hash or self._last[1] != pairs:
            asked = [list(self.questions(prompt, pair)) for pair in pairs]
            told = _run(self._settle_all(dict.fromkeys(q for each in asked for q in each)))
            given = [[_given(question, told) for question in each] for each in asked]
            self._last = (prompt.hash, pairs, given)
        return self._last[2]

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

    async def _settle_all(
        self, questions: Mapping[Question, object]
    ) -> dict[Question, Answer | Missing]:
        told: dict[Question, Answer | Missing] = {}
        began = perf_counter()
        keys = [question.key for question in questions]
        unknown = set(keys) - self.cache.known(keys)

        def settled_by(chat: Chat) -> Coroutine[Any, Any, None]:
            asker = Asker(chat, self.cache, self.usage[chat.identity], unknown)
            pool = Pool(chat, asker, self.concurrency, self.settled)
            own = [question for question in questions if question.judge == chat.identity]
            if chat.identity in self._greeted or not any(q.key in unknown for q in own):
                return pool.settle(iter(own), told)
            self._greeted.add(chat.identity)
            return pool.greet_and_settle(iter(own), told)

        try:
            await asyncio.gather(*map(settled_by, self.chats))
        finally:
            self.cache.write()
        for chat in self.chats:
            self.usage[chat.identity].retries = chat.retries
        for usage in self.usage.values():
            usage.seconds += perf_counter() - began
        return told


class Pool:
    """Asks one judge, so many questions at a time, and gives up when it is gone."""

    def __init__(
        self, chat: Chat, asker: Asker, concurrency: int, settled: Callable[[], None]
    ) -> None:
        self._chat = chat
        self._settled = settled
        self._asker = asker
        self._concurrency = concurrency
        self._failures = 0
        self._answered = False
        self._gone: str | None = None

    async def greet_and_settle(
        self, questions: Iterator[Question], told: dict[Question, Answer | Missing]
    ) -> None:
        """See that the judge is there before it is asked for the first time; then settle."""
        async with self._chat:
            await self._chat.greet()
        await self.settle(questions, told)

    async def settle(
        self, questions: Iterator[Question], told: dict[Question, Answer | Missing]
    ) -> None:
        """Settle all questions; those who ask share one list of what is left to ask."""
        async with self._chat:
            workers = [self._work(questions, told) for _ in range(self._concurrency)]
            await asyncio.gather(*workers)
        if self._gone is not None:
            raise EndpointError(
                f"{self._chat.identity} is given up: {self._failures} requests in a row failed; "
                f"the last: {self._gone}. What was answered is kept: the same command goes on there"
            )

    async def _work(
        self, questions: Iterator[Question], told: dict[Question, Answer | Missing]
    ) -> None:
        for question in questions:
            if self._gone is not None:
                return
            told[question] = outcome = await self._asker.settle(question)
            self._watch(outcome)
            self._settled()

    def _watch(self, outcome: Answer | Missing) -> None:
        """Count failures in a row; one refusal says little of the next once others were taken."""
        failed = isinstance(outcome, Missing) and outcome.code != "judge_unreadable"
        if not failed:
            self._failures, self._answered = 0, True
            return
        assert isinstance(outcome, Missing)
        if outcome.code == "judge_refused" and self._answered:
            return
        self._failures += 1
        if self._failures >= max(FEWEST_FAILURES, self._concurrency):
            self._gone = outcome.message


def _nobody_listens() -> None:
    pass


def _given(question: Question, told: Mapping[Question, Answer | Missing]) -> Given:
    return Given(question.judge, question.repeat, question.order, told[question])


def _run(work: Coroutine[Any, Any, Any]) -> Any:
    """Do asynchronous work from anywhere, also from a notebook that has a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[Any] = []
    failed: list[BaseException] = []

    def aside() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it belongs
            failed.append(error)

    thread = threading.Thread(target=aside)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]

"""Questions on their way to judges: more are taken in while the first are still waited for.

All of it happens in one thread: judges are spoken to while somebody waits for answers or brings
questions, and what they say meanwhile lies in the sockets until then. So no server waits for a
whole table to be read, or for rows to be written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

from histoeval.errors import EndpointError
from histoeval.judge.answer import Answer
from histoeval.judge.question import Asker, MissingAnswer, Question
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Chat
from histoeval.llm.event_loop import in_a_loop
from histoeval.llm.usage import Usage

FEWEST_FAILURES = 8
"""So many requests in a row must fail, and one for each at a time, to give a service up."""

GRACE_S = 10.0
"""When a judge is given up, what others were asked, or it itself, is waited for so long."""

_TURNS = 4
"""Turns of the loop in which what lies in the sockets is read, and the next is sent."""

_A_FEW = 8
"""Connections that are opened together, so that the first need not wait for all of them."""

Outcome = Answer | MissingAnswer
Heard = Callable[[str, Outcome], None]


class Stream:
    """Takes questions in and hands their outcomes out; to be closed when no more come."""

    def __init__(
        self,
        chats: Sequence[Chat],
        cache: Cache,
        usage: dict[str, Usage],
        concurrency: int,
        greeted: set[str],
        settled: Callable[[], None],
    ) -> None:
        self._cache, self._usage, self._settled = cache, usage, settled
        self._told: dict[str, Outcome | None] = {}
        self._unknown: set[str] = set()
        self._pools: dict[str, RequestPool] = {}
        for chat in chats:
            asker = Asker(chat, cache, usage[chat.identity], self._unknown)
            self._pools[chat.identity] = RequestPool(chat, asker, concurrency, greeted)
        self._awaited: set[str] = set()
        self._all_there: asyncio.Future[None] | None = None
        self._failure: BaseException | None = None
        self._open = AsyncExitStack()
        self._runner = asyncio.Runner()
        self._aside = ThreadPoolExecutor(1) if in_a_loop() else None
        self._began = perf_counter()

    @property
    def busy(self) -> bool:
        """Whether there is anything that was taken in and not handed out."""
        return bool(self._told)

    def take(self, questions: Iterable[Question]) -> None:
        """Have questions asked, those left out that are on their way already."""
        if busy := self.busy:
            self._go_on()
        new = {each.key: each for each in questions if each.key not in self._told}
        unknown = new.keys() - self._cache.known(list(new))
        self._unknown |= unknown
        for key, question in new.items():
            self._told[key] = None
            self._pools[question.judge].add(question, new=key in unknown)
        if not busy:
            self._go_on()

    def outcomes(self, keys: Iterable[str]) -> dict[str, Outcome]:
        """Wait for what was taken in under these keys, and hand it out."""
        wanted = set(keys)
        self._do(self._runner.run, self._until(wanted))
        found = {key: self._told.pop(key) for key in wanted}
        return {key: outcome for key, outcome in found.items() if outcome is not None}

    def close(self) -> None:
        """Ask nothing more, keep what was answered, and let the connections go."""
        self._do(self._runner.run, self._end())
        self._do(self._runner.close)
        if self._aside is not None:
            self._aside.shutdown()
        self._cache.write()
        for judge, pool in self._pools.items():
            self._usage[judge].retries = pool.chat.retries
            self._usage[judge].seconds += perf_counter() - self._began

    def _go_on(self) -> None:
        """Have no server wait: read what it has said so far, and ask it the next."""
        self._do(self._runner.run, self._some_turns())

    async def _some_turns(self) -> None:
        pools = self._pools.values()
        for pool in pools:
            await pool.open(self._open)
        while self._failure is None and any(p.begin(self._heard, self._ended) for p in pools):
            await asyncio.sleep(0)
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    async def _until(self, wanted: set[str]) -> None:
        self._awaited = {key for key in wanted if self._told[key] is None}
        await self._some_turns()
        if self._failure is not None:
            raise self._failure
        if self._awaited:
            self._all_there = asyncio.get_running_loop().create_future()
            await self._all_there

    def _heard(self, key: str, outcome: Outcome) -> None:
        self._told[key] = outcome
        self._unknown.discard(key)
        self._settled()
        self._awaited.discard(key)
        if not self._awaited and self._all_there is not None and not self._all_there.done():
            self._all_there.set_result(None)

    def _ended(self, work: asyncio.Task[None]) -> None:
        """One that asks has no more to ask, or has failed; then all is over."""
        if work.cancelled() or (failure := work.exception()) is None:
            return
        self._failure = self._failure or failure
        if self._all_there is not None and not self._all_there.done():
            self._all_there.set_exception(failure)

    async def _end(self) -> None:
        grace = 0.0 if self._failure is None else GRACE_S
        await asyncio.gather(*[pool.stop(grace) for pool in self._pools.values()])
        await self._open.aclose()

    def _do(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Act here, or beside the loop that runs here already, as one does in a notebook."""
        if self._aside is None:
            return act(*arguments)
        acting = self._aside.submit(act, *arguments)
        try:
            return acting.result()
        except KeyboardInterrupt:
            if self._all_there is not None:
                self._runner.get_loop().call_soon_threadsafe(self._all_there.cancel)
            raise


class RequestPool:
    """Asks one judge, so many questions at a time, and gives up when it is gone."""

    def __init__(self, chat: Chat, asker: Asker, concurrency: int, greeted: set[str]) -> None:
        self.chat = chat
        self._greeted = greeted
        self._asker = asker
        self._concurrency = concurrency
        self._left: deque[Question] = deque()
        self._work: set[asyncio.Task[None]] = set()
        self._opened = self._needed = self._greeting = self._answered = False
        self._there = asyncio.Event()
        self._failures = 0

    def add(self, question: Question, *, new: bool) -> None:
        """One more to ask, after the others; a judge who has to answer a new one must be there."""
        self._left.append(question)
        self._needed |= new

    async def open(self, stack: AsyncExitStack) -> None:
        """Be ready to ask."""
        if not self._opened:
            await stack.enter_async_context(self.chat)
            self._opened = True

    def begin(self, heard: Heard, ended: Callable[[asyncio.Task[None]], None]) -> bool:
        """Have a few more ask, if more can and something is left; whether any have begun."""
        self._work = {each for each in self._work if not each.done()}
        more = min(len(self._left), self._concurrency - len(self._work), _A_FEW)
        for _ in range(more):
            work = asyncio.get_running_loop().create_task(self._ask(heard))
            work.add_done_callback(ended)
            self._work.add(work)
        return more > 0

    async def stop(self, grace: float) -> None:
        """Ask no more; what is under way may still be answered for so many seconds."""
        self._left.clear()
        if grace and self._work:
            await asyncio.wait(self._work, timeout=grace)
        for each in self._work:
            each.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    async def _ask(self, heard: Heard) -> None:
        while self._left:
            if self._needed and not await self._is_there():
                return
            if not self._left:
                return
            question = self._left.popleft()
            outcome = await self._asker.settle(question)
            self._watch(outcome)
            heard(question.key, outcome)

    async def _is_there(self) -> bool:
        """Whether the judge is there: one greets, and the others ask nothing before that."""
        if not self._greeting and self.chat.identity not in self._greeted:
            self._greeting = True
            try:
                await self.chat.greet()
                self._greeted.add(self.chat.identity)
            finally:
                self._there.set()
        elif self._greeting:
            await self._there.wait()
        return self.chat.identity in self._greeted

    def _watch(self, outcome: Outcome) -> None:
        """Count failures in a row; one refusal says little of the next once others were taken."""
        if isinstance(outcome, Answer) or outcome.code == "judge_unreadable":
            self._failures, self._answered = 0, True
            return
        if outcome.code == "judge_refused" and self._answered:
            return
        self._failures += 1
        if self._failures >= max(FEWEST_FAILURES, self._concurrency):
            raise EndpointError(
                f"{self.chat.identity} is given up: {self._failures} requests in a row failed; the "
                f"last: {outcome.message}. What was answered is kept: the same command goes on "
                "there"
            )

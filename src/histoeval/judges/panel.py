"""A panel of judges, asked concurrently and never twice; its scores and its cost."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from histoeval.errors import Problem
from histoeval.judges.prompt import Answer, JudgePrompt, Order, Prompt
from histoeval.judges.queue import JudgeQueue, MissingAnswer, Outcome, Question
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Chat
from histoeval.llm.usage import CHARACTERS_PER_TOKEN, Prices, Usage
from histoeval.metric import Score, Signature
from histoeval.report import Noun, Pair
from histoeval.runtime.memo import Remade

Form = Literal["auto", "json_schema", "json_object", "plain"]


class JudgeSampling(Noun):
    """Sampling, repeats and form of questions to judges; all of it is part of the cache key."""

    temperature: Annotated[float, Field(ge=0)] = 0.0
    seed: int = 0  # of the first repeat; repeat n uses seed + n
    repeats: Annotated[int, Field(ge=1)] = 1
    check_order: bool = False  # ask once more with the candidate shown first
    form: Form = "auto"
    body: Mapping[str, Any] = {}  # extra fields of the request body; null removes one

    def parameters(self, prompt: JudgePrompt, repeat: int) -> str:
        sampling = {"temperature": self.temperature, "seed": self.seed + repeat}
        return json.dumps(sampling | {"max_tokens": prompt.most_tokens} | dict(self.body))

    @property
    def identity(self) -> str:
        body = json.dumps(dict(self.body), sort_keys=True) if self.body else "none"
        sampling = f"temperature={self.temperature:g},seed={self.seed},repeats={self.repeats}"
        order = ",order=both" if self.check_order else ""
        return f"{sampling},form={self.form},body={body}{order}"


class JudgeAnswer(NamedTuple):
    judge: str
    repeat: int
    order: Order
    outcome: Outcome


class JudgePanel(Remade):
    def __init__(
        self, chats: Sequence[Chat], cache: Cache, manner: JudgeSampling, concurrency: int = 16
    ) -> None:
        self.chats = tuple(chats)
        self.judges = tuple(chat.identity for chat in chats)
        self.cache = cache
        self.manner = manner
        self.concurrency = concurrency
        self.usage = {chat.identity: Usage() for chat in chats}
        self.settled: Callable[[], None] = lambda: None  # in a thread of ours, for each outcome
        self._reachable: set[str] = set()
        self._queue: JudgeQueue | None = None
        self._asked: tuple[str, Sequence[Pair]] | None = None
        self._answers: list[list[JudgeAnswer]] = []

    @property
    def identity(self) -> str:
        return f"{'+'.join(self.judges)},{self.manner.identity}"

    def prefetch(self, prompt: JudgePrompt, pairs: Sequence[Pair]) -> None:
        self._submit([question for pair in pairs for question in self.questions(prompt, pair)])

    def ask(self, prompt: JudgePrompt, pairs: Sequence[Pair]) -> list[list[JudgeAnswer]]:
        """Ask every judge about every pair; the answers about the last pairs are cached."""
        if self._asked == (prompt.hash, pairs):
            return self._answers
        by_pair = [list(self.questions(prompt, pair)) for pair in pairs]
        questions = [question for pair_questions in by_pair for question in pair_questions]
        try:
            outcomes = self._submit(questions).outcomes(question.key for question in questions)
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise
        finally:
            if self._queue is not None and self._queue.is_over:
                self.close()
        self._asked = prompt.hash, pairs
        self._answers = [
            [JudgeAnswer(q.judge, q.repeat, q.order, outcomes[q.key]) for q in pair_questions]
            for pair_questions in by_pair
        ]
        return self._answers

    def close(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    @property
    def questions_a_pair(self) -> int:
        return len(self.chats) * (self.manner.repeats + self.manner.check_order)

    def questions(self, prompt: JudgePrompt, pair: Pair) -> Iterator[Question]:
        repeats: list[tuple[int, Order]] = [(n, "usual") for n in range(self.manner.repeats)]
        if self.manner.check_order:
            repeats.append((0, "swapped"))
        texts = (pair.reference, pair.candidate)
        for judge in self.judges:
            for repeat, order in repeats:
                parameters = self.manner.parameters(prompt, repeat)
                yield Question(judge, prompt, *texts, parameters, self.manner.form, repeat, order)

    def _submit(self, questions: Sequence[Question]) -> JudgeQueue:
        if self._queue is None:
            self._queue = JudgeQueue(
                self.chats, self.cache, self.usage, self.concurrency, self._reachable, self.settled
            )
        self._queue.submit(questions)
        return self._queue


class RequestEstimate(Noun):
    """Requests to one judge. Repairs and retries are not included."""

    judge: str
    pairs: int
    questions: int
    cached: int
    tokens_in: int
    tokens_out: int
    measured: bool  # True if tokens are estimated from earlier replies, and not guessed
    seconds: float | None  # None where the judge has never answered before
    cost: float | None
    currency: str

    @property
    def requests(self) -> int:
        return self.questions - self.cached


def estimate(
    panel: JudgePanel, prompt: Prompt, pairs: Iterable[Pair], prices: Prices
) -> list[RequestEstimate]:
    """For each judge the questions, those that are cached, and the cost of the rest."""
    keys: dict[str, set[bytes]] = {judge: set() for judge in panel.judges}
    cached, characters = Counter[str](), Counter[str]()
    pair_count = 0
    for pair in pairs:
        pair_count += 1
        for question in panel.questions(prompt, pair):
            short_key = bytes.fromhex(question.key[:16])
            if short_key in keys[question.judge]:
                continue
            keys[question.judge].add(short_key)
            if panel.cache.find(question.key) is not None:
                cached[question.judge] += 1
            else:
                messages = prompt.messages(pair.reference, pair.candidate, question.order)
                length = sum(len(message["content"]) for message in messages)
                characters[question.judge] += length
    earlier = {
        entry.judge: entry
        for entry in panel.cache.stats()
        if entry.prompt == prompt.identity and entry.characters > 0
    }
    estimates = []
    for judge in panel.judges:
        uncached_count = len(keys[judge]) - cached[judge]
        per_token, answer_tokens, seconds = CHARACTERS_PER_TOKEN, float(prompt.answer_tokens), None
        stats = earlier.get(judge)
        if stats is not None:
            per_token = stats.characters / max(1, stats.tokens_in)
            answer_tokens = stats.tokens_out / stats.replies
            seconds = uncached_count * stats.seconds / stats.replies / panel.concurrency
        tokens_in = round(characters[judge] / per_token)
        tokens_out = round(uncached_count * answer_tokens)
        price = prices.of(judge)
        cost = price and (tokens_in * price.input + tokens_out * price.output) / 1e6
        estimates.append(
            RequestEstimate(
                judge=judge,
                pairs=pair_count,
                questions=len(keys[judge]),
                cached=cached[judge],
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                measured=stats is not None,
                seconds=seconds,
                cost=cost,
                currency=prices.currency,
            )
        )
    return estimates


SPREAD = "spread"
_MAX_NAMED = 3  # missing answers that are named in one message


def missing_problem(answers: Sequence[JudgeAnswer], metric: str) -> Problem | None:
    """The problem of a pair if any of its answers is missing; nothing is imputed."""
    missing = [(a, a.outcome) for a in answers if isinstance(a.outcome, MissingAnswer)]
    if not missing:
        return None
    reasons = []
    for answer, outcome in missing[:_MAX_NAMED]:
        repeat = f", repeat {answer.repeat + 1}" if answer.repeat else ""
        reasons.append(f"{answer.judge.rpartition('@')[0]}{repeat}: {outcome.message}")
    if len(missing) > _MAX_NAMED:
        reasons.append(f"and {len(missing) - _MAX_NAMED} more")
    return Problem(code=missing[0][1].code, metric=metric, message="; ".join(reasons))


def score_of(prompt: Prompt, answers: Sequence[JudgeAnswer], signature: Signature) -> Score:
    """The mean of answers in the usual order; swapped reports are a check, and no part of it."""
    with_outcomes = [(a, a.outcome) for a in answers if isinstance(a.outcome, Answer)]
    scores = [outcome.scores for answer, outcome in with_outcomes if answer.order == "usual"]
    overall = [prompt.overall(criterion_scores) for criterion_scores in scores]
    parts = {
        name: sum([criterion_scores[name] for criterion_scores in scores]) / len(scores)
        for name, _, _ in prompt.scales
    }
    if len(scores) > 1:
        parts |= {f"{name}_{SPREAD}": stdev(s[name] for s in scores) for name in list(parts)}
        parts[SPREAD] = stdev(overall)
    evidence: dict[str, Any] = {"reasoning": with_outcomes[0][1].reasoning}
    if len(with_outcomes) > 1:
        evidence["answers"] = [
            {"judge": answer.judge, "repeat": answer.repeat, "order": answer.order}
            | {"scores": outcome.scores, "reasoning": outcome.reasoning}
            for answer, outcome in with_outcomes
        ]
    broken = [rule.broken_by(o.scores) for _, o in with_outcomes for rule in prompt.consistency]
    if contradictions := [message for message in broken if message is not None]:
        evidence["inconsistent"] = contradictions
    return Score(value=fmean(overall), parts=parts, evidence=evidence, signature=signature)

"""A panel of judges, its score for a pair, and what asking it would cost.

All judges are asked about many pairs, concurrently, and nothing is asked twice.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from histoeval.errors import Problem
from histoeval.judges.prompt import Answer, Order, Prompt
from histoeval.judges.queue import AnyPrompt, JudgeQueue, MissingAnswer, Outcome, Question
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Chat
from histoeval.llm.usage import CHARACTERS_PER_TOKEN, Prices, Usage
from histoeval.metric import Score, Signature
from histoeval.report import Noun, Pair
from histoeval.runtime.memo import Remade

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
        self.settled: Callable[[], None] = lambda: None
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


class RequestEstimate(Noun):
    """Requests to one judge. Repairs and retries are not included."""

    judge: str
    pairs: int
    questions: int
    cached: int
    tokens_in: int
    tokens_out: int
    measured: bool
    """Whether tokens are estimated from earlier replies of this judge, or guessed."""
    seconds: float | None
    """None where the judge has never answered before."""
    cost: float | None
    currency: str

    @property
    def requests(self) -> int:
        """Questions that are not cached."""
        return self.questions - self.cached


class _Count:
    def __init__(self) -> None:
        self.keys: set[bytes] = set()
        self.cached = self.characters = 0


def estimate(
    panel: JudgePanel, prompt: Prompt, pairs: Iterable[Pair], prices: Prices
) -> list[RequestEstimate]:
    """For each judge the questions, those that are cached, and the cost of the rest."""
    counts = {judge: _Count() for judge in panel.judges}
    number = 0
    for pair in pairs:
        number += 1
        for question in panel.questions(prompt, pair):
            count, short_key = counts[question.judge], bytes.fromhex(question.key[:16])
            if short_key in count.keys:
                continue
            count.keys.add(short_key)
            if panel.cache.find(question.key) is not None:
                count.cached += 1
            else:
                messages = prompt.messages(pair.reference, pair.candidate, question.order)
                count.characters += sum(len(message["content"]) for message in messages)
    return [
        _estimate(panel, prompt, judge, number, count, prices) for judge, count in counts.items()
    ]


def _estimate(
    panel: JudgePanel, prompt: Prompt, judge: str, pairs: int, count: _Count, prices: Prices
) -> RequestEstimate:
    left = len(count.keys) - count.cached
    cached = next(
        (k for k in panel.cache.stats() if (k.judge, k.prompt) == (judge, prompt.identity)), None
    )
    measured = cached is not None and cached.characters > 0
    per_token, length, seconds = CHARACTERS_PER_TOKEN, float(prompt.answer_tokens), None
    if cached is not None and measured:
        per_token = cached.characters / max(1, cached.tokens_in)
        length = cached.tokens_out / cached.replies
        seconds = left * cached.seconds / cached.replies / panel.concurrency
    tokens_in, tokens_out = round(count.characters / per_token), round(left * length)
    price = prices.of(judge)
    cost = price and (tokens_in * price.input + tokens_out * price.output) / 1e6
    return RequestEstimate(
        judge=judge,
        pairs=pairs,
        questions=len(count.keys),
        cached=count.cached,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        measured=measured,
        seconds=seconds,
        cost=cost,
        currency=prices.currency,
    )


SPREAD = "spread"
_MAX_NAMED = 3
"""Missing answers that are named in one message."""


def score_of(
    prompt: Prompt, given: Sequence[JudgeAnswer], metric: str, signature: Signature
) -> Score | Problem:
    """The mean of all answers; if one is missing there is no score, since nothing is imputed.

    Answers with the reports swapped are a check, and no part of the score.
    """
    counted = [each for each in given if each.order == "usual"]
    if missing := [each for each in counted if isinstance(each.outcome, MissingAnswer)]:
        return missing_problem(missing, metric)
    scores = [each.outcome.scores for each in counted if isinstance(each.outcome, Answer)]
    overall = [prompt.overall(each) for each in scores]
    parts = {
        name: sum([each[name] for each in scores]) / len(scores) for name, _, _ in prompt.scales
    }
    if len(scores) > 1:
        parts |= {f"{name}_{SPREAD}": stdev(s[name] for s in scores) for name in list(parts)}
        parts[SPREAD] = stdev(overall)
    return Score(
        value=fmean(overall), parts=parts, evidence=_evidence(prompt, given), signature=signature
    )


def missing_problem(missing: Sequence[JudgeAnswer], metric: str) -> Problem:
    """The problem of a pair some of whose answers are missing."""
    reasons = [_missing(each) for each in missing[:_MAX_NAMED]]
    if len(missing) > _MAX_NAMED:
        reasons.append(f"and {len(missing) - _MAX_NAMED} more")
    first = missing[0].outcome
    assert isinstance(first, MissingAnswer)
    return Problem(code=first.code, metric=metric, message="; ".join(reasons))


def _missing(given: JudgeAnswer) -> str:
    assert isinstance(given.outcome, MissingAnswer)
    model = given.judge.rpartition("@")[0]
    which = f", repeat {given.repeat + 1}" if given.repeat else ""
    return f"{model}{which}: {given.outcome.message}"


def _evidence(prompt: Prompt, given: Sequence[JudgeAnswer]) -> dict[str, Any]:
    """The reasoning, all answers if there are several, and contradictions within one."""
    answers = [(each, each.outcome) for each in given if isinstance(each.outcome, Answer)]
    found: dict[str, Any] = {"reasoning": answers[0][1].reasoning}
    if len(answers) > 1:
        found["answers"] = [
            {
                "judge": each.judge,
                "repeat": each.repeat,
                "order": each.order,
                "scores": answer.scores,
                "reasoning": answer.reasoning,
            }
            for each, answer in answers
        ]
    broken = [
        complaint
        for _, answer in answers
        for rule in prompt.consistency
        if (complaint := rule.broken_by(answer.scores)) is not None
    ]
    return found | ({"inconsistent": broken} if broken else {})

"""What judging would cost: counted before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable

from histoeval.judge.panel import JudgePanel
from histoeval.judge.prompt import Prompt
from histoeval.judge.question import Question
from histoeval.llm.service import CHARACTERS_PER_TOKEN
from histoeval.llm.usage import Prices
from histoeval.report import Noun, Pair


class RequestEstimate(Noun):
    """What one judge would be asked. Repairs and retries are not foreseen."""

    judge: str
    pairs: int
    questions: int
    cached: int
    tokens_in: int
    tokens_out: int
    measured: bool
    """Whether tokens are reckoned from earlier replies of this judge, or from a guess."""
    seconds: float | None
    """None where the judge has never answered before."""
    cost: float | None
    currency: str

    @property
    def requests(self) -> int:
        """What is left to ask."""
        return self.questions - self.cached


class _Count:
    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self.cached = self.characters = 0


def estimate(
    bench: JudgePanel, prompt: Prompt, pairs: Iterable[Pair], prices: Prices
) -> list[RequestEstimate]:
    """For each judge how many questions there are, how many are answered, and what the rest is."""
    counts = {judge: _Count() for judge in bench.judges}
    number = 0
    for pair in pairs:
        number += 1
        for question in bench.questions(prompt, pair):
            _count(counts[question.judge], question, bench)
    return [_told(bench, prompt, judge, number, counts[judge], prices) for judge in bench.judges]


def _count(count: _Count, question: Question, bench: JudgePanel) -> None:
    short = bytes.fromhex(question.key[:16])
    if short in count.seen:
        return
    count.seen.add(short)
    if bench.cache.find(question.key) is not None:
        count.cached += 1
        return
    messages = question.prompt.messages(question.reference, question.candidate, question.order)
    count.characters += sum(len(message["content"]) for message in messages)


def _told(
    bench: JudgePanel, prompt: Prompt, judge: str, pairs: int, count: _Count, prices: Prices
) -> RequestEstimate:
    left = len(count.seen) - count.cached
    kept = next(
        (k for k in bench.cache.stats() if (k.judge, k.prompt) == (judge, prompt.identity)), None
    )
    measured = kept is not None and kept.characters > 0
    per_token, long, seconds = CHARACTERS_PER_TOKEN, float(prompt.answer_tokens), None
    if kept is not None and measured:
        per_token = kept.characters / max(1, kept.tokens_in)
        long = kept.tokens_out / kept.replies
        seconds = left * kept.seconds / kept.replies / bench.concurrency
    tokens_in, tokens_out = round(count.characters / per_token), round(left * long)
    price = prices.of(judge)
    cost = price and (tokens_in * price.input + tokens_out * price.output) / 1e6
    return RequestEstimate(
        judge=judge,
        pairs=pairs,
        questions=len(count.seen),
        cached=count.cached,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        measured=measured,
        seconds=seconds,
        cost=cost,
        currency=prices.currency,
    )

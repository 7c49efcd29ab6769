"""What judging would cost, estimated before anything is asked."""

from collections.abc import Iterable

from histoeval.judges.panel import JudgePanel
from histoeval.judges.prompt import Prompt
from histoeval.judges.question import Question
from histoeval.llm.service import CHARACTERS_PER_TOKEN
from histoeval.llm.usage import Prices
from histoeval.report import Noun, Pair


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
        self.seen: set[bytes] = set()
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
            _count(counts[question.judge], question, panel)
    return [_estimate(panel, prompt, judge, number, each, prices) for judge, each in counts.items()]


def _count(count: _Count, question: Question, panel: JudgePanel) -> None:
    short = bytes.fromhex(question.key[:16])
    if short in count.seen:
        return
    count.seen.add(short)
    if panel.cache.find(question.key) is not None:
        count.cached += 1
        return
    messages = question.prompt.messages(question.reference, question.candidate, question.order)
    count.characters += sum(len(message["content"]) for message in messages)


def _estimate(
    panel: JudgePanel, prompt: Prompt, judge: str, pairs: int, count: _Count, prices: Prices
) -> RequestEstimate:
    left = len(count.seen) - count.cached
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
        questions=len(count.seen),
        cached=count.cached,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        measured=measured,
        seconds=seconds,
        cost=cost,
        currency=prices.currency,
    )

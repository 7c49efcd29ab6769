"""A language model as judge: the criteria of a prompt, and one value from 0 to 1."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.callers import argument
from histoeval.errors import Problem
from histoeval.judges.panel import JudgePanel
from histoeval.judges.prompt import Prompt, load_prompt
from histoeval.judges.scoring import score_of
from histoeval.metric import Score
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.report import Pair

AHEAD = 16
"""Questions that are prefetched for each slot: while one is retried, the others need not wait."""


@dataclass(frozen=True, config=STRICT)
class JudgeMetric(ModelMetric):
    """The scores of judges for each pair by a prompt; of `seat` alone where one is named.

    The criteria are in `parts`; the value is the mean of how far each is up its scale.
    """

    judge: Any = None
    prompt: str = "rubric4"
    seat: int | None = None
    models: ClassVar[tuple[str, ...]] = ("judge",)

    def __post_init__(self) -> None:
        """Report a prompt that cannot be used before work begins."""
        _ = self.loaded

    @cached_property
    def loaded(self) -> Prompt:
        """The prompt itself."""
        return load_prompt(self.prompt)

    @property
    def panel(self) -> JudgePanel:
        """The judges that are asked."""
        panel: JudgePanel = self.judge
        return panel

    @property
    def seated(self) -> tuple[str, ...]:
        """The judges whose answers count."""
        judges = self.panel.judges
        return judges if self.seat is None else (judges[self.seat],)

    @property
    def unsigned(self) -> frozenset[str]:
        """Judge and prompt sign for themselves."""
        return frozenset({"name", "judge", "prompt", "seat"})

    def fingerprint(self) -> dict[str, str]:
        """The prompt with its hash, the judges, and how they are asked."""
        prompt = {"prompt": self.loaded.identity}
        if self.judge is None:
            return prompt
        return prompt | {"judge": "+".join(self.seated), "manner": self.panel.manner.identity}

    def unavailable_reason(self) -> str | None:
        """How to name a judge."""
        if self.judge is not None:
            return None
        return (
            f"needs a judge: name {argument('judge')}, or HISTOEVAL_JUDGE_ENDPOINT and "
            "HISTOEVAL_JUDGE_MODEL in the environment"
        )

    @property
    def ahead(self) -> int:
        """How many pairs to prefetch, so that no judge waits for work."""
        return max(1, AHEAD * self.panel.concurrency // self.panel.questions_a_pair)

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        """Start asking about pairs that are scored later."""
        self.panel.prefetch(self.loaded, pairs)

    def stop_prefetch(self) -> None:
        """Stop asking; what was answered is cached."""
        self.panel.close()

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """The score of every pair."""
        return [
            score_of(
                self.loaded,
                [each for each in answers if each.judge in self.seated],
                self.name,
                self.signature,
            )
            for answers in self.panel.ask(self.loaded, pairs)
        ]

"""A language model as judge: the criteria of a prompt, and one value from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.errors import Problem
from histoeval.judge.panel import JudgePanel
from histoeval.judge.prompt import Prompt, load_prompt
from histoeval.judge.scoring import score_of
from histoeval.metric import Score
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.report import Pair

AHEAD = 64
"""So many questions are on their way or answered for each that is asked at a time: while one is
tried again and again, the others need not wait."""


@dataclass(frozen=True, config=STRICT)
class JudgeMetric(ModelMetric):
    """What judges say of each pair by a prompt; of `seat` alone where one is named.

    The criteria are in `parts`; the value is the mean of how far each is up its scale.
    """

    judge: Any = None
    prompt: str = "rubric4"
    seat: int | None = None
    models: ClassVar[tuple[str, ...]] = ("judge",)

    def __post_init__(self) -> None:
        """A prompt that cannot be used is said before work begins."""
        _ = self.loaded

    @cached_property
    def loaded(self) -> Prompt:
        """The prompt itself."""
        return load_prompt(self.prompt)

    @property
    def unsigned(self) -> frozenset[str]:
        """Judge and prompt sign for themselves."""
        return frozenset({"name", "judge", "prompt", "seat"})

    def fingerprint(self) -> dict[str, str]:
        """The prompt down to its hash, who is asked, and how."""
        told = {"prompt": self.loaded.identity}
        if self.judge is None:
            return told
        bench: JudgePanel = self.judge
        judges = bench.judges if self.seat is None else (bench.judges[self.seat],)
        return told | {"judge": "+".join(judges), "manner": bench.manner.identity}

    def unavailable_reason(self) -> str | None:
        """How to name a judge."""
        if self.judge is not None:
            return None
        return (
            "needs a judge: name --endpoint and --model, or HISTOEVAL_JUDGE_ENDPOINT and "
            "HISTOEVAL_JUDGE_MODEL in the environment"
        )

    @property
    def ahead(self) -> int:
        """So many pairs are expected before they are scored, so that no judge waits for work."""
        bench: JudgePanel = self.judge
        return max(1, AHEAD * bench.concurrency // bench.questions_a_pair)

    def expect(self, pairs: Sequence[Pair]) -> None:
        """Have the judges asked about pairs that are scored later."""
        bench: JudgePanel = self.judge
        bench.expect(self.loaded, pairs)

    def expect_no_more(self) -> None:
        """Let the judges go; what they have answered is kept."""
        bench: JudgePanel = self.judge
        bench.close()

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Every pair as the judges see it."""
        bench: JudgePanel = self.judge
        wanted = bench.judges if self.seat is None else (bench.judges[self.seat],)
        return [
            score_of(
                self.loaded,
                [each for each in given if each.judge in wanted],
                self.name,
                self.signature,
            )
            for given in bench.ask(self.loaded, pairs)
        ]

"""A language model as judge: the criteria of a prompt, and one value from 0 to 1."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.callers import argument
from histoeval.errors import Problem
from histoeval.judges.alignment import Alignment, models_of, read_alignment
from histoeval.judges.panel import JudgeAnswer, JudgePanel, score_of
from histoeval.judges.prompt import Prompt, load_prompt
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
    alignment: str = ""
    """A file of `histoeval judge align`; the scores of the judge stay beside the aligned ones."""
    models: ClassVar[tuple[str, ...]] = ("judge",)

    def __post_init__(self) -> None:
        """Report a prompt that cannot be used before work begins."""
        _ = self.loaded
        if self.aligned is not None:
            judges = "" if self.judge is None else models_of("+".join(self.seated))
            self.aligned.demand_fit(f"judge_{self.loaded.name}", self.loaded.identity, judges)

    @cached_property
    def aligned(self) -> Alignment | None:
        """The alignment itself, where one is named."""
        return read_alignment(self.alignment) if self.alignment else None

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
        return frozenset({"name", "judge", "prompt", "seat", "alignment"})

    def fingerprint(self) -> dict[str, str]:
        """The prompt with its hash, the judges, and how they are asked."""
        prompt = {"prompt": self.loaded.identity}
        if self.aligned is not None:
            prompt["alignment"] = self.aligned.identity
        if self.judge is None:
            return prompt
        return prompt | {"judge": "+".join(self.seated), "manner": self.panel.manner.identity}

    def unavailable_reason(self) -> str | None:
        """How to name a judge."""
        return no_judge() if self.judge is None else None

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
        return [self._score(answers) for answers in self.panel.ask(self.loaded, pairs)]

    def _score(self, answers: Sequence[JudgeAnswer]) -> Score | Problem:
        own = [each for each in answers if each.judge in self.seated]
        found = score_of(self.loaded, own, self.name, self.signature)
        if self.aligned is None or isinstance(found, Problem):
            return found
        return self.aligned.applied(found)


def no_judge() -> str:
    """How to name a judge."""
    return (
        f"needs a judge: name {argument('judge')}, or HISTOEVAL_JUDGE_ENDPOINT and "
        "HISTOEVAL_JUDGE_MODEL in the environment"
    )

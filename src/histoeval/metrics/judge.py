"""Language models as judges: the criteria of a prompt as one value, or lists that are weighed."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.callers import argument
from histoeval.concordance.statements import stated
from histoeval.errors import Problem
from histoeval.judges.alignment import Alignment, models_of, read_alignment
from histoeval.judges.listing import Listing, ListPrompt, load_list_prompt
from histoeval.judges.panel import JudgeAnswer, JudgePanel, missing_problem, score_of
from histoeval.judges.prompt import Prompt, load_prompt
from histoeval.judges.queue import MissingAnswer
from histoeval.llm.local import LocalChat
from histoeval.metric import FrozenDict, Score
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.metrics.error_severity import (
    ErrorWeights,
    read_weights,
    weighted,
    weights_hash,
)
from histoeval.metrics.statements import Measure, nothing_stated, shares
from histoeval.report import Pair
from histoeval.resources import resource_path

AHEAD = 16
"""Questions that are prefetched for each slot: while one is retried, the others need not wait."""


@dataclass(frozen=True, config=STRICT)
class JudgedMetric(ModelMetric):
    """A metric that asks judges about each pair, and signs with the prompt and who is asked."""

    judge: Any = None
    models: ClassVar[tuple[str, ...]] = ("judge",)

    @cached_property
    @abstractmethod
    def loaded(self) -> Prompt | ListPrompt:
        """The prompt itself."""

    @property
    def panel(self) -> JudgePanel:
        """The judges that are asked."""
        panel: JudgePanel = self.judge
        return panel

    @property
    def seated(self) -> tuple[str, ...]:
        """The judges whose answers count."""
        return self.panel.judges

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

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        """Start asking about pairs that are scored later."""
        self.panel.prefetch(self.loaded, pairs)

    def stop_prefetch(self) -> None:
        """Stop asking; what was answered is cached."""
        self.panel.close()


@dataclass(frozen=True, config=STRICT)
class JudgeMetric(JudgedMetric):
    """The scores of judges for each pair by a prompt; of `seat` alone where one is named.

    The criteria are in `parts`; the value is the mean of how far each is up its scale.
    """

    prompt: str = "rubric4"
    seat: int | None = None
    alignment: str = ""
    """A file of `histoeval judge align`; the scores of the judge stay beside the aligned ones."""

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
    def seated(self) -> tuple[str, ...]:
        """One judge of the panel, or all of them."""
        judges = self.panel.judges
        return judges if self.seat is None else (judges[self.seat],)

    @property
    def unsigned(self) -> frozenset[str]:
        """Judge and prompt sign for themselves."""
        return frozenset({"name", "judge", "prompt", "seat", "alignment"})

    def fingerprint(self) -> dict[str, str]:
        """The alignment stands behind the prompt."""
        signed = super().fingerprint()
        if self.aligned is None:
            return signed
        return {"prompt": signed["prompt"], "alignment": self.aligned.identity} | signed

    @property
    def ahead(self) -> int:
        """How many pairs to prefetch, so that no judge waits for work."""
        return max(1, AHEAD * self.panel.concurrency // self.panel.questions_a_pair)

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """The score of every pair."""
        scores: list[Score | Problem] = []
        for answers in self.panel.ask(self.loaded, pairs):
            counted = [answer for answer in answers if answer.judge in self.seated]
            score = score_of(self.loaded, counted, self.name, self.signature)
            if self.aligned is not None and isinstance(score, Score):
                score = self.aligned.applied(score)
            scores.append(score)
        return scores


@dataclass(frozen=True, config=STRICT)
class JudgeLists(JudgedMetric):
    """Judges list things about each pair; the value is made of the lists of all of them."""

    asked: ClassVar[str]
    """The prompt."""

    @cached_property
    def loaded(self) -> ListPrompt:
        """The prompt itself."""
        return load_list_prompt(self.asked)

    def unavailable_reason(self) -> str | None:
        """How to name a judge, or that this one cannot write lists."""
        if reason := super().unavailable_reason():
            return reason
        if any(isinstance(chat, LocalChat) for chat in self.panel.chats):
            return "needs a judge behind an endpoint: a local model only fills in scores, not lists"
        return None

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """The score of every pair; nothing is asked about one that states nothing."""
        settled = [self.settled(pair) for pair in pairs]
        asked = [pair for pair, score in zip(pairs, settled, strict=True) if score is None]
        answers = iter(self.panel.ask(self.loaded, asked) if asked else ())
        return [self._score(next(answers)) if score is None else score for score in settled]

    def settled(self, pair: Pair) -> Score | Problem | None:
        """The answer that needs no judge; None where one is asked."""
        del pair
        return None

    def _score(self, given: Sequence[JudgeAnswer]) -> Score | Problem:
        counted = [each for each in given if each.order == "usual"]
        if missing := [each for each in counted if isinstance(each.outcome, MissingAnswer)]:
            return missing_problem(missing, self.name)
        lists = [each.outcome.content for each in counted if isinstance(each.outcome, Listing)]
        scores = [self.weigh(content) for content in lists]
        parts = {name: fmean(each.parts[name] for each in scores) for name in scores[0].parts}
        value = fmean(each.value for each in scores)
        return scores[0].model_copy(update={"value": value, "parts": FrozenDict(parts)})

    @abstractmethod
    def weigh(self, content: Mapping[str, Any]) -> Score:
        """The score of one answer."""


@dataclass(frozen=True, config=STRICT)
class JudgeStatements(JudgeLists):
    """`statement_f1`, with verdicts by a language model."""

    measure: Measure = "f1"
    asked: ClassVar[str] = "statements"

    def settled(self, pair: Pair) -> Score | Problem | None:
        """Where a report states nothing there is nothing to ask."""
        if stated(pair.reference) and stated(pair.candidate):
            return None
        sides = {
            side: [{"text": each.text, "verdict": "neither"} for each in stated(text)]
            for side, text in (("reference", pair.reference), ("candidate", pair.candidate))
        }
        if not any(sides.values()) and pair.reference != pair.candidate:
            return nothing_stated(self.name)
        return self.weigh(sides)

    def weigh(self, content: Mapping[str, Any]) -> Score:
        """Precision, recall and F1 of the verdicts."""
        parts = shares(content["reference"], content["candidate"])
        value = parts[self.measure]
        return Score(value=value, parts=parts, evidence=content, signature=self.signature)


@dataclass(frozen=True, config=STRICT)
class JudgeErrors(JudgeLists):
    """`error_severity`, with errors and severities by a language model."""

    weights: str = ""
    """A TOML file; without one, the weights of this package."""
    asked: ClassVar[str] = "errors"

    def __post_init__(self) -> None:
        """Report weights that cannot be used before work begins."""
        _ = self.error_weights

    @cached_property
    def error_weights(self) -> ErrorWeights:
        """The weights themselves."""
        return read_weights(Path(self.weights or resource_path("metrics/data/error_weights.toml")))

    @property
    def unsigned(self) -> frozenset[str]:
        """The weights are signed by their content."""
        return super().unsigned | {"weights"}

    def fingerprint(self) -> dict[str, str]:
        """The judges, and the weights."""
        return super().fingerprint() | {"weights": weights_hash(self.error_weights)}

    def weigh(self, content: Mapping[str, Any]) -> Score:
        """The weighed errors."""
        found = weighted(content, self.error_weights)
        return Score(
            value=found.value, parts=found.parts, evidence=found.evidence, signature=self.signature
        )

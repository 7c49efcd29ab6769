"""Severity of errors and precision of statements by a language model: what it lists is weighed."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.concordance.statements import stated
from histoeval.errors import Problem
from histoeval.judges.listing import Listing, ListPrompt, load_list_prompt
from histoeval.judges.panel import JudgeAnswer, JudgePanel, missing_problem
from histoeval.judges.queue import MissingAnswer
from histoeval.llm.local import LocalChat
from histoeval.metric import FrozenDict, Score
from histoeval.metrics.base import STRICT, ModelMetric
from histoeval.metrics.judge import no_judge
from histoeval.metrics.radiology.error_severity import (
    ErrorWeights,
    read_weights,
    weighted,
    weights_hash,
)
from histoeval.metrics.radiology.statements import Measure, nothing_stated, shares
from histoeval.report import Pair
from histoeval.resources import resource_path


@dataclass(frozen=True, config=STRICT)
class JudgeLists(ModelMetric):
    """Judges list things about each pair; the value is made of the lists of all of them."""

    judge: Any = None
    models: ClassVar[tuple[str, ...]] = ("judge",)
    asked: ClassVar[str]
    """The prompt."""

    @cached_property
    def loaded(self) -> ListPrompt:
        """The prompt itself."""
        return load_list_prompt(self.asked)

    @property
    def panel(self) -> JudgePanel:
        """The judges that are asked."""
        panel: JudgePanel = self.judge
        return panel

    def fingerprint(self) -> dict[str, str]:
        """The prompt with its hash, the judges, and how they are asked."""
        prompt = {"prompt": self.loaded.identity}
        if self.judge is None:
            return prompt
        manner = self.panel.manner.identity
        return prompt | {"judge": "+".join(self.panel.judges), "manner": manner}

    def unavailable_reason(self) -> str | None:
        """How to name a judge, or that this one cannot write lists."""
        if self.judge is None:
            return no_judge()
        if any(isinstance(chat, LocalChat) for chat in self.panel.chats):
            return "needs a judge behind an endpoint: a local model only fills in scores, not lists"
        return None

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        """Start asking about pairs that are scored later."""
        self.panel.prefetch(self.loaded, pairs)

    def stop_prefetch(self) -> None:
        """Stop asking; what was answered is cached."""
        self.panel.close()

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """The score of every pair; nothing is asked about one that states nothing."""
        known = [self.settled(pair) for pair in pairs]
        open_ = [pair for pair, found in zip(pairs, known, strict=True) if found is None]
        answers = iter(self.panel.ask(self.loaded, open_) if open_ else ())
        return [self._score(next(answers)) if found is None else found for found in known]

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

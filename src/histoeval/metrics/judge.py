"""Language models as judges: the criteria of a prompt as one value, or lists that are weighed."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.argument_names import argument
from histoeval.concordance.statements import stated
from histoeval.errors import Problem
from histoeval.judges.alignment import Alignment, models_of, read_alignment
from histoeval.judges.listing import Listing, ListPrompt, load_list_prompt
from histoeval.judges.panel import JudgeAnswer, JudgePanel, missing_problem, score_of
from histoeval.judges.prompt import JudgePrompt, Prompt, load_prompt
from histoeval.llm.local import LocalChat
from histoeval.metric import FrozenDict, Score
from histoeval.metrics.base import STRICT, ModelMetric, score_pairs
from histoeval.metrics.error_severity import WeighsErrors
from histoeval.metrics.statements import NOTHING_STATED, Measure, statement_score
from histoeval.report import Pair

AHEAD = 16  # questions prefetched for each slot: while one is retried, others need not wait


@dataclass(frozen=True, config=STRICT)
class JudgedMetric(ModelMetric):
    """A metric that asks judges about each pair; the signature has the prompt and the judges."""

    judge: Any = None
    models: ClassVar[tuple[str, ...]] = ("judge",)

    @property
    @abstractmethod
    def loaded(self) -> JudgePrompt: ...

    @property
    def panel(self) -> JudgePanel:
        panel: JudgePanel = self.judge
        return panel

    @property
    def seated(self) -> tuple[str, ...]:
        """The judges whose answers count."""
        return self.panel.judges

    def fingerprint(self) -> dict[str, str]:
        settings = {"prompt": self.loaded.identity}
        if self.judge is not None:
            settings |= {"judge": "+".join(self.seated), "manner": self.panel.manner.identity}
        return settings

    def unavailable_reason(self) -> str | None:
        if self.judge is not None:
            return None
        return (
            f"needs a judge: name {argument('judge')}, or HISTOEVAL_JUDGE_ENDPOINT and "
            "HISTOEVAL_JUDGE_MODEL in the environment"
        )

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self.panel.prefetch(self.loaded, pairs)

    def stop_prefetch(self) -> None:
        self.panel.close()

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return score_pairs([self.score_unasked(pair) or pair for pair in pairs], self._score_asked)

    def score_unasked(self, pair: Pair) -> Score | Problem | None:  # noqa: ARG002
        return None

    def _score_asked(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        scores: list[Score | Problem] = []
        for answers in self.panel.ask(self.loaded, pairs):
            seated_answers = [answer for answer in answers if answer.judge in self.seated]
            usual_answers = [answer for answer in seated_answers if answer.order == "usual"]
            scores.append(missing_problem(usual_answers, self.name) or self.combine(seated_answers))
        return scores

    @abstractmethod
    def combine(self, answers: Sequence[JudgeAnswer]) -> Score:
        """Combine the answers of all judges, in both orders if both were asked, into a score."""


@dataclass(frozen=True, config=STRICT)
class JudgeMetric(JudgedMetric):
    """The scores of judges for each pair by a prompt; of `seat` alone where one is named.

    The criteria are in `parts`; the value is the mean of how far each is up its scale.
    """

    prompt: str = "rubric4"
    seat: int | None = None
    alignment: str = ""  # a file of `histoeval judge align`; the raw scores stay beside its own

    def __post_init__(self) -> None:
        # a prompt or an alignment that cannot be used is reported before work begins
        name, identity = f"judge_{self.loaded.name}", self.loaded.identity
        if self.aligned is not None:
            judges = "" if self.judge is None else models_of("+".join(self.seated))
            self.aligned.demand_fit(name, identity, judges)

    @cached_property
    def aligned(self) -> Alignment | None:
        return read_alignment(self.alignment) if self.alignment else None

    @cached_property
    def loaded(self) -> Prompt:
        return load_prompt(self.prompt)

    @property
    def seated(self) -> tuple[str, ...]:
        judges = self.panel.judges
        return judges if self.seat is None else (judges[self.seat],)

    @property
    def unsigned(self) -> frozenset[str]:
        return frozenset({"name", "judge", "prompt", "seat", "alignment"})

    def fingerprint(self) -> dict[str, str]:
        signed = super().fingerprint()
        if self.aligned is None:
            return signed
        return {"prompt": signed["prompt"], "alignment": self.aligned.identity} | signed

    @property
    def ahead(self) -> int:
        """The number of pairs to prefetch, so that no judge waits for work."""
        return max(1, AHEAD * self.panel.concurrency // self.panel.questions_a_pair)

    def combine(self, answers: Sequence[JudgeAnswer]) -> Score:
        score = score_of(self.loaded, answers, self.signature)
        return score if self.aligned is None else self.aligned.applied(score)


@dataclass(frozen=True, config=STRICT)
class JudgeLists(JudgedMetric):
    """A metric for which judges list statements or errors; the value comes from all lists."""

    asked: ClassVar[str]  # the name of the prompt

    @cached_property
    def loaded(self) -> ListPrompt:
        return load_list_prompt(self.asked)

    def unavailable_reason(self) -> str | None:
        if reason := super().unavailable_reason():
            return reason
        if any(isinstance(chat, LocalChat) for chat in self.panel.chats):
            return "needs a judge behind an endpoint: a local model only fills in scores, not lists"
        return None

    def combine(self, answers: Sequence[JudgeAnswer]) -> Score:
        outcomes = [answer.outcome for answer in answers if answer.order == "usual"]
        scores = [self.weigh(lists.content) for lists in outcomes if isinstance(lists, Listing)]
        parts = {name: fmean(score.parts[name] for score in scores) for name in scores[0].parts}
        value = fmean(score.value for score in scores)
        return scores[0].model_copy(update={"value": value, "parts": FrozenDict(parts)})

    @abstractmethod
    def weigh(self, content: Mapping[str, Any]) -> Score: ...


@dataclass(frozen=True, config=STRICT)
class JudgeStatements(JudgeLists):
    """`statement_f1`, with verdicts by a language model."""

    measure: Measure = "f1"
    asked: ClassVar[str] = "statements"

    def score_unasked(self, pair: Pair) -> Score | Problem | None:
        """Score without a question a pair of which a report states nothing."""
        reports = {"reference": stated(pair.reference), "candidate": stated(pair.candidate)}
        if all(reports.values()):
            return None
        if not any(reports.values()) and pair.reference != pair.candidate:
            return self._failed(NOTHING_STATED)
        return self.weigh(
            {
                side: [{"text": statement.text, "verdict": "neither"} for statement in statements]
                for side, statements in reports.items()
            }
        )

    def weigh(self, content: Mapping[str, Any]) -> Score:
        return statement_score(**content, measure=self.measure, signature=self.signature)


@dataclass(frozen=True, config=STRICT)
class JudgeErrors(WeighsErrors, JudgeLists):
    """`error_severity`, with errors and severities by a language model."""

    asked: ClassVar[str] = "errors"

    def weigh(self, content: Mapping[str, Any]) -> Score:
        return self.error_weights.score(content, self.signature)

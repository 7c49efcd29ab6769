"""Base classes of metrics: single pairs, corpus scores, settings that are checked and signed.

A metric of your own derives from `PairMetric` (one pair at a time), `ModelMetric` (with models) or
`MetricBase` (anything that has `score`).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from histoeval.argument_names import argument
from histoeval.errors import HistoEvalError, InputError, Problem, SettingError
from histoeval.io.tables.records import text_of
from histoeval.metric import CorpusScore, Explanation, Metric, PartCost, Score, Signature
from histoeval.report import Pair
from histoeval.terms.language import Language, english_problem

STRICT = ConfigDict(extra="forbid")
MAX_CHARS = 200_000  # a longer report, of more than some 30,000 words, is a problem of its row

Texts = str | Sequence[str]
T = TypeVar("T")
RENAMED = {"obstacle": "unavailable_reason", "pins": "fingerprint"}  # old names, which still warn


def _renamed(old: str, new: str, method: Callable[..., T]) -> Callable[..., T]:

    def call(self: Any) -> T:
        _warn_renamed(old, new)
        return method(self)

    return call


def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"{old}() of a metric is now {new}()", DeprecationWarning, stacklevel=3)


class MetricBase(ABC):
    """Single pairs, corpora and defaults, on top of `name`, `signature` and `score`."""

    if TYPE_CHECKING:  # fields, class variables or properties of the metrics themselves

        @property
        def name(self) -> str: ...

        @property
        def higher_is_better(self) -> bool: ...
    else:
        higher_is_better = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep metrics with the old method names working, with a warning."""
        super().__init_subclass__(**kwargs)
        for old, new in RENAMED.items():
            if old in vars(cls) and new not in vars(cls):
                _warn_renamed(f"{cls.__name__}.{old}", new)
                setattr(cls, new, vars(cls)[old])
            elif new in vars(cls):
                setattr(cls, old, _renamed(old, new, vars(cls)[new]))

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def signature(self) -> Signature:
        return self._signed({})

    def _signed(self, settings: Mapping[str, str]) -> Signature:
        low, high = (bound if isfinite(bound) else None for bound in self.range)
        return Signature(metric=self.name.partition(":")[0], settings=settings, bounds=(low, high))

    def unavailable_reason(self) -> str | None:
        return None

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """Return the mean, unless a metric is counted over the whole corpus."""
        return mean

    @abstractmethod
    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair, in the order of the pairs."""

    def __call__(self, reference: str, candidate: str) -> Score:
        """Score one pair, or raise a `HistoEvalError` with the reason why it has no score.

        Examples:
            >>> float(histoeval.load("bleu")("Colon: adenoma.", "Colon: adenoma."))
            100.0
        """
        (answer,) = self._answers([candidate], [reference])
        if isinstance(answer, Problem):
            raise HistoEvalError(f"{self.name}: {answer.message}")
        return answer.model_copy(update={"pair": pair_of(reference, candidate)})

    def rewards(self, candidates: Texts, references: Texts) -> list[float | None]:
        """Return a number for each candidate, for a training loop; None for no score.

        Examples:
            >>> histoeval.load("bleu").rewards(["a b c d", ""], ["a b c d", "a b c d"])
            [100.0, None]
        """
        answers = self._answers(candidates, references)
        return [answer.value if isinstance(answer, Score) else None for answer in answers]

    def explain(self, pair: Pair) -> Explanation | Problem:
        """Score one pair, with the cost of each part and error where the metric knows it."""
        (answer,) = self.score([pair])
        return answer if isinstance(answer, Problem) else explained(answer)

    def compute(
        self, *, predictions: Texts | None = None, references: Texts | None = None
    ) -> CorpusScore:
        """The score of a whole corpus, as sacrebleu and evaluate give it.

        Args:
            predictions: the candidates; without any, those that `update` has collected.
            references: as many references.

        Returns:
            The corpus value, the mean, and a score or a problem for each pair. Pairs that cannot
            be scored do not count; where none can be, a `HistoEvalError` says why.

        Examples:
            >>> bleu = histoeval.load("bleu")
            >>> float(bleu.compute(predictions=["a b c d"], references=["a b c d"]))
            100.0
        """
        if predictions is None and references is None:
            answers = list(self._collected)
        else:
            columns = (() if texts is None else texts for texts in (predictions, references))
            answers = self._answers(*columns)
        scores = [answer for answer in answers if isinstance(answer, Score)]
        if not scores:
            reason = next((a.message for a in answers if isinstance(a, Problem)), "no pairs given")
            raise HistoEvalError(f"{self.name}: {reason}")
        mean = sum(score.value for score in scores) / len(scores)
        counts = [sum(column) for column in zip(*(score.counts for score in scores), strict=True)]
        return CorpusScore(
            value=self.corpus_value(mean, counts),
            mean=mean,
            scores=tuple(answers),
            signature=scores[0].signature,
        )

    def update(self, candidates: Texts, references: Texts) -> None:
        """Score some pairs and collect them for `compute()`, as in torchmetrics."""
        self._collected.extend(self._answers(candidates, references))

    def reset(self) -> None:
        self._collected.clear()

    @cached_property
    def _collected(self) -> list[Score | Problem]:
        return []

    def _answers(self, candidates: Texts, references: Texts) -> list[Score | Problem]:
        self._demand_available()
        texts = zip(*equally_long(candidates, references), strict=True)
        pairs = [
            pair_of(reference, candidate, number=number)
            for number, (candidate, reference) in enumerate(texts)
        ]
        return score_pairs(pairs, self.score)

    def _demand_available(self) -> None:
        if reason := self.unavailable_reason():
            raise SettingError(f"{self.name} {reason}")

    def _failed(self, message: str) -> Problem:
        return Problem(code="metric_failed", metric=self.name, message=message)

    obstacle = _renamed("obstacle", "unavailable_reason", unavailable_reason)


def score_pairs(
    pairs: Sequence[Pair | Score | Problem],
    score: Callable[[list[Pair]], Sequence[Score | Problem]],
) -> list[Score | Problem]:
    """Score the pairs of a list; its answers and problems stay in their places."""
    unanswered = [pair for pair in pairs if isinstance(pair, Pair)]
    answers = iter(score(unanswered) if unanswered else ())
    return [next(answers) if isinstance(pair, Pair) else pair for pair in pairs]


def equally_long(candidates: Any, references: Any) -> tuple[list[Any], list[Any]]:
    """Return candidates and references as lists, made of a list, column, generator or one text."""
    columns = {"candidates": candidates, "references": references}
    for name, texts in columns.items():
        if isinstance(texts, str):
            columns[name] = [texts]
        elif isinstance(texts, bytes | Mapping | AbstractSet) or not isinstance(texts, Iterable):
            raise SettingError(f"{name} are a {type(texts).__name__}: give a list of texts")
        else:
            columns[name] = list(texts)
    candidate_texts, reference_texts = columns.values()
    if len(candidate_texts) != len(reference_texts):
        raise SettingError(
            f"{len(candidate_texts)} candidates for {len(reference_texts)} references; "
            "there must be one for each"
        )
    return candidate_texts, reference_texts


def length_problem(**texts: str) -> Problem | None:
    for name, text in texts.items():
        if len(text) > MAX_CHARS:
            return Problem(
                code="too_long",
                message=f"the {name} has {len(text):,} characters, and a report is read up to "
                f"{MAX_CHARS:,}: divide it into its reports, or leave it out",
            )
    return None


def pair_of(reference: object, candidate: object, *, number: int = 0) -> Pair | Problem:
    texts: dict[str, Any] = {"reference": reference, "candidate": candidate}
    for name, text in texts.items():
        if not isinstance(fault := text_of(text), str):
            return fault.problem(f"pair {number + 1}", name)
    return Pair(id=str(number), **texts)


def explained(
    score: Score, breakdown: Sequence[PartCost] = (), without: Sequence[float] = ()
) -> Explanation:
    """Add to a score the cost of its parts and its value without each of its errors."""
    evidence = dict(score.evidence)
    if without:
        evidence["errors"] = [
            {**error, "without": value}
            for error, value in zip(evidence["errors"], without, strict=True)
        ]
    return Explanation(**dict(score) | {"evidence": evidence, "breakdown": tuple(breakdown)})


def explain_pair(metric: Metric, pair: Pair | Problem) -> Explanation:
    """Explain the score of one pair, or raise a `HistoEvalError` with the reason for none."""
    if isinstance(pair, Problem):
        raise InputError(pair.message)
    if reason := metric.unavailable_reason():
        raise SettingError(f"{metric.name} {reason}")
    answer = metric.explain(pair) if isinstance(metric, MetricBase) else metric.score([pair])[0]
    if isinstance(answer, Problem):
        raise HistoEvalError(f"{metric.name} could not score {pair.id!r}: {answer.message}")
    explanation = answer if isinstance(answer, Explanation) else explained(answer)
    return explanation.model_copy(update={"pair": pair})


class AdaptedMetric(MetricBase):
    """A metric by somebody else: `name` and `score` are required, all else is optional."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric

    def __getattr__(self, name: str) -> Any:
        if name == "_metric":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._metric, name)

    @property
    def name(self) -> str:
        return str(self._metric.name)

    @property
    def higher_is_better(self) -> bool:
        return bool(getattr(self._metric, "higher_is_better", True))

    @property
    def range(self) -> tuple[float, float]:
        return cast("tuple[float, float]", getattr(self._metric, "range", super().range))

    @property
    def signature(self) -> Signature:
        signature = getattr(self._metric, "signature", None)
        return signature if isinstance(signature, Signature) else super().signature

    def unavailable_reason(self) -> str | None:
        method = getattr(self._metric, "unavailable_reason", None)
        if method is None and (method := getattr(self._metric, "obstacle", None)) is not None:
            _warn_renamed(f"{type(self._metric).__name__}.obstacle", "unavailable_reason")
        return None if method is None else cast("str | None", method())

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:
        method = getattr(self._metric, "corpus_value", None)
        return mean if method is None else float(method(mean, counts))

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return cast("list[Score | Problem]", self._metric.score(pairs))


def as_metric(metric: object) -> Metric:
    if isinstance(metric, MetricBase | Metric):
        return metric
    if not hasattr(metric, "name") or not callable(getattr(metric, "score", None)):
        raise SettingError(f"{metric!r} is not a metric: it needs `name` and `score(pairs)`")
    return AdaptedMetric(metric)


@dataclass(frozen=True, config=STRICT)
class SettledMetric(MetricBase):
    """A metric whose settings are its fields: validated on creation, listed in the signature."""

    name: str

    def __getstate__(self) -> dict[str, Any]:
        """Return settings, models and the answers of `update`; caches are left out."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        return settings | {"_collected": list(self._collected)}

    @property
    def unsigned(self) -> frozenset[str]:
        """Fields that are not settings."""
        return frozenset({"name"})

    @cached_property
    def signature(self) -> Signature:
        settings = {
            f.name: str(getattr(self, f.name)) for f in fields(self) if f.name not in self.unsigned
        }
        return self._signed(settings | self.fingerprint())

    def fingerprint(self) -> dict[str, str]:
        """Library versions, model hashes and whatever else a score depends on besides settings."""
        return {}


class ModelMetric(SettledMetric, ABC):
    """A metric that needs models: the fields named in `models`, signed by their identities."""

    models: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Return one answer per pair; the models are available."""

    @property
    def needed(self) -> tuple[str, ...]:
        return self.models

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        self._demand_available()
        return self.score_ready(pairs)

    def unavailable_reason(self) -> str | None:
        missing = [name for name in self.needed if getattr(self, name) is None]
        if not missing:
            return None
        ways = " and ".join(argument(name) for name in missing)
        return f"needs models: name {ways} (a folder or a hub name; extra [hf])"

    def fingerprint(self) -> dict[str, str]:
        loaded = ((name, getattr(self, name)) for name in self.models)
        return {name: model.identity for name, model in loaded if model is not None}

    @property
    def unsigned(self) -> frozenset[str]:
        return frozenset({"name", *self.models})


@dataclass(frozen=True, config=STRICT)
class EnglishMetric(ModelMetric, ABC):
    """A metric that reads English: a pair in another language is a problem, unless `any` is set."""

    language: Language = "en"

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        self._demand_available()
        return score_pairs([self.unreadable(pair) or pair for pair in pairs], self.score_ready)

    def unreadable(self, pair: Pair) -> Problem | None:
        texts = {"reference": pair.reference, "candidate": pair.candidate}
        problem = length_problem(**texts) or english_problem(self.language, **texts)
        return None if problem is None else replace(problem, metric=self.name)

    @property
    def unsigned(self) -> frozenset[str]:
        return super().unsigned | ({"language"} if self.language == "en" else set())


class PairMetric(SettledMetric, ABC):
    """A metric that scores one pair at a time."""

    @abstractmethod
    def score_pair(self, reference: str, candidate: str) -> Score: ...

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Score each pair by itself; a pair that cannot be scored becomes a problem."""
        answers: list[Score | Problem] = []
        for pair in pairs:
            try:
                answers.append(self.score_pair(pair.reference, pair.candidate))
            except HistoEvalError as error:
                answers.append(self._failed(str(error)))
        return answers


def one_each(scores: list[Score | Problem], pairs: Sequence[Pair]) -> list[Score | Problem]:
    """Check that a metric returned one score or problem for each pair."""
    if len(scores) != len(pairs):
        raise ValueError(f"{len(scores)} answers for {len(pairs)} pairs")
    for score in scores:
        if not isinstance(score, Score | Problem):
            raise TypeError(f"{type(score).__name__} where a score or a problem was expected")
    return scores

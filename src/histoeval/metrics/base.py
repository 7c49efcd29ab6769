"""What the metrics share: settings that are checked, signed, and applied pair by pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from functools import cached_property
from typing import ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from histoeval.errors import HistoEvalError, Problem, SettingError
from histoeval.metric import Score, Signature
from histoeval.report import Pair

STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=STRICT)
class SettledMetric:
    """A metric whose settings are its fields: checked when it is made, listed when it signs."""

    name: str
    higher_is_better: ClassVar[bool] = True

    @property
    def unsigned(self) -> frozenset[str]:
        """Fields that are no settings."""
        return frozenset({"name"})

    @property
    def range(self) -> tuple[float, float]:
        """From 0 to 1, unless a metric says otherwise."""
        return (0.0, 1.0)

    @cached_property
    def signature(self) -> Signature:
        """The metric, its settings, and what else `pins` names."""
        settings = {
            f.name: str(getattr(self, f.name)) for f in fields(self) if f.name not in self.unsigned
        }
        return Signature(metric=self.name.partition(":")[0], settings=settings | self.pins())

    def pins(self) -> dict[str, str]:
        """What a number depends on beside the settings: library versions, model hashes."""
        return {}

    def obstacle(self) -> str | None:
        """Nothing stands in the way, unless a metric says otherwise."""
        return None

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """The mean, unless a metric is counted over the whole corpus."""
        return mean


class ModelMetric(SettledMetric, ABC):
    """A metric that needs models: fields that name them are given, signed by what they are."""

    models: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair, the models being there."""

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer per pair."""
        if reason := self.obstacle():
            raise SettingError(f"{self.name} {reason}")
        return self.score_ready(pairs)

    def obstacle(self) -> str | None:
        """Which models are lacking, and how to name them."""
        lacking = [name for name in self.models if getattr(self, name) is None]
        if not lacking:
            return None
        return (
            f"needs models: name {' and '.join(f'--{name}' for name in lacking)} "
            "(a folder or a hub name; extra [hf])"
        )

    def pins(self) -> dict[str, str]:
        """The models, down to their weights."""
        given = {name: getattr(self, name) for name in self.models}
        return {name: model.identity for name, model in given.items() if model is not None}

    @property
    def unsigned(self) -> frozenset[str]:
        """Models sign for themselves."""
        return frozenset({"name", *self.models})


class PairMetric(SettledMetric, ABC):
    """A metric that looks at one pair at a time."""

    @abstractmethod
    def score_pair(self, reference: str, candidate: str) -> Score:
        """The score of one pair of texts."""

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Each pair on its own; a pair that cannot be scored is a problem, not a number."""
        return [self._answer(pair) for pair in pairs]

    def _answer(self, pair: Pair) -> Score | Problem:
        try:
            return self.score_pair(pair.reference, pair.candidate)
        except HistoEvalError as error:
            return Problem(code="metric_failed", metric=self.name, message=str(error))

"""The rubric's four criteria without a language model: the same columns that a judge gives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.concord.evidence import evidence_of
from histoeval.concord.rubric import judge, overall, reasoning
from histoeval.errors import Problem
from histoeval.metrics.base import ModelMetric
from histoeval.metrics.concordance import (
    Compared,
    Concordance,
    nothing_to_compare,
    weights,
    weights_hash,
)
from histoeval.report import Pair
from histoeval.score import Score


@dataclass(frozen=True)
class RubricOffline(ModelMetric):
    """Four criteria in `parts`, their mean on a scale from 0 to 1, and why in `evidence`."""

    reader: Any = None
    aligner: Any = None
    models: ClassVar[tuple[str, ...]] = ("reader", "aligner")

    def pins(self) -> dict[str, str]:
        """The models, and the weights of the parts."""
        return super().pins() | {"weights": weights_hash()}

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """Each pair compared as concordance does, and judged by each criterion."""
        return [
            self._score(each)
            if each.says_something or pair.reference == pair.candidate
            else nothing_to_compare(self.name)
            for pair, each in zip(pairs, self._concordance.compare(pairs), strict=True)
        ]

    @cached_property
    def _concordance(self) -> Concordance:
        return Concordance(name="concordance", reader=self.reader, aligner=self.aligner)

    def _score(self, compared: Compared) -> Score:
        parts = list(compared.parts.values())
        scores = judge(weights().criteria, compared.values, parts)
        return Score(
            value=overall(scores),
            parts={name: float(score) for name, score in scores.items()},
            evidence={"reasoning": reasoning(scores, parts)} | evidence_of(parts),
            signature=self.signature,
        )

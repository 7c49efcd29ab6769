"""Probes made of a few words, and a metric that says what it is told to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from histoeval.errors import Problem
from histoeval.evaluate.probes import Edit, Effect, Probe
from histoeval.metric import Score
from histoeval.metrics.base import MetricBase
from histoeval.report import Pair


def edit(severity: int, text: str, kind: str | None = None) -> Edit:
    """An edit; its severity says whether it does harm."""
    effect = Effect.HARMFUL if severity else Effect.HARMLESS
    return Edit(kind=kind or f"{effect}-{severity}", effect=effect, severity=severity, text=text)


def probe(name: str, *edits: Edit) -> Probe:
    """A reference whose text is its name."""
    return Probe(id=name, reference=name, edits=edits)


@dataclass
class TableMetric(MetricBase):
    """Gives each candidate the value that a table has for it; a reference scores the best."""

    values: Mapping[str, float]
    best: float = 1.0
    name: str = "table"
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [self._answer(pair) for pair in pairs]

    def _answer(self, pair: Pair) -> Score | Problem:
        same = self.best if pair.reference == pair.candidate else None
        value = self.values.get(pair.candidate, same)
        if value is None:
            return Problem(code="none", message=f"nothing is known of {pair.candidate}")
        return Score(value=value, signature=self.signature)

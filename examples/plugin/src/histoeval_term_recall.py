"""Term recall: which words of the reference the candidate has. An example of a plug-in."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from histoeval import Pair, Problem, Score
from histoeval.metrics.base import STRICT, ModelMetric

__version__ = "0.1.0"


@dataclass(frozen=True, config=STRICT)
class TermRecall(ModelMetric):
    """Share of the reference's words that the candidate has, or nearly has.

    The fields are settings: they are checked, and they are in the signature. Fields that `models`
    names are filled by `--encoder` (`Models(encoder=...)`), and are signed by their weights.
    """

    shortest: int = Field(default=4, ge=1)
    near: float = Field(default=0.8, gt=0, le=1)
    encoder: Any = None
    models: ClassVar[tuple[str, ...]] = ("encoder",)

    @property
    def needed(self) -> tuple[str, ...]:
        """No model: without an encoder, words must be equal."""
        return ()

    def fingerprint(self) -> dict[str, str]:
        """The encoder, and the version of this package, which is not that of HistoEval."""
        return {**super().fingerprint(), "histoeval-term-recall": __version__}

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """One answer for each pair, in their order."""
        return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> Score | Problem:
        expected, found = (self._words(text) for text in (pair.reference, pair.candidate))
        if not expected:
            return Problem(
                code="metric_failed",
                metric=self.name,
                message=f"the reference has no word of {self.shortest} letters or more",
            )
        missing = sorted(set(expected) - set(found))
        if self.encoder is not None and missing and found:
            likeness = self.encoder.embed(missing) @ self.encoder.embed(found).T
            missing = [word for word, row in zip(missing, likeness, strict=True) if self._far(row)]
        return Score(
            value=1 - len(missing) / len(expected),
            signature=self.signature,
            evidence={"missing": missing},
        )

    def _words(self, text: str) -> list[str]:
        words = re.findall(r"[^\W\d_]+", text.lower())
        return sorted({word for word in words if len(word) >= self.shortest})

    def _far(self, likeness: Any) -> bool:
        return bool(likeness.max() < self.near)

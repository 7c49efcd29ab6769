"""BLEU, by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, ClassVar

import sacrebleu
from pydantic import Field
from pydantic.dataclasses import dataclass
from sacrebleu.metrics.bleu import BLEU

from histoeval.metrics.base import PairMetric
from histoeval.score import Score


@dataclass(frozen=True)
class Bleu(PairMetric):
    """Geometric mean of n-gram precisions up to `order`, with sacrebleu's tokens and smoothing.

    A pair is scored with the effective order, as sacrebleu's `sentence_bleu` does; the corpus
    value is counted over all pairs, as its `corpus_bleu` does. Both run from 0 to 100.
    """

    order: Annotated[int, Field(ge=1, le=9)] = 4
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    @cached_property
    def _bleu(self) -> BLEU:
        return BLEU(max_ngram_order=self.order, effective_order=True)

    def pins(self) -> dict[str, str]:
        """Tokeniser and smoothing of sacrebleu, and its version."""
        return {"tok": "13a", "smooth": "exp", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        """BLEU of one candidate, and the counts that the corpus value needs."""
        bleu = self._bleu.sentence_score(candidate, [reference])
        precisions = {f"precision_{n}": p for n, p in enumerate(bleu.precisions, start=1)}
        return Score(
            value=bleu.score,
            parts=precisions | {"brevity_penalty": bleu.bp},
            counts=(*bleu.counts, *bleu.totals, bleu.sys_len, bleu.ref_len),
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """BLEU of all candidates taken as one text."""
        numbers = [int(count) for count in counts]
        bleu = BLEU.compute_bleu(
            correct=numbers[: self.order],
            total=numbers[self.order : 2 * self.order],
            sys_len=numbers[-2],
            ref_len=numbers[-1],
            smooth_method="exp",
            max_ngram_order=self.order,
        )
        return float(bleu.score)

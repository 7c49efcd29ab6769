"""BERTScore: every token finds its nearest on the other side, by contextual embedding."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from histoeval.align.aligner import unit
from histoeval.errors import Problem
from histoeval.metric import Score
from histoeval.metrics.base import ModelMetric
from histoeval.metrics.hare_f1 import harmonic_mean, nearest
from histoeval.report import Pair


@dataclass(frozen=True)
class BertScore(ModelMetric):
    """Greedy matching of last-layer token states of any encoder, without idf or rescaling.

    As in the published `bert_score`: the first and last special tokens can be matched but do not
    count. A report longer than the encoder takes is cut at its limit, and `parts` says what share
    of the tokens was seen.
    """

    encoder: Any = None
    models: ClassVar[tuple[str, ...]] = ("encoder",)

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        texts = list(dict.fromkeys(t for pair in pairs for t in (pair.reference, pair.candidate)))
        states = dict(zip(texts, self.encoder.tokens(texts), strict=True))
        return [self._match(states[pair.reference], states[pair.candidate]) for pair in pairs]

    def _match(self, reference: Any, candidate: Any) -> Score | Problem:
        if reference.special.all() or candidate.special.all():
            return self._failed("a side has no token that counts: nothing but special ones")
        reference_rows, candidate_rows = unit(reference.states), unit(candidate.states)
        recalls = nearest(reference_rows, candidate_rows).cosine[~reference.special]
        precisions = nearest(candidate_rows, reference_rows).cosine[~candidate.special]
        recall, precision = float(recalls.mean()), float(precisions.mean())
        return Score(
            value=harmonic_mean(precision, recall),
            parts={
                "precision": precision,
                "recall": recall,
                "reference_seen": reference.seen,
                "candidate_seen": candidate.seen,
            },
            signature=self.signature,
        )

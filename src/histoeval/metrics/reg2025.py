"""The score of the REG2025 challenge: words, entities and embeddings in fixed shares."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from histoeval.errors import Problem
from histoeval.metric import Score
from histoeval.metrics.base import ModelMetric
from histoeval.metrics.bleu import Bleu
from histoeval.metrics.rouge import Rouge, subsequence_shares
from histoeval.report import Pair, Report

SHORTEST_ENTITY = 3


@dataclass(frozen=True)
class Reg2025(ModelMetric):
    """0.15 x (ROUGE-L + BLEU-4) + 0.4 x shared entities + 0.3 x embedding cosine.

    `mode=corrected` uses BLEU and ROUGE-L as their makers define them, and a cosine rescaled
    from 0.5..1 to 0..1. `mode=literal` repeats the challenge's own formulas: a 4-gram precision
    that counts repeats and has no brevity penalty, so that it can exceed 1; and a rescaling that
    leaves cosines below 0.5 as they are, so that 0.5 scores more than 0.6. In both modes
    our reader finds the entities, and not `en_core_sci_lg`: values are not the leaderboard's.
    """

    mode: Literal["corrected", "literal"] = "corrected"
    reader: Any = None
    encoder: Any = None
    models: ClassVar[tuple[str, ...]] = ("reader", "encoder")

    @property
    def range(self) -> tuple[float, float]:
        """From 0 to 1; the literal parts have no upper limit, and their cosine can be negative."""
        return (0.0, 1.0) if self.mode == "corrected" else (-0.3, math.inf)

    def score_ready(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        texts = [text for pair in pairs for text in (pair.reference, pair.candidate)]
        keys = [keywords(report) for report in self.reader.read(texts)]
        vectors = self.encoder.embed(texts)
        cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
        scores: list[Score | Problem] = []
        for pair, reference, candidate, cosine in zip(
            pairs, keys[::2], keys[1::2], cosines, strict=True
        ):
            union = reference | candidate
            shared = len(reference & candidate) / len(union) if union else 0.0
            if self.mode == "corrected" and not union:
                shared = 1.0  # the challenge has 0 where neither side has an entity
            scores.append(self._combine(pair, shared, float(cosine)))
        return scores

    @cached_property
    def _rouge(self) -> Rouge:
        return Rouge(name="rouge_l", kind="l")

    @cached_property
    def _bleu(self) -> Bleu:
        return Bleu(name="bleu_4")

    def _combine(self, pair: Pair, key: float, cosine: float) -> Score:
        if self.mode == "literal":
            words = (text.lower().split() for text in (pair.reference, pair.candidate))
            _, _, rouge = subsequence_shares(*words)
            bleu = literal_bleu4(pair.reference, pair.candidate)
            embedding = (cosine - 0.5) / 0.5 if cosine > 0.5 else cosine
        else:
            rouge = self._rouge.score_pair(pair.reference, pair.candidate).value
            bleu = self._bleu.score_pair(pair.reference, pair.candidate).value / 100
            embedding = max(0.0, (cosine - 0.5) / 0.5)
        return Score(
            value=0.15 * (rouge + bleu) + 0.4 * key + 0.3 * embedding,
            parts={
                "rouge_l": rouge,
                "bleu_4": bleu,
                "key": key,
                "embedding": embedding,
                "reference_seen": self.encoder.seen(pair.reference),
                "candidate_seen": self.encoder.seen(pair.candidate),
            },
            signature=self.signature,
        )


def keywords(report: Report) -> frozenset[str]:
    words = (entity.text.lower() for entity in report.entities)
    return frozenset(word for word in words if len(word) >= SHORTEST_ENTITY)


def literal_bleu4(reference: str, candidate: str) -> float:
    """The challenge's BLEU: every 4-gram of the candidate adds the smaller of its two counts."""
    counts = [
        Counter(zip(*(words[i:] for i in range(4)), strict=False))
        for words in (reference.split(), candidate.split())
    ]
    total = counts[1].total()
    matched = sum(count * min(count, counts[0][gram]) for gram, count in counts[1].items())
    return matched / total if total else 0.0

"""chrF, by sacrebleu."""

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import sacrebleu
from pydantic import Field
from pydantic.dataclasses import dataclass
from sacrebleu.metrics.chrf import CHRF

from histoeval.metric import Score
from histoeval.metrics.base import STRICT, PairMetric


@dataclass(frozen=True, config=STRICT)
class Chrf(PairMetric):
    """F-measure of shared character n-grams, white space omitted, recall weighted by `beta`.

    With `word_order=2` it is chrF++. A pair scores as in sacrebleu's `sentence_chrf`; the corpus
    value is counted over all pairs, as in its `corpus_chrf`. Both run from 0 to 100.
    """

    char_order: Annotated[int, Field(ge=1)] = 6
    word_order: Annotated[int, Field(ge=0)] = 0
    beta: Annotated[int, Field(ge=1)] = 2

    @property
    def range(self) -> tuple[float, float]:
        """In per cent, as sacrebleu has it."""
        return (0.0, 100.0)

    @cached_property
    def _chrf(self) -> CHRF:
        return CHRF(self.char_order, self.word_order, self.beta)

    def fingerprint(self) -> dict[str, str]:
        """Case and orders as sacrebleu has them by default, and its version."""
        return {"case": "mixed", "eff": "yes", "space": "no", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        """The chrF of one candidate, and the counts that the corpus value needs."""
        # These counts have no public name in sacrebleu; tests/parity fails when they change.
        (counts,) = self._chrf._extract_corpus_statistics([candidate], [[reference]])
        precision, recall = mean_shares(counts)
        return Score(
            value=self.corpus_value(0.0, counts),
            parts={"precision": precision, "recall": recall},
            counts=tuple(counts),
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """The chrF of the n-grams of all pairs together."""
        return float(self._chrf._compute_f_score([int(count) for count in counts]))


def mean_shares(counts: Sequence[float]) -> tuple[float, float]:
    """Precision and recall, averaged over the orders that both sides have n-grams of."""
    orders = zip(counts[::3], counts[1::3], counts[2::3], strict=True)
    shares = [(both / ours, both / theirs) for ours, theirs, both in orders if ours and theirs]
    if not shares:
        return 0.0, 0.0
    precisions, recalls = zip(*shares, strict=True)
    return sum(precisions) / len(shares), sum(recalls) / len(shares)

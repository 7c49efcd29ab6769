"""chrF, with the rules of sacrebleu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Annotated

import numpy as np
import sacrebleu
from pydantic import Field
from pydantic.dataclasses import dataclass
from sacrebleu.metrics.chrf import CHRF

from histoeval.metric import Score
from histoeval.metrics.base import STRICT, PairMetric


@dataclass(frozen=True, config=STRICT)
class Chrf(PairMetric):
    """F-measure of shared character n-grams, white space left out, recall weighted by `beta`.

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
        return CHRF()

    def fingerprint(self) -> dict[str, str]:
        """Case and orders as sacrebleu has them by default, and its version."""
        return {"case": "mixed", "eff": "yes", "space": "no", "sacrebleu": sacrebleu.__version__}

    def score_pair(self, reference: str, candidate: str) -> Score:
        """The chrF of one candidate, and the counts that the corpus value needs."""
        counts = tuple(chain.from_iterable(self._counts(reference, candidate)))
        precision, recall = mean_shares(counts)
        return Score(
            value=self._f_measure(precision, recall),
            parts={"precision": precision, "recall": recall},
            counts=counts,
            signature=self.signature,
        )

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:  # noqa: ARG002
        """The chrF of the n-grams of all pairs together."""
        return self._f_measure(*mean_shares(counts))

    def _f_measure(self, precision: float, recall: float) -> float:
        weight = self.beta**2
        bottom = weight * precision + recall
        return 100 * (1 + weight) * precision * recall / bottom if bottom else 0.0

    def _counts(self, reference: str, candidate: str) -> Iterator[tuple[int, int, int]]:
        yield from shared_ngrams(_letters(reference), _letters(candidate), self.char_order)
        if self.word_order:
            # How chrF++ cuts words is written nowhere else in sacrebleu; tests/parity tells when
            # this private method changes.
            words = self._chrf._remove_punctuation
            yield from shared_ngrams(words(reference), words(candidate), self.word_order)


def _letters(text: str) -> str:
    return "".join(text.split())


def shared_ngrams(
    reference: Sequence[str], candidate: Sequence[str], order: int
) -> Iterator[tuple[int, int, int]]:
    """For each order up to this one, how many n-grams candidate, reference and both of them have.

    Those of the candidate do not count where the reference has none, as in sacrebleu. Numbers
    stand for the n-grams: that of order n is made of that of order n-1 and one symbol more. This
    is three times as fast as counting strings, and holds one order in memory at a time.
    """
    symbols = {symbol: n for n, symbol in enumerate(dict.fromkeys(chain(reference, candidate)))}
    first = [np.array([symbols[s] for s in side], np.int64) for side in (reference, candidate)]
    theirs, ours = first
    for n in range(order):
        if n:
            theirs = theirs[:-1] * len(symbols) + first[0][n:]
            ours = ours[:-1] * len(symbols) + first[1][n:]
        grams, numbers = np.unique(np.concatenate([theirs, ours]), return_inverse=True)
        theirs, ours = numbers[: len(theirs)], numbers[len(theirs) :]
        shared = np.minimum(*(np.bincount(side, minlength=len(grams)) for side in (theirs, ours)))
        yield len(ours) if len(theirs) else 0, len(theirs), int(shared.sum())


def mean_shares(counts: Sequence[float]) -> tuple[float, float]:
    """Precision and recall, averaged over the orders that both sides have n-grams of."""
    orders = zip(counts[::3], counts[1::3], counts[2::3], strict=True)
    shares = [(both / ours, both / theirs) for ours, theirs, both in orders if ours and theirs]
    if not shares:
        return 0.0, 0.0
    precisions, recalls = zip(*shares, strict=True)
    return sum(precisions) / len(shares), sum(recalls) / len(shares)

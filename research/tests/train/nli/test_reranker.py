"""Fitting the second opinion to a network that knows nothing, or everything."""

from collections.abc import Sequence

import numpy as np

from histoeval.nli.entailer import Entailment, NliPair, probabilities
from histoeval_research.train.nli.reranker import fit_reranker

PAIRS = [
    ("CD3 is positive.", "CD3 is negative.", "contradiction"),
    ("CD20 is positive.", "No CD20 expression.", "contradiction"),
    ("Desmin is negative.", "The cells express desmin.", "contradiction"),
    ("CD3 is positive.", "CD10 is negative.", "neutral"),
    ("CD20 is positive.", "Desmin is positive.", "neutral"),
    ("Desmin is negative.", "CD34 is positive.", "neutral"),
    ("CD3 is positive.", "The cells express CD3.", "entailment"),
    ("CD20 is positive.", "CD20 (+).", "entailment"),
    ("Desmin is negative.", "No staining for desmin.", "entailment"),
]


class Unsure:
    """Judges nothing."""

    identity = "unsure"

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        return [Entailment(1 / 3, 1 / 3, 1 / 3) for _ in pairs]


def test_of_a_network_that_knows_nothing_terms_say_the_rest() -> None:
    reranker = fit_reranker(Unsure(), PAIRS)  # type: ignore[arg-type]
    for premise, hypothesis, label in PAIRS:
        heard = reranker.reranked(np.zeros(3), premise, hypothesis)
        assert probabilities(heard).label == label
    assert reranker == fit_reranker(Unsure(), PAIRS)  # type: ignore[arg-type]

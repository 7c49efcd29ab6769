"""Fitting the second opinion to a network that knows nothing, or everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("scipy")

from histoeval.nli.entailer import LABELS, Entailment, NliPair, probabilities
from histoeval_research.train.nli.pairs import made_pairs
from histoeval_research.train.nli.reranker import fit_opinion, unlearned_pairs

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
    opinion = fit_opinion(Unsure(), PAIRS)  # type: ignore[arg-type]
    for premise, hypothesis, label in PAIRS:
        heard = opinion.reranked(np.zeros(3), premise, hypothesis)
        assert probabilities(heard).label == label


def test_the_same_pairs_give_the_same_weights() -> None:
    assert fit_opinion(Unsure(), PAIRS) == fit_opinion(Unsure(), PAIRS)  # type: ignore[arg-type]


def test_what_it_is_fitted_on_is_not_learned_from() -> None:
    made = made_pairs("train", 30_000)
    learned = {(pair.premise, pair.hypothesis) for pair in made if pair.category == "written"}
    assert len(learned) > 100
    unlearned = list(unlearned_pairs())
    assert len(unlearned) > 600
    assert {label for *_, label in unlearned} == set(LABELS)
    assert not {(premise, text) for premise, text, _ in unlearned} & learned

"""The re-ranker: how features correct the answer of the network."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from histoeval.nli.builtin import EntailerManifest, Reranker, log_shares


def reranker(**changes: Any) -> Reranker:
    return Reranker(weights={"marker_opposite": (-1.0, -1.0, 2.0)}, **changes)


def test_terms_move_the_answer_and_leave_what_is_not_pathology_alone() -> None:
    unsure = np.array([1.0, 1.0, 1.0])
    opposite = reranker().reranked(unsure, "CD3 is positive.", "CD3 is negative.")
    assert opposite.argmax() == 2
    assert reranker().reranked(unsure, "A dog runs.", "A dog sleeps.") is unsure


def test_the_network_is_weighed_as_log_probabilities() -> None:
    logits = np.array([5.0, 3.0, 1.0])
    corrected = reranker(network=0.5).reranked(logits, "The margin is free.", "The node is large.")
    assert corrected == pytest.approx(0.5 * log_shares(logits))
    assert np.exp(log_shares(logits)).sum() == pytest.approx(1)


def test_weights_of_unknown_features_are_refused() -> None:
    with pytest.raises(ValidationError, match="there are no features moon"):
        Reranker(weights={"moon": (0.0, 0.0, 0.0)})


def test_the_identity_of_a_model_names_its_reranker() -> None:
    plain = EntailerManifest(name="x", files={})
    corrected = plain.model_copy(update={"opinion": reranker()})
    assert corrected.identity.startswith("x+terms@")
    assert plain.identity.startswith("x@")
    other = plain.model_copy(update={"opinion": reranker(network=0.5)})
    assert other.identity != corrected.identity

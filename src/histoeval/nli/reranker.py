"""The re-ranker: a logistic model over the network's answer and rule-based features of a pair."""

from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from histoeval.nli.features.extract import extract_features, feature_names
from histoeval.report import Noun

Three = tuple[float, float, float]
Floats = NDArray[np.float64]


class Reranker(Noun):
    """A logistic model over the network's log probabilities and the features of a pair.

    The weights are for the three answers in their order. A pair without terms of pathology has no
    features; there the network's answer stands.
    """

    weights: dict[str, Three]
    bias: Three = (0.0, 0.0, 0.0)
    network: Annotated[float, Field(gt=0)] = 1.0
    """The weight of the network's own log probabilities."""

    @model_validator(mode="after")
    def _features_exist(self) -> Self:
        if unknown := sorted(set(self.weights) - set(feature_names())):
            raise ValueError(f"there are no features {', '.join(unknown)}")
        return self

    def reranked(self, logits: Floats, premise: str, hypothesis: str) -> Floats:
        """The network's logits for a pair, corrected where it has features."""
        features = extract_features(premise, hypothesis)
        if features is None:
            return logits
        total: Floats = self.network * log_shares(logits) + np.array(self.bias)
        for name, value in features.items():
            if value and name in self.weights:
                total = total + value * np.array(self.weights[name])
        return total


def log_shares(logits: Floats) -> Floats:
    """The log-softmax of logits."""
    lower = np.asarray(logits, np.float64) - np.max(logits)
    spread: Floats = lower - np.log(np.exp(lower).sum())
    return spread

"""The second opinion on a pair: what its terms say, weighed, beside what the network says."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from histoeval.nli.features.extract import names, observed
from histoeval.report import Noun

Three = tuple[float, float, float]
Floats = NDArray[np.float64]


class Opinion(Noun):
    """A logistic model over the network's log probabilities and what terms say of a pair.

    The weights are for the three answers in their order. Where terms find nothing of pathology, the
    network is alone.
    """

    weights: dict[str, Three]
    bias: Three = (0.0, 0.0, 0.0)
    network: Annotated[float, Field(gt=0)] = 1.0
    """The weight of the network's own log probabilities."""

    @model_validator(mode="after")
    def _knows_what_it_weighs(self) -> Self:
        if strange := sorted(set(self.weights) - set(names())):
            raise ValueError(f"nothing is called {', '.join(strange)}")
        return self

    def heard(self, logits: Floats, premise: str, hypothesis: str) -> Floats:
        """What the network says of a pair, with what terms say where they say anything."""
        seen = observed(premise, hypothesis)
        if seen is None:
            return logits
        total: Floats = self.network * log_shares(logits) + np.array(self.bias)
        for name, value in seen.items():
            if value and name in self.weights:
                total = total + value * np.array(self.weights[name])
        return total


def log_shares(logits: Floats) -> Floats:
    """Numbers of any size as the logarithms of probabilities."""
    lower = np.asarray(logits, np.float64) - np.max(logits)
    spread: Floats = lower - np.log(np.exp(lower).sum())
    return spread

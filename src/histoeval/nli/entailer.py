"""The nouns of NLI: does a premise entail a hypothesis, contradict it, or neither?"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from histoeval.report import Noun

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")


class Entailment(NamedTuple):
    """The probabilities of the three answers, which sum to one."""

    entailment: float
    neutral: float
    contradiction: float

    @property
    def label(self) -> Label:
        return LABELS[int(np.argmax(self))]


class NliPair(NamedTuple):
    """A premise, which is known, and a hypothesis, which is judged by it."""

    premise: str
    hypothesis: str


class LabelledPair(Noun):
    """A premise, a hypothesis, the relation between them, and what the pair tests."""

    premise: str
    hypothesis: str
    label: Label
    category: str


class Entailer(Protocol):
    @property
    def identity(self) -> str:
        """The model and everything that its answers depend on."""

    def judge(self, pairs: Sequence[NliPair]) -> list[Entailment]:
        """The probabilities for each pair, in the order of the pairs."""


def probabilities(logits: Any) -> Entailment:
    powers = np.exp(np.asarray(logits, np.float64) - np.max(logits))
    return Entailment(*(float(share) for share in powers / powers.sum()))

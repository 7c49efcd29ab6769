"""When a score supports a claim, and when it contradicts it, with known error."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, FiniteFloat, model_validator

from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.pathgls.results import GroundingVerdict
from histoeval.report import EntityType, Noun

ALLOWED = 0.05
"""The share of claims of another organ that may be supported."""

ALLOWED_BEHAVIOUR = 0.02
"""The share of malignant images that may pass for benign, and of benign ones for malignant."""

ALLOWED_AGAINST = ALLOWED / 2
"""The share of true claims that may be contradicted: a report states several."""


class ClaimLimits(Noun):
    """How a score of one kind of claim becomes a value and a verdict."""

    slope: Annotated[FiniteFloat, Field(gt=0)]
    midpoint: FiniteFloat
    """The score at which the value is 0.5."""
    supported: FiniteFloat
    """From this score on a claim is supported: a foreign one in 5 % of cases."""
    contradicted: FiniteFloat
    """Up to this score it is contradicted: a true one in 2.5 % of cases."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.contradicted > self.supported:
            raise ValueError("what is contradicted lies above what is supported")
        return self

    @property
    def curve(self) -> ClaimCalibration:
        """The curve alone."""
        return ClaimCalibration(self.slope, self.midpoint)

    def verdict(self, score: float) -> GroundingVerdict:
        """What a score says."""
        if score >= self.supported:
            return "supported"
        return "contradicted" if score <= self.contradicted else "not_known"


Limits = Mapping[EntityType, ClaimLimits]
BehaviourSide = Literal["benign", "malignant"]


class BehaviourLimits(Noun):
    """The same for the behaviour of tissue of one organ."""

    malignant: ClaimLimits
    """Of how malignant an image looks."""
    benign: ClaimLimits
    """Of the same with its sign turned."""


class Judgement(NamedTuple):
    """The value and the verdict of a claim, or of the organ that a report names."""

    value: float
    verdict: GroundingVerdict

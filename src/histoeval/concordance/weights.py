"""Combines the parts into one score: non-negative weights and a monotone calibration curve.

A term is a part, or a product of parts, so that a part can count for more where another is right.
The weighted mean of the terms is multiplied by two factors: the worst error that there is, so that
no amount of agreement makes up for one that could harm a patient, and how far each report entails
the other. It then goes through a rising curve to the scale it was fitted to. Weights are not
negative, so that the score never falls when a part rises.
"""

from collections.abc import Mapping, Sequence
from math import comb, prod
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from histoeval.concordance.compare import OF_FACTS, PARTS
from histoeval.concordance.evidence import Severity
from histoeval.errors import ModelError
from histoeval.metric import PartCost
from histoeval.report import Noun

Floats = NDArray[np.float64]

# Parts that count by themselves, and two by two
CORE = ("diagnosis", "behaviour", "site", "completeness", "soundness")

# The right diagnosis at the right site, as far as the rest of the reference is there too. Only the
# rubric has a coverage, and only its completeness is made of this.
COVERED = "diagnosis*behaviour*site*coverage"

# What can be given a weight: details count as far as the diagnosis is right
TERMS = (
    *CORE,
    "diagnosis*behaviour",
    "diagnosis*site",
    "behaviour*site",
    *(f"diagnosis*behaviour*{part}" for part in OF_FACTS if part not in CORE),
    COVERED,
)

# What the worst error leaves of the mean of all terms. Set by us: sheets of generated reports hold
# too few candidates that are right but for one error.
SAFETY: Mapping[Severity | None, float] = {
    None: 1.0,
    Severity.MINOR: 0.995,
    Severity.MODERATE: 0.97,
    Severity.MAJOR: 0.9,
    Severity.CRITICAL: 0.75,
}

_ENTAILED = 0.5  # the share of statements from which on reports count as entailing each other
UNENTAILED = 0.85  # what is left of the mean of all terms where nothing is entailed

FACTORS = ("safety", "kept", "supported")  # parts that all terms are multiplied by

# Of a mean: the next ones are of rounding, and would keep what is perfect below the top
_DIGITS = 12

Weight = Annotated[FiniteFloat, Field(ge=0)]


class MonotoneCurve(Noun):
    at: tuple[FiniteFloat, ...]
    value: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if len(self.at) != len(self.value) or len(self.at) < 2:
            raise ValueError("needs as many values as places, and two of each at least")
        if np.any(np.diff(self.at) <= 0) or np.any(np.diff(self.value) < 0):
            raise ValueError("must rise")
        return self

    def __call__(self, x: Floats) -> Floats:
        """The height of the line."""
        height: Floats = np.interp(x, self.at, self.value)
        return height


class Combination(Noun):
    """Weights of terms, and the curve to the scale of those whose scores they were fitted to."""

    weights: Mapping[str, Weight]
    curve: MonotoneCurve
    floor: FiniteFloat = 0.0  # anything below counts as zero, as an expert would have scored it
    factored: bool = False  # true if the worst error and what is entailed are factors of the mean

    @model_validator(mode="after")
    def _knows_its_terms(self) -> Self:
        if unknown := set(self.weights) - set(TERMS):
            raise ValueError(f"has unknown terms: {', '.join(sorted(unknown))}")
        if not sum(self.weights.values()) > 0:
            raise ValueError("has no weight at all")
        return self

    def __call__(self, parts: Mapping[str, float | None]) -> float:
        """The value for one pair of reports."""
        return float(self._of(_columns([parts]), np.ones(1))[0])

    def _of(self, columns: Mapping[str, Floats], ones: Floats) -> Floats:
        return self.of_terms(
            _terms(columns, ones).T, _factor(columns, ones) if self.factored else ones
        )

    def of_terms(self, terms: Floats, factors: Floats) -> Floats:
        """The values for some pairs, from a row of terms in the order of `TERMS` for each."""
        weights = np.array([self.weights.get(term, 0.0) for term in TERMS])
        means = np.round(terms @ weights / weights.sum(), _DIGITS)
        return self.scaled(factors * means)

    def breakdown(self, parts: Mapping[str, float | None]) -> list[PartCost]:
        """Cost of each part that is below 1, off the best value: their Shapley values.

        A part counts by what it takes off alone, beside every other, and beside any of them
        together, on average over all orders; so all of them add up to what is missing.
        """
        lowered = {name: value for name, value in parts.items() if value is not None and value < 1}
        subsets = np.arange(1 << len(lowered))
        held = (subsets[:, None] >> np.arange(len(lowered))) & 1 == 1
        sizes = held.sum(axis=1)
        columns = dict(zip(lowered, np.where(held, list(lowered.values()), 1.0).T, strict=True))
        left = self._of(columns, np.ones(len(subsets)))
        share = np.array(
            [1 / (len(lowered) * comb(len(lowered) - 1, size)) for size in range(len(lowered))]
        )
        costs = {}
        for index, name in enumerate(lowered):
            without = subsets[~held[:, index]]
            taken = left[without] - left[without | (1 << index)]
            costs[name] = float(taken @ share[sizes[without]])
        total = sum(self.weights.values())
        weight = {
            name: sum(
                w
                for term, w in self.weights.items()
                if name in term.split("*") or (self.factored and name in FACTORS)
            )
            / total
            for name in lowered
        }
        return [
            PartCost(part=name, value=lowered[name], weight=weight[name], cost=cost)
            for name, cost in costs.items()
        ]

    def scaled(self, means: Floats) -> Floats:
        """From means of terms to the scale of those whose scores they were fitted to."""
        heights = self.curve(means)
        return np.where(heights < self.floor, self.curve.value[0], heights)


class Combinations(Noun):
    """The content of `combination.json`: how each score is made of the parts."""

    format: Literal[1] = 1
    expert: Combination
    criteria: Mapping[str, Combination]


def matrix_of(rows: Sequence[Mapping[str, float | None]]) -> Floats:
    """A row of terms for each pair, in the order of `TERMS`.

    A part that neither report mentions costs nothing.
    """
    return _terms(_columns(rows), np.ones(len(rows))).T


def factors_of(rows: Sequence[Mapping[str, float | None]]) -> Floats:
    """Share that the worst error, and unentailed statements, leave of each pair's terms."""
    return _factor(_columns(rows), np.ones(len(rows)))


def _columns(rows: Sequence[Mapping[str, float | None]]) -> dict[str, Floats]:
    return {
        part: np.array([1.0 if (value := row.get(part)) is None else value for row in rows])
        for part in (*PARTS, "safety", "coverage")
    }


def _terms(columns: Mapping[str, Floats], ones: Floats) -> Floats:
    return np.array(
        [prod((columns.get(p, ones) for p in term.split("*")), start=ones) for term in TERMS]
    )


def _factor(columns: Mapping[str, Floats], ones: Floats) -> Floats:
    entailed = np.minimum(columns.get("kept", ones), columns.get("supported", ones))
    left = UNENTAILED + (1 - UNENTAILED) * np.minimum(1, entailed / _ENTAILED)
    return left * columns.get("safety", ones)


def read_combinations(path: Path) -> Combinations:
    try:
        return Combinations.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        complaint = error.errors()[0]
        key = ".".join(map(str, complaint["loc"])) or "the whole"
        raise ModelError(f"{path} holds no weights: {key}: {complaint['msg'].lower()}") from error

"""Combines the parts into one score: non-negative weights and a monotone calibration curve.

A term is a part, or a product of parts, so that a part can count for more where another is right.
The weighted mean of the terms goes through a rising curve to the scale it was fitted to. Weights
are not negative, so that the score never falls when a part rises.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb, prod
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from histoeval.concordance.compare import PARTS
from histoeval.errors import ModelError
from histoeval.metric import PartCost
from histoeval.report import Noun

Floats = NDArray[np.float64]

CORE = ("diagnosis", "behaviour", "site", "completeness", "soundness")
"""Parts that count by themselves, and two by two."""

TERMS = (
    *CORE,
    "diagnosis*behaviour",
    "diagnosis*site",
    "behaviour*site",
    *(f"diagnosis*behaviour*{part}" for part in PARTS if part not in CORE),
)
"""What can be given a weight: details count as far as the diagnosis is right."""

Weight = Annotated[FiniteFloat, Field(ge=0)]


class MonotoneCurve(Noun):
    """A rising line through a few points."""

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
    floor: FiniteFloat = 0.0
    """Anything below counts as zero, as an expert would have scored it."""

    @model_validator(mode="after")
    def _knows_its_terms(self) -> Self:
        if unknown := set(self.weights) - set(TERMS):
            raise ValueError(f"has unknown terms: {', '.join(sorted(unknown))}")
        if not sum(self.weights.values()) > 0:
            raise ValueError("has no weight at all")
        return self

    def __call__(self, parts: Mapping[str, float | None]) -> float:
        """The value for one pair of reports."""
        terms = terms_of(parts)
        total = sum(self.weights.values())
        mean = sum(weight * terms[term] for term, weight in self.weights.items()) / total
        return float(self.scaled(np.array([mean]))[0])

    def breakdown(self, parts: Mapping[str, float | None]) -> list[PartCost]:
        """What each part that is below 1 takes off the best value: their Shapley values.

        A part counts by what it takes off alone, beside every other, and beside any of them
        together, on average over all orders; so all of them add up to what is missing.
        """
        low = {name: value for name, value in parts.items() if value is not None and value < 1}
        left = {
            frozenset(those): self({name: low[name] for name in those})
            for size in range(len(low) + 1)
            for those in combinations(low, size)
        }
        costs = {
            name: sum(
                (value - left[those | {name}]) / (len(low) * comb(len(low) - 1, len(those)))
                for those, value in left.items()
                if name not in those
            )
            for name in low
        }
        total = sum(self.weights.values())
        weight = {
            name: sum(w for term, w in self.weights.items() if name in term.split("*")) / total
            for name in low
        }
        return [
            PartCost(part=name, value=low[name], weight=weight[name], cost=cost)
            for name, cost in costs.items()
        ]

    def scaled(self, means: Floats) -> Floats:
        """From means of terms to the scale of those whose scores they were fitted to."""
        heights = self.curve(means)
        return np.where(heights < self.floor, self.curve.value[0], heights)


class Combinations(Noun):
    """What `combination.json` says: how each score is made of the parts."""

    format: Literal[1] = 1
    expert: Combination
    criteria: Mapping[str, Combination]


def terms_of(parts: Mapping[str, float | None]) -> dict[str, float]:
    """The value of every term; a part that neither report mentions costs nothing."""
    values = {part: 1.0 if (value := parts.get(part)) is None else value for part in PARTS}
    return {term: prod(values[part] for part in term.split("*")) for term in TERMS}


def matrix_of(rows: Sequence[Mapping[str, float | None]]) -> Floats:
    """A row of terms for each pair, in the order of `TERMS`."""
    return np.array([list(terms_of(row).values()) for row in rows], dtype=np.float64).reshape(
        len(rows), len(TERMS)
    )


def read_combinations(path: Path) -> Combinations:
    """The fitted weights of a file."""
    try:
        return Combinations.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        complaint = error.errors()[0]
        place = ".".join(map(str, complaint["loc"])) or "the whole"
        raise ModelError(f"{path} holds no weights: {place}: {complaint['msg'].lower()}") from error

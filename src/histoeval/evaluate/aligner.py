"""All figures of an aligner: concepts found by names it never saw, and opposites told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from pydantic import Field

from histoeval.align.aligner import Aligner, Vectors
from histoeval.evaluate.opposites import Opposite, OppositesScores, evaluate_opposites
from histoeval.evaluate.retrieval import Retrieval, catalogue_of, evaluate_names
from histoeval.io.ontology.obo import OntologyConcept
from histoeval.report import Noun

_AT_ONCE = 2000


class AlignerEvaluation(Noun):
    """What an aligner was measured on, and how well it did."""

    concepts: int
    held_out: float
    retrieval: dict[str, Retrieval]
    opposites: dict[str, OppositesScores] = Field(default_factory=dict)


def nobody_counts(done: int) -> None:
    """For those who want no progress."""


def evaluate_aligner(
    aligner: Aligner,
    concepts: Sequence[OntologyConcept],
    opposites: Sequence[Opposite] = (),
    *,
    held_out: float,
    resamples: int = 1000,
    tell: Callable[[int], object] = nobody_counts,
) -> AlignerEvaluation:
    """Measure an aligner; `tell` hears how many names were embedded."""
    catalogue = catalogue_of(concepts, held_out)
    parts: list[Vectors] = []
    for first in range(0, len(catalogue.names), _AT_ONCE):
        parts.append(aligner.embed(catalogue.names[first : first + _AT_ONCE]))
        tell(min(first + _AT_ONCE, len(catalogue.names)))
    found = evaluate_names(catalogue, np.concatenate(parts), resamples)
    told = evaluate_opposites(opposites, aligner.embed) if opposites else {}
    return AlignerEvaluation(
        concepts=len(concepts), held_out=held_out, retrieval=found, opposites=told
    )

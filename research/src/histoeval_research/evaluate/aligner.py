"""All scores of an aligner: concepts found by unseen names, and opposites kept apart."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from pydantic import Field

from histoeval.align.aligner import Aligner, Vectors
from histoeval.progress import ignore
from histoeval.report import Noun
from histoeval_research.evaluate.opposites import Opposite, OppositesScores, evaluate_opposites
from histoeval_research.evaluate.retrieval import Retrieval, catalogue_of, evaluate_names
from histoeval_research.ontology.obo import OntologyConcept

_AT_ONCE = 2000


class AlignerEvaluation(Noun):
    """What an aligner was measured on, and how well it did."""

    concepts: int
    held_out: float
    retrieval: dict[str, Retrieval]
    opposites: dict[str, OppositesScores] = Field(default_factory=dict)


def evaluate_aligner(
    aligner: Aligner,
    concepts: Sequence[OntologyConcept],
    opposites: Sequence[Opposite] = (),
    *,
    held_out: float,
    known: Mapping[str, set[str]] | None = None,
    resamples: int = 1000,
    report: Callable[[int], object] = ignore,
) -> AlignerEvaluation:
    """Measure an aligner; `report` gets the number of names embedded so far.

    With `known`, the names of lists that were learned from, opposites are also scored by whether
    these lists hold their synonyms.
    """
    catalogue = catalogue_of(concepts, held_out)
    parts: list[Vectors] = []
    for first in range(0, len(catalogue.names), _AT_ONCE):
        parts.append(aligner.embed(catalogue.names[first : first + _AT_ONCE]))
        report(min(first + _AT_ONCE, len(catalogue.names)))
    found = evaluate_names(catalogue, np.concatenate(parts), resamples)
    apart = evaluate_opposites(opposites, aligner.embed, known) if opposites else {}
    return AlignerEvaluation(
        concepts=len(concepts), held_out=held_out, retrieval=found, opposites=apart
    )

"""Whether an aligner finds a concept by a name that it has not learned.

A query is a synonym of a concept that was held out; it is looked for among the names of all
concepts. Where several concepts have the same name, each of them is right.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from histoeval.evaluate.estimates import ReportEstimate, draws_of, share_estimate
from histoeval.report import Noun
from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import OntologyConcept

Vectors = NDArray[np.float32]

_AT_ONCE = 256
_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All names of an ontology as a flat list, and which of them are asked for."""

    names: list[str]
    concepts: NDArray[np.int64]
    """The concept of each name, by number."""
    forms: NDArray[np.int64]
    """The plain form of each name, by number."""
    preferred: NDArray[np.bool_]
    queries: NDArray[np.int64]
    """Places of the names that are asked for."""


def catalogue_of(concepts: Iterable[OntologyConcept], share: float) -> Catalogue:
    """The names of an ontology; synonyms of held-out concepts are queries, each wording once."""
    names: list[str] = []
    rows: list[tuple[int, int, bool]] = []
    queries: list[int] = []
    known: dict[str, int] = {}
    for number, named in enumerate(concepts):
        asked = is_held_out(named.id, share)
        met = {named.name.lower()}
        for place, name in enumerate(named.names):
            if asked and name.lower() not in met:
                queries.append(len(names))
            met.add(name.lower())
            rows.append((number, known.setdefault(form(name), len(known)), place == 0))
            names.append(name)
    numbers, forms, preferred = zip(*rows, strict=True)
    return Catalogue(
        names, np.array(numbers), np.array(forms), np.array(preferred), np.array(queries)
    )


@dataclass(frozen=True, slots=True)
class RetrievalHits:
    """How each query fared: concepts that came before a right one, and what equal words gave."""

    rank: NDArray[np.int64]
    equal: NDArray[np.bool_]
    """Whether a right concept has a name in the index that is the query but for spelling."""
    concepts: NDArray[np.int64]


def find(
    catalogue: Catalogue, vectors: Vectors, index: NDArray[np.int64], *, drop: bool
) -> RetrievalHits:
    """Look for all queries among the names at `index`.

    With `drop`, names that are the query but for spelling are not in the index; what has no other
    name is then not asked for.
    """
    asked = catalogue.queries
    owners = catalogue.concepts[index]
    forms = catalogue.forms[index]
    of_form = _concepts_by_form(catalogue)
    rank, equal, kept = [], [], []
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        alike = vectors[some] @ vectors[index].T
        for place, row in zip(some, alike, strict=True):
            same = forms == catalogue.forms[place]
            there = ~same if drop else np.ones_like(same)
            right = np.isin(owners, of_form[catalogue.forms[place]]) & there
            if right.any():
                nearer = there & (row > row[right].max())
                rank.append(len(np.unique(owners[nearer])))
                equal.append(bool((same & right).any()))
                kept.append(place)
    return RetrievalHits(np.array(rank), np.array(equal), catalogue.concepts[kept])


def _concepts_by_form(catalogue: Catalogue) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, concept in zip(catalogue.forms.tolist(), catalogue.concepts.tolist(), strict=True):
        found.setdefault(number, []).append(concept)
    return found


def share_of(
    hits: NDArray[np.bool_], concepts: NDArray[np.int64], resamples: int, seed: int = 0
) -> ReportEstimate:
    """The share of hits, with a 95 % interval over concepts."""
    _, groups = np.unique(concepts, return_inverse=True)
    right, asked = np.bincount(groups, hits.astype(float)), np.bincount(groups).astype(float)
    counts = np.stack([right, asked], axis=1)
    found = share_estimate(counts, draws_of(len(counts), resamples, seed))
    return found or ReportEstimate(value=0.0)


class Retrieval(Noun):
    """How well concepts are found in one index."""

    names: int
    queries: int
    first: ReportEstimate
    """Share of queries whose first concept is right."""
    among_five: ReportEstimate
    equal: float
    """Share of queries that equal words find, without any model."""
    first_where_words_differ: ReportEstimate | None


def retrieval(found: RetrievalHits, names: int, resamples: int) -> Retrieval:
    """Shares of what was found."""
    other = ~found.equal
    return Retrieval(
        names=names,
        queries=len(found.rank),
        first=share_of(found.rank == 0, found.concepts, resamples),
        among_five=share_of(found.rank < _DEEPEST, found.concepts, resamples),
        equal=float(found.equal.mean()),
        first_where_words_differ=share_of(
            (found.rank == 0)[other], found.concepts[other], resamples
        )
        if other.any()
        else None,
    )


def evaluate_names(
    catalogue: Catalogue, vectors: Vectors, resamples: int = 1000
) -> dict[str, Retrieval]:
    """Both ways to ask: among preferred names, and among all names but the query."""
    preferred = np.flatnonzero(catalogue.preferred)
    every = np.arange(len(catalogue.names))
    return {
        "preferred names": retrieval(
            find(catalogue, vectors, preferred, drop=False), len(preferred), resamples
        ),
        "all other names": retrieval(
            find(catalogue, vectors, every, drop=True), len(every), resamples
        ),
    }

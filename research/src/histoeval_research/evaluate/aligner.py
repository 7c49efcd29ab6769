"""How good an aligner is: whether it finds concepts by other names, and tells opposites apart."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from histoeval.align.aligner import Aligner, Vectors
from histoeval.errors import InputError, explain_validation
from histoeval.evaluate.estimates import ReportEstimate, draws_of, share_estimate
from histoeval.progress import ignore
from histoeval.report import Noun
from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import OntologyConcept

ASKED_AT_ONCE, EMBEDDED_AT_ONCE = 256, 2000
DEEPEST = 5


class Catalogue(NamedTuple):
    """All names of an ontology as a flat list, and which of them are asked for."""

    names: list[str]
    concepts: NDArray[np.int64]  # the concept of each name, by number
    forms: NDArray[np.int64]  # the plain form of each name, by number
    preferred: NDArray[np.bool_]
    queries: NDArray[np.int64]  # places of the names that are asked for


def catalogue_of(concepts: Iterable[OntologyConcept], share: float) -> Catalogue:
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
    numbers, forms, preferred = map(np.array, zip(*rows, strict=True))
    return Catalogue(names, numbers, forms, preferred, np.array(queries))


class RetrievalHits(NamedTuple):
    """How each query fared: concepts that came before a right one, and what equal words gave."""

    rank: NDArray[np.int64]
    # Whether a right concept has a name in the index that is the query but for spelling.
    equal: NDArray[np.bool_]
    concepts: NDArray[np.int64]


def find(
    catalogue: Catalogue, vectors: Vectors, index: NDArray[np.int64], *, drop: bool
) -> RetrievalHits:
    """Look for all queries among the names at `index`."""
    # With `drop`, names that are the query but for spelling are not in the index; what has no other
    # name is then not asked for.
    owners, forms = catalogue.concepts[index], catalogue.forms[index]
    of_form: dict[int, list[int]] = defaultdict(list)
    for number, concept in zip(catalogue.forms.tolist(), catalogue.concepts.tolist(), strict=True):
        of_form[number].append(concept)
    rank, equal, kept = [], [], []
    for start in range(0, len(catalogue.queries), ASKED_AT_ONCE):
        some = catalogue.queries[start : start + ASKED_AT_ONCE]
        alike = vectors[some] @ vectors[index].T
        for place, row in zip(some, alike, strict=True):
            same = forms == catalogue.forms[place]
            allowed = ~same if drop else np.ones_like(same)
            right = np.isin(owners, of_form[catalogue.forms[place]]) & allowed
            if right.any():
                nearer = allowed & (row > row[right].max())
                rank.append(len(np.unique(owners[nearer])))
                equal.append(bool((same & right).any()))
                kept.append(place)
    return RetrievalHits(np.array(rank), np.array(equal), catalogue.concepts[kept])


def share_of(
    hits: NDArray[np.bool_], concepts: NDArray[np.int64], resamples: int, seed: int = 0
) -> ReportEstimate:
    _, groups = np.unique(concepts, return_inverse=True)
    right, asked = np.bincount(groups, hits.astype(float)), np.bincount(groups).astype(float)
    counts = np.stack([right, asked], axis=1)
    share = share_estimate(counts, draws_of(len(counts), resamples, seed))
    return share or ReportEstimate(value=0.0)


class Retrieval(Noun):
    names: int
    queries: int
    first: ReportEstimate  # share of queries whose first concept is right
    among_five: ReportEstimate
    equal: float  # share of queries that equal words find, without any model
    first_where_words_differ: ReportEstimate | None


def evaluate_names(
    catalogue: Catalogue, vectors: Vectors, resamples: int = 1000
) -> dict[str, Retrieval]:
    results = {}
    for name, index, drop in (
        ("preferred names", np.flatnonzero(catalogue.preferred), False),
        ("all other names", np.arange(len(catalogue.names)), True),
    ):
        hits = find(catalogue, vectors, index, drop=drop)
        first, differ = hits.rank == 0, ~hits.equal
        results[name] = Retrieval(
            names=len(index),
            queries=len(hits.rank),
            first=share_of(first, hits.concepts, resamples),
            among_five=share_of(hits.rank < DEEPEST, hits.concepts, resamples),
            equal=float(hits.equal.mean()),
            first_where_words_differ=share_of(first[differ], hits.concepts[differ], resamples)
            if differ.any()
            else None,
        )
    return results


ALL = "all"
LISTED, UNLISTED = "in our lists", "not in our lists"


class Opposite(Noun):
    """A phrase with a synonym, and one that means something else with a synonym of that."""

    phrase: str
    synonym: str
    opposite: str
    opposite_synonym: str
    axis: str

    @property
    def texts(self) -> tuple[str, str, str, str]:
        return self.phrase, self.synonym, self.opposite, self.opposite_synonym


class OppositesScores(Noun):
    """Shares of rows in which the opposite is less alike than a synonym."""

    rows: int
    of_phrase: float  # than the synonym of the phrase
    of_either: float  # than the synonym of the phrase, and than that of the opposite


def read_opposites(path: Path) -> list[Opposite]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8, from byte {error.start + 1} on") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                rows.append(Opposite.model_validate_json(line))
            except ValidationError as error:
                fault = explain_validation(error, "the line")
                raise InputError(f"{path}, line {number}: {fault}") from error
    if not rows:
        raise InputError(f"{path} has no rows")
    return rows


def evaluate_opposites(
    rows: Sequence[Opposite],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    known: Mapping[str, set[str]] | None = None,
) -> dict[str, OppositesScores]:
    """Shares overall, by axis, and by whether the synonyms of a row are in `known` lists."""
    # `known` maps the plain form of each name that was learned from to its concepts.
    vectors = embed([text for row in rows for text in row.texts])
    right = tell_apart(vectors.reshape(len(rows), 4, -1))
    parts: dict[str, list[int]] = {ALL: list(range(len(rows)))}
    for place, row in enumerate(rows):
        parts.setdefault(row.axis, []).append(place)
    listed = [] if known is None else [is_listed(row, known) for row in rows]
    for part, expected in ((LISTED, True), (UNLISTED, False)):
        if places := [place for place, is_in in enumerate(listed) if is_in == expected]:
            parts[part] = places
    scores = {}
    for part, places in parts.items():
        of_phrase, of_either = (float(share) for share in right[places].mean(axis=0))
        scores[part] = OppositesScores(rows=len(places), of_phrase=of_phrase, of_either=of_either)
    return scores


def tell_apart(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """For rows of four vectors: is the opposite less alike than the synonym of one, of either."""
    phrase, synonym, opposite, other = (vectors[:, place] for place in range(4))
    against = (phrase * opposite).sum(axis=-1)
    first = against < (phrase * synonym).sum(axis=-1)
    second = against < (opposite * other).sum(axis=-1)
    return np.stack([first, first & second], axis=1)


def is_listed(row: Opposite, known: Mapping[str, set[str]]) -> bool:
    pairs = ((row.phrase, row.synonym), (row.opposite, row.opposite_synonym))
    return any(known.get(form(one), set()) & known.get(form(other), set()) for one, other in pairs)


class AlignerEvaluation(Noun):
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
    for first in range(0, len(catalogue.names), EMBEDDED_AT_ONCE):
        parts.append(aligner.embed(catalogue.names[first : first + EMBEDDED_AT_ONCE]))
        report(min(first + EMBEDDED_AT_ONCE, len(catalogue.names)))
    return AlignerEvaluation(
        concepts=len(concepts),
        held_out=held_out,
        retrieval=evaluate_names(catalogue, np.concatenate(parts), resamples),
        opposites=evaluate_opposites(opposites, aligner.embed, known) if opposites else {},
    )

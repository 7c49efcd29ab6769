"""Finding concepts by names, checked on catalogues whose answers are plain to see."""

import numpy as np
import pytest

from histoeval_research.evaluate.aligner import (
    Catalogue,
    catalogue_of,
    evaluate_names,
    find,
    share_of,
)
from histoeval_research.ontology.obo import OntologyConcept

CONCEPTS = [
    OntologyConcept("s", "1", "kidney stone", ("renal calculus", "Kidney Stone", "kidney stones")),
    OntologyConcept("s", "2", "gallstone", ("cholelith",)),
    OntologyConcept("s", "3", "stone of child", ("kidney stone",)),
]
CATALOGUE = catalogue_of(CONCEPTS, 1.0)


def vectors(catalogue: Catalogue, near: dict[str, str]) -> np.ndarray:
    """Each name by itself, but for those that are put beside another one."""
    rows = dict(zip(sorted(set(catalogue.names)), np.eye(9), strict=False))
    found = [
        0.6 * rows[name] + 0.8 * rows[near[name]] if name in near else rows[name]
        for name in catalogue.names
    ]
    return np.array(found, dtype=np.float32)


def test_queries_are_synonyms_of_held_out_concepts_in_other_letters_than_those_before() -> None:
    asked = [CATALOGUE.names[place] for place in CATALOGUE.queries]
    assert asked == ["renal calculus", "kidney stones", "cholelith", "kidney stone"]
    assert CATALOGUE.preferred.sum() == len(CONCEPTS)
    many = [OntologyConcept("s", str(n), f"thing {n}", (f"object {n}",)) for n in range(300)]
    some = catalogue_of(many, 0.2)
    assert 20 < len(some.queries) < 110
    assert len(some.names) == 600


def test_a_concept_is_found_by_its_preferred_name_or_not() -> None:
    near = {"renal calculus": "kidney stone", "cholelith": "kidney stone"}
    index = np.flatnonzero(CATALOGUE.preferred)
    found = find(CATALOGUE, vectors(CATALOGUE, near), index, drop=False)
    calculus, _, cholelith, stone_of_child = found.rank
    assert calculus == 0
    assert cholelith == 1, "the kidney stone came first"
    assert stone_of_child == 0, "concepts that share the name are both right"
    assert found.equal.tolist() == [False, True, False, True]


def test_a_spelling_of_the_query_is_not_in_the_index_of_other_names() -> None:
    rows = vectors(CATALOGUE, {"renal calculus": "kidney stone"})
    found = find(CATALOGUE, rows, np.arange(len(CATALOGUE.names)), drop=True)
    assert not found.equal.any()
    assert found.rank[1] == 0, "kidney stones is found by renal calculus, or by the shared concept"
    lonely = catalogue_of(
        [OntologyConcept("s", "1", "x-ray", ("x ray",)), OntologyConcept("s", "2", "y")], 1.0
    )
    rows = np.eye(3, dtype=np.float32)
    assert len(find(lonely, rows, np.arange(3), drop=True).rank) == 0, "there is no other name"
    assert len(find(lonely, rows, np.array([0, 2]), drop=False).rank) == 1


def test_shares_are_counted_over_queries_and_resampled_over_concepts() -> None:
    hits, concepts = np.array([True] * 50 + [False] * 50), np.repeat(np.arange(10), 10)
    share, alone = share_of(hits, concepts, 500), share_of(hits, np.arange(100), 500)
    assert share.value == 0.5
    assert share.low is not None
    assert share.high is not None
    assert share.low < 0.3, "ten concepts say less than a hundred queries"
    assert share.high > 0.7
    assert alone.low is not None
    assert alone.low > share.low
    assert share_of(hits, concepts, 0).low is None


def test_all_figures_of_a_perfect_space_are_one() -> None:
    many = [
        OntologyConcept("s", str(n), f"thing {n}", (f"object {n}", f"item {n}")) for n in range(40)
    ]
    whole = catalogue_of(many, 0.5)
    rows = np.eye(40, dtype=np.float32)[whole.concepts]
    for found in evaluate_names(whole, rows, 100).values():
        assert found.first.value == found.among_five.value == 1.0
        assert found.first_where_words_differ is not None
        assert found.equal == pytest.approx(0.0)

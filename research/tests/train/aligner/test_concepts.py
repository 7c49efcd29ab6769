"""Concepts put together from several sources, and what is kept out of them."""

import tomllib
from collections.abc import Iterable

from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import OntologyConcept
from histoeval_research.train.aligner.compositions import COMPOSED
from histoeval_research.train.aligner.names import ConceptPool, NamedConcept, PoolMaker, bag
from histoeval_research.train.aligner.variants import Contrasts, Variants, spelling_table

CONTRASTS = Contrasts(
    tomllib.loads(
        '[[contrast]]\naxis = "acuity"\nin_test = false\nwords = [["acute", "chronic"]]\n'
    )
)


def pool_of(
    *sources: Iterable[OntologyConcept], held_out: Iterable[OntologyConcept] = ()
) -> ConceptPool:
    maker = PoolMaker(held_out)
    for source in sources:
        maker.add(source, 1.0)
    maker.tell_apart()
    maker.contrast(CONTRASTS)
    maker.vary(Variants(spelling_table(), {}), 3)
    return maker.pool()


def concept_with(pool: ConceptPool, name: str) -> tuple[int, NamedConcept]:
    (found,) = [
        (place, concept) for place, concept in enumerate(pool.concepts) if name in concept.names
    ]
    return found


def test_concepts_of_two_sources_with_the_same_preferred_name_are_one() -> None:
    pool = pool_of(
        [OntologyConcept("a", "1", "Renal tumour", ("kidney tumor",))],
        [OntologyConcept("b", "2", "renal tumors", ("tumor of kidney",), ("9",))],
    )
    _, concept = concept_with(pool, "kidney tumor")
    assert concept.names == ["Renal tumour", "kidney tumor", "renal tumors", "tumor of kidney"]
    assert concept.groups == {"b/9"}


def test_the_preferred_name_of_one_concept_is_no_synonym_of_another_and_they_are_allied() -> None:
    pool = pool_of(
        [
            OntologyConcept("a", "1", "adult wart", ("wart", "grown-up wart")),
            OntologyConcept("a", "2", "wart"),
        ]
    )
    adult, concept = concept_with(pool, "adult wart")
    wart, _ = concept_with(pool, "wart")
    assert concept.names == ["adult wart", "grown-up wart"]
    assert pool.allied == {(adult, wart)}


def test_no_name_of_a_held_out_concept_is_learned_in_any_source_order_or_variant() -> None:
    kept_out = OntologyConcept("a", "1", "Squamous Cell Carcinoma", ("epidermoid cancer",))
    pool = pool_of(
        [kept_out, OntologyConcept("a", "2", "chronic gastritis")],
        [
            OntologyConcept(
                "b", "3", "carcinoma, squamous cell", ("squamous-cell carcinomas", "SCC")
            )
        ],
        held_out=[kept_out, OntologyConcept("a", "4", "acute gastritis")],
    )
    names = [name for c in pool.concepts for name in (*c.names, *c.variants)]
    hidden = {bag(name) for name in (*kept_out.names, "acute gastritis")}
    assert "SCC" in names
    assert not hidden & {bag(name) for name in names}
    _, gastritis = concept_with(pool, "chronic gastritis")
    assert not gastritis.opposites, "its swap is a name that was kept out"


def test_a_swap_that_is_a_name_is_that_concept_and_one_that_is_none_is_a_new_one() -> None:
    pool = pool_of(
        [
            OntologyConcept("a", "1", "acute colitis"),
            OntologyConcept("a", "2", "chronic colitis"),
            OntologyConcept("a", "3", "acute otitis", ("otitis, acute", "ear inflammation")),
            OntologyConcept("a", "4", "acute thing", ("chronic thing",)),
        ]
    )
    acute, concept = concept_with(pool, "acute colitis")
    chronic, other = concept_with(pool, "chronic colitis")
    assert (concept.opposites, other.opposites) == ({chronic}, {acute})
    otitis, concept = concept_with(pool, "acute otitis")
    (made,) = concept.opposites
    assert pool.concepts[made].names == ["chronic otitis", "otitis, chronic"]
    assert pool.concepts[made].weight == 0
    assert pool.concepts[made].opposites == {otitis}
    assert not concept_with(pool, "acute thing")[1].opposites, "its swap is a name of its own"


def test_composed_phrases_of_one_group_are_opposites_and_known_names_are_kept() -> None:
    maker = PoolMaker()
    maker.add([OntologyConcept("a", "1", "left kidney")], 1.0)
    left = OntologyConcept(COMPOSED, "s/l", "left kidney", ("kidney, left",), ("side/kidney",))
    right = OntologyConcept(COMPOSED, "s/r", "right kidney", (), ("side/kidney",))
    maker.add_composed([left, right], 0.5)
    pool = maker.pool()
    place, concept = concept_with(pool, "left kidney")
    other, _ = concept_with(pool, "right kidney")
    assert concept.names == ["left kidney", "kidney, left"]
    assert concept.weight == 1.0
    assert concept.opposites == {other}
    assert pool.concepts[other].opposites == {place}


def test_a_minus_is_part_of_what_a_name_says() -> None:
    assert form("ER -") != form("ER")
    assert form("ER (-)") == form("ER -")
    assert form("T-cell") == form("T cell")


def test_variants_of_a_concept_are_never_names_of_another() -> None:
    pool = pool_of([OntologyConcept("a", str(n), f"tumor of site {n}") for n in range(30)])
    owner = {form(name): place for place, c in enumerate(pool.concepts) for name in c.names}
    for place, concept in enumerate(pool.concepts):
        assert concept.variants
        assert all(owner.get(form(variant), place) == place for variant in concept.variants)


def test_about_the_share_is_held_out_and_follows_from_the_id_alone() -> None:
    ids = [f"C{number}" for number in range(10_000)]
    assert not any(is_held_out(key, 0.0) for key in ids)
    assert all(is_held_out(key, 1.0) for key in ids)
    small = {key for key in ids if is_held_out(key, 0.1)}
    assert 900 < len(small) < 1100
    assert small <= {key for key in ids if is_held_out(key, 0.3)}

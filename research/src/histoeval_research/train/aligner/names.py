"""Where an aligner's names come from, as its YAML file says, and the pool that is made of them."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import Field

from histoeval.io.settings_files import FilePath
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import Kind, OntologyConcept, read_ontology
from histoeval_research.train.aligner.builtin_names import (
    abbreviations,
    diagnoses,
    findings,
    markers,
    organs,
    short_forms,
)
from histoeval_research.train.aligner.compositions import bases, composed, composition_table
from histoeval_research.train.aligner.concepts import ConceptPool, PoolMaker
from histoeval_research.train.aligner.contrasts import Contrasts, contrast_table
from histoeval_research.train.aligner.spelling_variants import Variants, spelling_table
from histoeval_research.train.core.provenance import lists_sha256

_LISTS = frozenset(
    f"{name}.toml"
    for name in (
        "abbreviations",
        "compositions",
        "contrasts",
        "diagnoses",
        "findings",
        "markers",
        "organs",
        "spelling",
    )
)

Weight = Annotated[float, Field(ge=0)]


class Ontology(Noun):
    """A file of concepts, and how often one of them is drawn compared with others."""

    file: FilePath
    kind: Kind
    weight: Weight = 1.0
    within: tuple[str, ...] | None = None
    """Of MeSH: how the tree numbers of the branches begin."""
    languages: tuple[str, ...] | None = None
    """Of MRCONSO, as is `sources`."""
    sources: tuple[str, ...] | None = None

    def read(self) -> list[OntologyConcept]:
        """The concepts of the file."""
        options = self.model_dump(include={"within", "languages", "sources"}, exclude_none=True)
        return list(read_ontology(self.file, self.kind, **options))


class NameSettings(Noun):
    """What is made of the names."""

    held_out: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the concepts of the first ontology that are kept for testing."""
    terms: Weight = 3.0
    """How often a concept of our own lists is drawn; 0 leaves them out."""
    composed: Weight = 0.5
    """How often a composed phrase is drawn; 0 leaves them out."""
    wordings: Annotated[int, Field(ge=2)] = 6
    """Of a composed phrase."""
    variants: Annotated[int, Field(ge=0)] = 3
    """Names of a concept that variants are made of, two of each."""
    contrasts: bool = True
    """Whether words are swapped to make opposites."""
    only_unseen: bool = False
    """Whether pairs of words that our own test of opposites holds are skipped."""
    seed: int = 0


def held_out_of(concepts: Iterable[OntologyConcept], share: float) -> list[OntologyConcept]:
    """The concepts that are kept for testing."""
    return [named for named in concepts if is_held_out(named.id, share)]


def listed() -> dict[str, set[str]]:
    """Concepts of our own lists by the plain form of each of their names, for leak checks."""
    same = [
        OntologyConcept("same", f"{row['axis']}/{name}", name, tuple(others))
        for row in composition_table()["same"]
        for name, *others in row["names"]
    ]
    known: dict[str, set[str]] = {}
    for own_list in (diagnoses(), organs(), markers(), findings(), abbreviations(), same):
        for named in own_list:
            for name in named.names:
                known.setdefault(form(name), set()).add(f"{named.source}/{named.id}")
    return known


def names_sha256() -> str:
    """The hash of all our own lists that names are made of."""
    ours = map(resource_path, ("terms/data", "histoeval_research/train/aligner/data"))
    listed = sorted((f for folder in ours for f in folder.iterdir()), key=lambda file: file.name)
    return lists_sha256(*(file.read_bytes() for file in listed if file.name in _LISTS))


def make_pool(
    ontologies: Iterable[Ontology], naming: NameSettings, tell: Callable[[str], Any]
) -> ConceptPool:
    """Read all names and put them together; the first ontology is the one that is tested on."""
    read = [(ontology.read(), ontology.weight) for ontology in ontologies]
    tested = held_out_of(read[0][0], naming.held_out) if read else []
    maker = PoolMaker(tested)
    for concepts, weight in read:
        maker.add(concepts, weight)
    if naming.terms:
        for list_of_ours in (diagnoses, organs, markers, findings, abbreviations):
            maker.add(list_of_ours(), naming.terms)
    maker.tell_apart()
    if naming.contrasts:
        maker.contrast(Contrasts(contrast_table(), only_unseen=naming.only_unseen))
    if naming.composed:
        table = composition_table()
        phrases = composed(table, bases(table["bases"]), most=naming.wordings, seed=naming.seed)
        maker.add_composed(phrases, naming.composed)
    if naming.variants:
        words = maker.words()
        variants = Variants(spelling_table(), short_forms(), words, naming.seed)
        maker.vary(variants, naming.variants)
    pool = maker.pool()
    tell(f"{len(pool.concepts):,} concepts, {len(tested):,} kept for testing")
    return pool

"""Names that an aligner learns: where they come from, what means the same, and what must not.

Concepts of several sources with the same preferred name are one. A name that is the preferred name
of one concept is no synonym of another; concepts that share a name are never taught to be far from
each other. Concepts that are held out for testing are kept out with all their names, in every
source: no name with the same words, in whatever order, is learned from.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Annotated, Any

from pydantic import Field

from histoeval.io.settings_files import FilePath
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import Kind, OntologyConcept, read_ontology
from histoeval_research.train.aligner.compositions import (
    COMPOSED,
    abbreviations,
    bases,
    composed,
    composition_table,
    diagnoses,
    findings,
    markers,
    organs,
    short_forms,
)
from histoeval_research.train.aligner.variants import (
    Contrasts,
    Variants,
    contrast_table,
    spelling_table,
)
from histoeval_research.train.core.model_folder import lists_sha256

MOST_LETTERS = 150
_MOST_SWAPS = 8
_MOST_SWAPPED_NAMES = 4
_MOST_SHARING = 30
"""A name of more concepts than this says nothing of any of them."""


@dataclass(slots=True)
class NamedConcept:
    """Names of one thing, variants of them, how often it is drawn, and what is unlike it."""

    names: list[str]
    weight: float
    variants: list[str] = field(default_factory=list)
    opposites: set[int] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    """What it is a kind of: others in the group are near, and yet something else."""


@dataclass(frozen=True, slots=True)
class ConceptPool:
    """All concepts, and the pairs of them that must not be taught apart."""

    concepts: list[NamedConcept]
    allied: set[tuple[int, int]]


@lru_cache(maxsize=1 << 20)
def bag(name: str) -> str:
    """The words of a name, whatever their order."""
    return " ".join(sorted(form(name).split()))


class PoolMaker:
    """Puts concepts together, source by source, and then their opposites."""

    def __init__(self, held_out: Iterable[OntologyConcept] = ()) -> None:
        self._forbidden = {bag(name) for named in held_out for name in named.names}
        self._concepts: list[NamedConcept] = []
        self._preferred: dict[str, int] = {}
        self._owners: dict[str, set[int]] = {}

    def add(self, concepts: Iterable[OntologyConcept], weight: float) -> None:
        """Concepts of one source, each drawn in proportion to the weight."""
        for named in concepts:
            names = self._allowed(named.names)
            if names:
                place = self._place(form(named.name), weight)
                self._enter(place, names)
                self._concepts[place].groups |= {f"{named.source}/{p}" for p in named.parents}

    def add_composed(self, concepts: Iterable[OntologyConcept], weight: float) -> None:
        """Composed phrases: one that has a name by itself is what that name says."""
        groups: dict[str, list[int]] = {}
        for named in concepts:
            names = self._allowed(named.names)
            if not names:
                continue
            owners = {owner for name in names for owner in self._owners.get(form(name), ())}
            place = owners.pop() if len(owners) == 1 else self._new(weight)
            self._enter(place, names)
            groups.setdefault(f"{COMPOSED}/{named.parents[0]}", []).append(place)
        for places in groups.values():
            for place in places:
                self._concepts[place].opposites |= set(places) - {place}

    def contrast(self, contrasts: Contrasts) -> None:
        """Give each concept what its names become when a word is swapped."""
        for place in range(len(self._concepts)):
            swapped: dict[str, list[str]] = {}
            for name in self._concepts[place].names:
                for swap in contrasts.of(name):
                    swapped.setdefault(swap.key, []).append(swap.phrase)
            for names in [*swapped.values()][:_MOST_SWAPS]:
                self._oppose(place, self._allowed(names)[:_MOST_SWAPPED_NAMES])

    def _oppose(self, place: int, names: Sequence[str]) -> None:
        known = {owner for name in names for owner in self._owners.get(form(name), ())}
        if place in known or not names:
            return
        if not known:
            other = self._new(0.0)
            self._enter(other, names)
            known = {other}
        self._concepts[place].opposites |= known
        for other in known:
            self._concepts[other].opposites.add(place)

    def vary(self, variants: Variants, most: int) -> None:
        """Give each concept some variants of its names."""
        for place, concept in enumerate(self._concepts):
            for name in concept.names[:most]:
                concept.variants += [
                    variant
                    for variant in self._allowed(variants.of(name, 2))
                    if self._owners.get(form(variant), {place}) == {place}
                ]

    def words(self) -> set[str]:
        """All words of all names, in lower case."""
        return {word.lower() for c in self._concepts for name in c.names for word in name.split()}

    def pool(self) -> ConceptPool:
        """What was put together."""
        for concept in self._concepts:
            concept.names = list(dict.fromkeys(concept.names))
        return ConceptPool(self._concepts, set(self._shared()))

    def tell_apart(self) -> None:
        """Take from each concept the names that are preferred names of others."""
        for place, concept in enumerate(self._concepts):
            own = [n for n in concept.names if self._preferred.get(form(n), place) == place]
            concept.names = list(dict.fromkeys(own or concept.names[:1]))

    def _shared(self) -> Iterator[tuple[int, int]]:
        for owners in self._owners.values():
            if 1 < len(owners) <= _MOST_SHARING:
                yield from combinations(sorted(owners), 2)

    def _allowed(self, names: Iterable[str]) -> list[str]:
        return [
            name
            for name in names
            if len(name) <= MOST_LETTERS and form(name) and bag(name) not in self._forbidden
        ]

    def _place(self, preferred: str, weight: float) -> int:
        if preferred in self._preferred:
            place = self._preferred[preferred]
            concept = self._concepts[place]
            concept.weight = max(concept.weight, weight)
            return place
        self._preferred[preferred] = self._new(weight)
        return self._preferred[preferred]

    def _new(self, weight: float) -> int:
        self._concepts.append(NamedConcept([], weight))
        return len(self._concepts) - 1

    def _enter(self, place: int, names: Collection[str]) -> None:
        self._concepts[place].names += names
        for name in names:
            self._owners.setdefault(form(name), set()).add(place)


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

"""Names that an aligner learns: where they come from, what means the same, and what must not.

Concepts of several sources with the same preferred name are one. A name that is the preferred name
of one concept is no synonym of another; concepts that share a name are never taught to be far from
each other. Concepts that are held out for testing are kept out with all their names, in every
source: no name with the same words, in whatever order, is learned from.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from histoeval.resources import resource_path
from histoeval.terms.plain import form, is_held_out
from histoeval_research.ontology.obo import OntologyConcept
from histoeval_research.train.aligner.compositions import (
    COMPOSED,
    LISTED,
    bases,
    composed,
    composition_table,
    own_list,
    short_forms,
)
from histoeval_research.train.aligner.config import NameSettings, Ontology
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
_MOST_SHARING = 30  # a name of more concepts than this says nothing of any of them

_FILES = {f"{name}.toml" for name in (*LISTED, "compositions", "contrasts", "spelling")}


@dataclass(slots=True)
class NamedConcept:
    """Names of one thing, variants of them, how often it is drawn, and what is unlike it."""

    names: list[str]
    weight: float
    variants: list[str] = field(default_factory=list)
    opposites: set[int] = field(default_factory=set)
    # What it is a kind of: others in the group are near, and yet something else.
    groups: set[str] = field(default_factory=set)


class ConceptPool(NamedTuple):
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
        for named in concepts:
            names = self._allowed(named.names)
            if not names:
                continue
            preferred = form(named.name)
            place = self._preferred.get(preferred)
            if place is None:
                place = self._preferred[preferred] = self._new(weight)
            self._enter(place, names)
            concept = self._concepts[place]
            concept.weight = max(concept.weight, weight)
            concept.groups |= {f"{named.source}/{p}" for p in named.parents}

    def add_composed(self, concepts: Iterable[OntologyConcept], weight: float) -> None:
        """Composed phrases: one that has a name by itself is what that name says."""
        groups: dict[str, list[int]] = {}
        for named in concepts:
            names = self._allowed(named.names)
            if not names:
                continue
            owners = self._owners_of(names)
            place = owners.pop() if len(owners) == 1 else self._new(weight)
            self._enter(place, names)
            groups.setdefault(f"{COMPOSED}/{named.parents[0]}", []).append(place)
        for places in groups.values():
            for place in places:
                self._concepts[place].opposites |= set(places) - {place}

    def tell_apart(self) -> None:
        """Take from each concept the names that are preferred names of others."""
        for place, concept in enumerate(self._concepts):
            own = [n for n in concept.names if self._preferred.get(form(n), place) == place]
            concept.names = list(dict.fromkeys(own or concept.names[:1]))

    def contrast(self, contrasts: Contrasts) -> None:
        """Give each concept what its names become when a word is swapped."""
        # A swap that is a name of the concept itself changes nothing, one that is a name of others
        # means these, and any other is a new concept.
        for place in range(len(self._concepts)):
            swapped: dict[str, list[str]] = {}
            for name in self._concepts[place].names:
                for swap in contrasts.of(name):
                    swapped.setdefault(swap.key, []).append(swap.phrase)
            for phrases in [*swapped.values()][:_MOST_SWAPS]:
                names = self._allowed(phrases)[:_MOST_SWAPPED_NAMES]
                opposites = self._owners_of(names)
                if place in opposites or not names:
                    continue
                if not opposites:
                    new = self._new(0.0)
                    self._enter(new, names)
                    opposites = {new}
                self._concepts[place].opposites |= opposites
                for opposite in opposites:
                    self._concepts[opposite].opposites.add(place)

    def vary(self, variants: Variants, most: int) -> None:
        for place, concept in enumerate(self._concepts):
            for name in concept.names[:most]:
                concept.variants += [
                    variant
                    for variant in self._allowed(variants.of(name, 2))
                    if self._owners.get(form(variant), {place}) == {place}
                ]

    def words(self) -> set[str]:
        return {word.lower() for c in self._concepts for name in c.names for word in name.split()}

    def pool(self) -> ConceptPool:
        for concept in self._concepts:
            concept.names = list(dict.fromkeys(concept.names))
        sharing = (owners for owners in self._owners.values() if 1 < len(owners) <= _MOST_SHARING)
        allied = {pair for owners in sharing for pair in combinations(sorted(owners), 2)}
        return ConceptPool(self._concepts, allied)

    def _allowed(self, names: Iterable[str]) -> list[str]:
        return [
            name
            for name in names
            if len(name) <= MOST_LETTERS and form(name) and bag(name) not in self._forbidden
        ]

    def _owners_of(self, names: Iterable[str]) -> set[int]:
        return {owner for name in names for owner in self._owners.get(form(name), ())}

    def _new(self, weight: float) -> int:
        self._concepts.append(NamedConcept([], weight))
        return len(self._concepts) - 1

    def _enter(self, place: int, names: Sequence[str]) -> None:
        self._concepts[place].names += names
        for name in names:
            self._owners.setdefault(form(name), set()).add(place)


def listed() -> dict[str, set[str]]:
    """Concepts of our own lists by the plain form of each of their names, for leak checks."""
    same = [
        OntologyConcept("same", f"{row['axis']}/{name}", name, tuple(others))
        for row in composition_table()["same"]
        for name, *others in row["names"]
    ]
    known: dict[str, set[str]] = {}
    for concepts in (*map(own_list, LISTED), same):
        for named in concepts:
            for name in named.names:
                known.setdefault(form(name), set()).add(f"{named.source}/{named.id}")
    return known


def names_sha256() -> str:
    folders = map(resource_path, ("terms/data", "histoeval_research/train/aligner/data"))
    files = sorted((file for folder in folders for file in folder.iterdir()), key=lambda f: f.name)
    return lists_sha256(*(file.read_bytes() for file in files if file.name in _FILES))


def make_pool(
    ontologies: Sequence[Ontology], naming: NameSettings, tell: Callable[[str], object]
) -> ConceptPool:
    """Read all names and put them together; the first ontology is the one that is tested on."""
    sources = [(ontology.read(), ontology.weight) for ontology in ontologies]
    tested = [named for named in sources[0][0] if is_held_out(named.id, naming.held_out)]
    maker = PoolMaker(tested)
    if naming.terms:
        sources += [(list(own_list(name)), naming.terms) for name in LISTED]
    for concepts, weight in sources:
        maker.add(concepts, weight)
    maker.tell_apart()
    if naming.contrasts:
        maker.contrast(Contrasts(contrast_table(), only_unseen=naming.only_unseen))
    if naming.composed:
        table = composition_table()
        phrases = composed(table, bases(table["bases"]), most=naming.wordings, seed=naming.seed)
        maker.add_composed(phrases, naming.composed)
    if naming.variants:
        words = maker.words()
        maker.vary(Variants(spelling_table(), short_forms(), words, naming.seed), naming.variants)
    pool = maker.pool()
    tell(f"{len(pool.concepts):,} concepts, {len(tested):,} kept for testing")
    return pool

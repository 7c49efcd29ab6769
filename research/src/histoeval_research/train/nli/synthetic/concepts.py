"""Diagnoses as pairs are made of them: names, what is above, below and beside them, and sites."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from histoeval.terms.catalogue import Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.sites import organ_of, site_closeness, sites
from histoeval_research.train.nli.synthetic.wordings import (
    Part,
    is_held_out,
    sentences,
    table,
    worded,
)

NEOPLASTIC = frozenset(
    {Behaviour.MALIGNANT, Behaviour.IN_SITU, Behaviour.BORDERLINE, Behaviour.BENIGN}
)
_MOST_WORDS = 6
_NAMES = 5


@dataclass(frozen=True, slots=True)
class PairDraw:
    """What one pair is drawn with."""

    chance: random.Random
    part: Part

    def of(self, key: str, **words: str) -> str:
        """A statement on a diagnosis."""
        return worded(table("frames")["diagnosis"][key], self.part, self.chance, **words)

    def behaves(self, key: str) -> str:
        """A statement on behaviour."""
        return worded(table("frames")["behaviour"][key], self.part, self.chance)

    def concept(self, *behaviours: Behaviour) -> Concept:
        """A diagnosis that behaves in one of these ways; in any way when none is named."""
        return self.chance.choice(_of_part(self.part, behaviours))

    def name(self, concept: Concept) -> str:
        """One of its names."""
        return self.chance.choice(_names(concept))

    def say(self, concept: Concept) -> str:
        """A diagnosis, half the time with the organ it is in."""
        organ = self.organ(concept)
        if organ is None or self.chance.random() < 0.6:
            return self.of("said", d=self.name(concept))
        return self.of("placed", d=self.name(concept), o=sites()[organ].name)

    def organ(self, concept: Concept) -> str | None:
        """An organ where it arises; none where it arises anywhere."""
        return self.chance.choice(sorted(concept.organs)) if concept.organs else None


@cache
def _of_part(part: Part, behaviours: tuple[Behaviour, ...]) -> list[Concept]:
    return [
        concept
        for concept in concepts().values()
        if (part == "all" or is_held_out(concept.id) == (part == "dev"))
        and (not behaviours or concept.behaviour in behaviours)
        and concept.behaviour is not Behaviour.UNSPECIFIED
        and not concept.generic
    ]


@cache
def _names(concept: Concept) -> tuple[str, ...]:
    short = [name for name in concept.names if len(name.split()) <= _MOST_WORDS]
    return tuple(short[:_NAMES]) or (concept.name,)


def kinds_above(concept: Concept) -> list[Concept]:
    """What a diagnosis is a kind of, and behaves as it does."""
    found = (concepts()[id_] for id_ in diagnosis_tree().ancestors(concept.id) if id_ != concept.id)
    alike = (concept.behaviour, Behaviour.UNSPECIFIED)
    return [above for above in found if above.behaviour in alike]


def kinds_below(concept: Concept) -> list[Concept]:
    """All that is a kind of a diagnosis."""
    return [concepts()[id_] for id_ in diagnosis_tree().descendants(concept.id)]


def _apart(a: Concept, b: Concept) -> bool:
    """Whether two diagnoses exclude each other as the diagnosis of one tumour."""
    tree = diagnosis_tree()
    kin = tree.is_a(a.id, b.id) or tree.is_a(b.id, a.id)
    both = a.behaviour in NEOPLASTIC and b.behaviour in NEOPLASTIC
    named = {n.lower() for n in a.names} & {n.lower() for n in b.names}
    return both and not kin and not named and not a.generic and not b.generic


@cache
def _alike(a: Concept, part: Part) -> list[Concept]:
    """Tumours whose names begin alike, as leiomyoma and leiomyosarcoma do."""
    return [b for b in _of_part(part, ()) if b.name[:6] == a.name[:6] or b.name[-9:] == a.name[-9:]]


def rival(case: PairDraw, a: Concept) -> Concept | None:
    """Another tumour, mostly of the same organ or kind."""
    tree = diagnosis_tree()
    beside = [concepts()[i] for up in tree.lineage(a.id)[1:3] for i in tree.children(up)]
    same = [b for b in _of_part(case.part, ()) if a.organs & b.organs]
    any_one = _of_part(case.part, (Behaviour.MALIGNANT,))
    pool = case.chance.choice([beside, same, any_one, _alike(a, case.part)])
    fit = [b for b in pool if _apart(a, b)]
    return case.chance.choice(fit) if fit else None


def elsewhere(case: PairDraw, organs: Sequence[str]) -> str:
    """A site that is not near any of these."""
    pool = [s for s in sites() if organ_of(s) == s and sites()[s].parent]
    far = [s for s in pool if all(site_closeness(s, organ) < 0.2 for organ in organs)]
    return case.chance.choice(far)


Making = Callable[[PairDraw], tuple[str, str] | None]
"""Makes a premise and a hypothesis, or nothing where this time none can be made."""


_SECONDARY = frozenset(sentences("secondary_sites"))
"""Where tumours of other organs are often found."""
_ANYWHERE = frozenset(sentences("arise_anywhere"))
"""Kinds of tumours that are met in any organ."""
_PAIRED = frozenset(sentences("paired_organs"))


def behaves_there(case: PairDraw) -> tuple[str, str] | None:
    """The behaviour of what arises in one organ only, with that organ."""
    return _there(case, {Behaviour.MALIGNANT: "malignant_there", Behaviour.BENIGN: "benign_there"})


def behaves_otherwise_there(case: PairDraw) -> tuple[str, str] | None:
    """The opposite behaviour, in the organ that a diagnosis arises in."""
    return _there(case, {Behaviour.MALIGNANT: "benign_there", Behaviour.BENIGN: "malignant_there"})


def _there(case: PairDraw, keys: dict[Behaviour, str]) -> tuple[str, str] | None:
    a = case.concept(*keys)
    organs = {organ_of(organ) for organ in a.organs}
    if len(organs) != 1:
        return None
    words = table("frames")["behaviour"][keys[a.behaviour]]
    return case.say(a), worded(words, case.part, case.chance, o=sites()[organs.pop()].name)


def fits_site(case: PairDraw) -> tuple[str, str] | None:
    """A specimen of an organ, and what may or may not be found in it."""
    a = case.concept(*NEOPLASTIC)
    organ = case.organ(a)
    if organ is None:
        return None
    question = case.chance.choice(["said", "said", "denied"])
    return case.of("site_only", o=sites()[organ].name), case.of(question, d=case.name(a))


def _sided(case: PairDraw, organ: str) -> tuple[str, str]:
    """The organ as premise and hypothesis name it: the former may say the side."""
    name = sites()[organ].name
    side = case.chance.choice(["left ", "right "]) if organ_of(organ) in _PAIRED else ""
    return side + name, case.chance.choice([side, ""]) + name


def place(case: PairDraw) -> tuple[str, str] | None:
    """A diagnosis with its organ, and the organ alone or with what the diagnosis is a kind of."""
    a = case.concept(*NEOPLASTIC)
    organ = case.organ(a)
    if organ is None:
        return None
    first, second = _sided(case, organ)
    wider = case.chance.choice([a, *kinds_above(a)])
    question = case.chance.choice(
        [case.of("site_only", o=second), case.of("placed", d=case.name(wider), o=second)]
    )
    return case.of("placed", d=case.name(a), o=first), question


def other_place(case: PairDraw) -> tuple[str, str] | None:
    """A diagnosis in its organ, and in another one, or on the other side."""
    a = case.concept(*NEOPLASTIC)
    organ = case.organ(a)
    if organ is None:
        return None
    name = sites()[organ].name
    if organ_of(organ) in _PAIRED and case.chance.random() < 0.5:
        here, there = case.chance.sample(["left ", "right "], 2)
        return case.of("placed", d=case.name(a), o=here + name), case.of(
            case.chance.choice(["placed", "site_only"]), d=case.name(a), o=there + name
        )
    away = sites()[elsewhere(case, [organ])].name
    wrong = case.chance.choice(["placed", "site_only", "site_only"])
    return case.of("placed", d=case.name(a), o=name), case.of(wrong, d=case.name(a), o=away)


def cannot_arise(case: PairDraw) -> tuple[str, str] | None:
    """A specimen of an organ, and a tumour that does not arise there."""
    a = case.concept(Behaviour.MALIGNANT, Behaviour.BENIGN)
    anywhere = diagnosis_tree().ancestors(a.id).keys() & _ANYWHERE
    if not a.organs or len(a.organs) > 4 or anywhere:
        return None
    site = elsewhere(case, sorted(a.organs))
    primary = "primary " if site in _SECONDARY or case.chance.random() < 0.3 else ""
    pair = case.of("site_only", o=sites()[site].name), case.of("said", d=primary + case.name(a))
    return pair if case.chance.random() < 0.6 else pair[::-1]


def other_specimen(case: PairDraw) -> tuple[str, str] | None:
    """Two diagnoses in organs that are not near each other."""
    a, b = case.concept(*NEOPLASTIC), case.concept()
    organ, other = case.organ(a), case.organ(b)
    if organ is None or other is None or site_closeness(organ, other) > 0.2:
        return None
    return (
        case.of("placed", d=case.name(a), o=sites()[organ].name),
        case.of("placed", d=case.name(b), o=sites()[other].name),
    )

"""Pairs on where a diagnosis arises: its organ and side, others, and those where it cannot."""

from __future__ import annotations

from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.sites import organ_of, site_closeness, sites
from histoeval.train.nli.synthetic.concepts import NEOPLASTIC, PairDraw, elsewhere, kinds_above
from histoeval.train.nli.synthetic.wordings import sentences, table, worded

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

"""Pairs on diagnoses: what each is a kind of, how it behaves, where it arises, what it excludes."""

import random

from histoeval.nli.entailer import Label
from histoeval.terms.catalogue import Behaviour, concepts, diagnosis_tree
from histoeval_research.train.nli.synthetic.concepts import (
    NEOPLASTIC,
    Making,
    PairDraw,
    behaves_otherwise_there,
    behaves_there,
    cannot_arise,
    fits_site,
    kinds_above,
    kinds_below,
    other_place,
    other_specimen,
    place,
    rival,
)
from histoeval_research.train.nli.synthetic.topics import TopicPair
from histoeval_research.train.nli.synthetic.wordings import Part, sentences, table, worded

_FOLLOWS: dict[Behaviour, tuple[str, ...]] = {
    Behaviour.MALIGNANT: ("malignant", "malignant", "tumour"),
    Behaviour.IN_SITU: ("in_situ", "tumour"),
    Behaviour.BENIGN: ("benign",),
    Behaviour.NON_NEOPLASTIC: ("benign", "no_tumour"),
    Behaviour.NORMAL: ("benign", "normal", "no_tumour"),
}
"""What a diagnosis implies of its behaviour."""
_EXCLUDED: dict[Behaviour, tuple[str, ...]] = {
    Behaviour.MALIGNANT: ("benign", "benign", "normal", "no_tumour"),
    Behaviour.IN_SITU: ("invasive", "normal", "no_tumour"),
    Behaviour.BENIGN: ("malignant", "malignant", "invasive"),
    Behaviour.NON_NEOPLASTIC: ("malignant", "malignant", "invasive"),
    Behaviour.NORMAL: ("malignant", "malignant", "tumour", "invasive"),
}
ABOUT = frozenset(sentences("about_diagnoses"))
"""Topics that say something of a diagnosis too."""


def _same(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    return case.say(a), case.of("said", d=case.name(a))


def _kind(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(*NEOPLASTIC)
    above = kinds_above(a)
    return (case.say(a), case.of("said", d=case.name(case.chance.choice(above)))) if above else None


def _behaves(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(*_FOLLOWS)
    return case.say(a), case.behaves(case.chance.choice(_FOLLOWS[a.behaviour]))


def _behaves_otherwise(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(*_EXCLUDED)
    turned = case.say(a), case.behaves(case.chance.choice(_EXCLUDED[a.behaviour]))
    backwards = a.behaviour is not Behaviour.IN_SITU and case.chance.random() < 0.4
    return turned[::-1] if backwards else turned


def _denied_kind(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    below = [b for b in kinds_below(a) if b.behaviour == a.behaviour]
    narrower = case.chance.choice(below) if below else a
    return case.of("denied", d=case.name(a)), case.of("denied", d=case.name(narrower))


def _denied(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    wider = case.chance.choice([a, a, *kinds_above(a)])
    return case.say(a), case.of("denied", d=case.name(wider))


def _denied_then_said(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    wider = case.chance.choice([a, a, *kinds_above(a)])
    return case.of("denied", d=case.name(wider)), case.say(a)


def _rivals(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(*NEOPLASTIC)
    b = rival(case, a)
    return (case.say(a), case.of("said", d=case.name(b))) if b else None


def _earlier(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(Behaviour.IN_SITU)
    if a.precursor_of is None:
        return None
    later = case.of("said", d=case.name(concepts()[a.precursor_of]))
    pair = case.say(a), case.chance.choice([later, case.behaves("invasive")])
    return pair if case.chance.random() < 0.5 else (later, case.behaves("in_situ"))


def _nothing_malignant(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept(Behaviour.MALIGNANT)
    return case.behaves("benign"), case.of("denied", d=case.name(a))


def _together(case: PairDraw) -> tuple[str, str] | None:
    a, b = case.concept(*NEOPLASTIC), case.concept(Behaviour.NON_NEOPLASTIC, Behaviour.IN_SITU)
    one, two = case.chance.sample([case.name(a), case.name(b)], 2)
    return case.of("with", d=one, e=two), case.of("said", d=case.chance.choice([one, two]))


def _together_denied(case: PairDraw) -> tuple[str, str] | None:
    pair = _together(case)
    a, b = case.concept(Behaviour.MALIGNANT), case.concept(Behaviour.NON_NEOPLASTIC)
    one, two = case.chance.sample([case.name(a), case.name(b)], 2)
    denied = case.of("denied", d=case.chance.choice([one, two]))
    return (case.of("with", d=one, e=two), denied) if pair else None


def _narrower(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    wider = case.chance.choice([*kinds_above(a), a])
    if wider == a:
        return None
    pair = case.of("said", d=case.name(wider)), case.of("said", d=case.name(a))
    denied = case.of("denied", d=case.name(a)), case.of("denied", d=case.name(wider))
    return case.chance.choice([pair, pair, denied])


def _doubted(case: PairDraw) -> tuple[str, str] | None:
    a = case.concept()
    question = case.chance.choice(["said", "said", "denied"])
    doubt = case.chance.choice(["doubted", "doubted", "history"])
    return case.of(doubt, d=case.name(a)), case.of(question, d=case.name(a))


def _outside(case: PairDraw) -> tuple[str, str] | None:
    frames = table("frames")["outside"]["said"]
    return case.say(case.concept()), worded(frames, case.part, case.chance)


def _unrelated(case: PairDraw) -> tuple[str, str] | None:
    a, b = case.concept(), case.concept()
    tree = diagnosis_tree()
    if tree.is_a(a.id, b.id) or tree.is_a(b.id, a.id) or a.behaviour is Behaviour.NORMAL:
        return None
    return case.of("denied", d=case.name(a)), case.of("said", d=case.name(b))


def _beside(case: PairDraw) -> tuple[str, str] | None:
    a, b = case.concept(*NEOPLASTIC), case.concept(Behaviour.NON_NEOPLASTIC)
    return case.say(a), case.of("said", d=case.name(b))


def _which(case: PairDraw) -> tuple[str, str] | None:
    key, behaviour = case.chance.choice(
        [("malignant", Behaviour.MALIGNANT), ("benign", Behaviour.NON_NEOPLASTIC)]
    )
    return case.behaves(key), case.of("said", d=case.name(case.concept(behaviour)))


_MAKING: dict[Label, tuple[tuple[str, Making, int], ...]] = {
    "entailment": (
        ("synonym", _same, 3),
        ("parent", _kind, 3),
        ("benign/malignant", _behaves, 3),
        ("site", place, 3),
        ("assertion", _denied_kind, 2),
        ("benign/malignant", _nothing_malignant, 1),
        ("benign/malignant", behaves_there, 2),
        ("several", _together, 2),
    ),
    "contradiction": (
        ("assertion", _denied, 3),
        ("assertion", _denied_then_said, 2),
        ("exclusive", _rivals, 5),
        ("benign/malignant", _behaves_otherwise, 4),
        ("benign/malignant", behaves_otherwise_there, 2),
        ("site", other_place, 2),
        ("site", cannot_arise, 2),
        ("in situ/invasive", _earlier, 2),
        ("several", _together_denied, 1),
    ),
    "neutral": (
        ("unspecified", _narrower, 4),
        ("doubt", _doubted, 3),
        ("outside", _outside, 2),
        ("other specimen", other_specimen, 2),
        ("assertion", _unrelated, 2),
        ("additional", _beside, 3),
        ("unspecified", _which, 1),
        ("site", fits_site, 2),
    ),
}


def some_cancer(chance: random.Random, part: Part) -> str:
    """A statement that there is a cancer, for those who speak of something else."""
    case = PairDraw(chance, part)
    return case.say(case.concept(Behaviour.MALIGNANT))


def draw_diagnosis(chance: random.Random, part: Part, label: Label) -> TopicPair | None:
    """A pair on diagnoses."""
    making = _MAKING[label]
    category, make, _ = chance.choices(making, [weight for _, _, weight in making])[0]
    pair = make(PairDraw(chance, part))
    if pair is None or pair[0] == pair[1]:
        return None
    return TopicPair(pair[0], pair[1], label, category, ABOUT)

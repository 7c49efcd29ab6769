"""Pairs on parts and wholes of the body, other names, and what letters of stages say."""

from __future__ import annotations

from functools import cache

from histoeval.nli.entailer import Label
from histoeval.terms.catalogue import concepts, diagnosis_tree
from histoeval.terms.sites import site_tree, sites
from histoeval.train.nli.synthetic.organs.cards import Drawn, Words, organ_frames, with_article
from histoeval.train.nli.synthetic.wordings import sentences

_REGIONS = frozenset({"body_region", "body_cavity"})


@cache
def _parts() -> tuple[tuple[str, str], ...]:
    """Sites, each with one that it is a part of."""
    tree, known = site_tree(), sites()
    return tuple(
        (id_, above)
        for id_ in known
        for above in tree.lineage(id_)[1:]
        if above not in _REGIONS and known[above].parent != above
    )


def _name(site: str) -> str:
    return sites()[site].name


def draw_part(words: Words, label: Label) -> Drawn | None:
    """A part of an organ and the organ, either way round, and another part."""
    frames, pick, chance = organ_frames()["anatomy"], words.chance.choice, words.chance
    part, whole = pick(_parts())
    what = pick(frames["what"])
    if label == "neutral":
        if chance.random() < 0.5:
            premise = _placed(words, what, _name(whole))
            return premise, pick(frames["there"]).format(_name(part)), label, "anatomy"
        other = pick(_parts())[0]
        text = pick(frames["also"]).format(_name(other))
        return _placed(words, what, _name(part)), text, label, "anatomy"
    if label == "entailment":
        text = pick(frames["there"]).format(_name(whole))
        return _placed(words, what, _name(part)), text, label, "anatomy"
    other = pick(_parts())[0]
    tree = site_tree()
    regions = (tree.lineage(other)[-1] in _REGIONS) != (tree.lineage(part)[-1] in _REGIONS)
    if regions or tree.is_a(other, part) or tree.is_a(part, other):
        return None
    text = pick(frames["there"]).format(_name(other))
    return _placed(words, what, _name(part)), text, label, "anatomy"


def _placed(words: Words, what: str, place: str) -> str:
    return words.chance.choice(sentences("part_frames")).format(what, place)


def draw_name(words: Words, label: Label) -> Drawn | None:
    """A diagnosis by another name, and what it is a kind of."""
    pick = words.chance.choice
    tree, known = diagnosis_tree(), concepts()
    concept = pick(list(known.values()))
    line = [known[id_] for id_ in tree.lineage(concept.id)[1:4]]
    frame = pick(sentences("name_frames"))
    hypothesis = pick(sentences("name_asked"))
    place = pick(words.organ["names"]) if "{1}" in frame else ""
    if "{1}" in frame and not concept.organs:
        return None
    if label == "entailment" and len(concept.names) > 1:
        one, other = words.chance.sample(concept.names, 2)
    elif label == "neutral" and line:
        one, other = pick(line).name, concept.name
    elif label == "contradiction":
        second = pick(list(known.values()))
        kin = {*tree.lineage(concept.id)} & {*tree.lineage(second.id)}
        alike = concept.id in kin or second.id in kin or concept.generic or second.generic
        if alike or (second.behaviour == concept.behaviour and not kin):
            return None
        one, other = concept.name, second.name
    else:
        return None
    if "{1}" in frame:
        frame = "{0}"
    return frame.format(one, place), hypothesis.format(other, with_article(other)), label, "name"


def draw_unknown_primary(words: Words, label: Label) -> Drawn | None:
    """A metastasis whose origin is given, or not."""
    frames, pick = organ_frames()["unknown"], words.chance.choice
    place, home, wrong = (pick(frames["places"]), *words.chance.sample(frames["homes"], 2))
    if place in (home, wrong):
        return None
    if label == "neutral":
        return (
            pick(frames["open"]).format(place),
            pick(frames["asked"]).format(home),
            label,
            "origin",
        )
    premise = pick(frames["told"]).format(place, home)
    hypothesis = pick(frames["asked"]).format(home if label == "entailment" else wrong)
    return premise, hypothesis, label, "origin"


def draw_letters(words: Words, label: Label) -> Drawn | None:
    """Letters of stages and what they say."""
    frames, pick, chance = organ_frames()["letters"], words.chance.choice, words.chance
    axes = {axis: pick(list(frames[axis])) for axis in ("T", "N", "M")}
    shown = [axis for axis in axes if chance.random() < 0.8] or ["N"]
    premise = pick(sentences("letters_frames")).format(
        pick(["p", ""]) + " ".join(f"{axis}{axes[axis]}" for axis in shown)
    )
    if label == "neutral":
        free = [axis for axis in axes if axis not in shown]
        if free and chance.random() < 0.6:
            axis = pick(free)
            return premise, pick(frames[axis][pick(list(frames[axis]))]), label, "letters"
        return premise, pick(frames["away"]), label, "letters"
    axis = pick(shown)
    if label == "entailment":
        return premise, pick(frames[axis][axes[axis]]), label, "letters"
    others = [key for key in frames[axis] if key != axes[axis]]
    if axis == "N":
        others = [key for key in others if (key == "0") != (axes[axis] == "0")]
    return premise, pick(frames[axis][pick(others)]), label, "letters"


def draw_hint(words: Words, label: Label) -> Drawn | None:
    """One thing seen, which is of many diseases or of one."""
    frames, pick = organ_frames()["hint"], words.chance.choice
    hypothesis = pick(sentences("hint_asked"))
    if label == "neutral":
        seen, names = pick(list(frames["vague"].items()))
    else:
        seen, names = pick(list(frames["telling"].items()))
    if label == "contradiction":
        names = [pick(words.entity["names"])]
        known = frames["telling"][seen]
        if words.entity["behaviour"] == "uncertain" or {*names} & {*known}:
            return None
    name = pick(names)
    premise = pick(sentences("hint_frames")).format(seen)
    return premise, hypothesis.format(name, with_article(name)), label, "hint"

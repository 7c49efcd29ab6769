"""Pairs on parts of the body, other names, origin and spread, and what letters of stages imply."""

from functools import cache

from histoeval.nli.entailer import Label
from histoeval.terms.catalogue import concepts, diagnosis_tree
from histoeval.terms.sites import site_tree, sites
from histoeval_research.train.nli.synthetic.organs.cards import (
    Drawn,
    Words,
    organ_frames,
    pair,
    with_article,
)
from histoeval_research.train.nli.synthetic.wordings import sentences

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


_PLURAL_FROM = 3


def draw_origin(words: Words, label: Label) -> Drawn | None:
    """Where a tumour arises, by its name, its organ or a part of it."""
    frames, pick, chance = organ_frames()["origin"], words.chance.choice, words.chance
    if chance.random() < 0.6:
        return _within(words, label)
    name, elsewhere = words.organ["names"][0], pick(words.elsewhere["names"])
    if label == "neutral":
        return pair(
            words,
            pick(["a tumour of the {OO}", *frames["bare"]]),
            pick(frames["finer"]),
            label,
            "origin",
        )
    if words.organ["names"][0] not in words.entity["names"][0] and not _is_told_by_name(words):
        return None
    place = name if label == "entailment" else elsewhere
    hypothesis = pick(frames["arises"]).replace("{X}", place)
    return pair(words, pick(frames["bare"]), hypothesis, label, "origin")


def _is_told_by_name(words: Words) -> bool:
    """Whether the name of a diagnosis says its organ."""
    names = words.entity["names"]
    return any(root in name for name in names for root in sentences("organ_roots"))


def _within(words: Words, label: Label) -> Drawn | None:
    """A part of an organ, the organ, and another part or organ."""
    frames, pick, chance = organ_frames()["origin"], words.chance.choice, words.chance
    one, other = chance.sample(frames["within"], 2)
    part, second = chance.sample(one["parts"], 2)
    name = pick(sentences("origin_lesions"))
    premise = pick(sentences("origin_frames"))
    hypothesis = pick([*frames["arises"], *frames["taken"]])
    if label == "entailment":
        return premise.format(name, part), hypothesis.replace("{X}", one["whole"]), label, "origin"
    if label == "contradiction":
        place = pick([second, other["whole"], pick(other["parts"])])
        return premise.format(name, part), hypothesis.replace("{X}", place), label, "origin"
    if chance.random() < 0.6:
        return premise.format(name, one["whole"]), hypothesis.replace("{X}", part), label, "origin"
    text = pick(sentences("origin_open"))
    return premise.format(name, part), text.format(pick([second, other["whole"]])), label, "origin"


def draw_spread(words: Words, label: Label) -> Drawn | None:
    """Primary or secondary."""
    if words.entity["behaviour"] != "malignant":
        return None
    frames, pick = organ_frames()["origin"], words.chance.choice
    targets = sentences("spread_places")
    place, other = words.chance.sample(targets, 2)
    if place in words.organ["names"] or "metasta" in words.entity["names"][0]:
        return None
    kind = {"entailment": "spread_yes", "contradiction": "spread_no", "neutral": "spread_open"}
    texts = [pick(frames["spread"]), pick(frames[kind[label]])]
    premise, hypothesis = (text.replace("{X}", place).replace("{Y}", other) for text in texts)
    return pair(words, premise, hypothesis, label, "spread")


def draw_numbered(words: Words, label: Label) -> Drawn | None:
    """Several numbered things, of which one is asked about by number or order."""
    frames, pick, chance = organ_frames()["numbered"], words.chance.choice, words.chance
    thing = pick(frames["things"])
    states = [pick(words.entity["names"]), pick(words.other["names"])]
    if chance.random() < 0.4:
        states = chance.sample(["benign", pick(["carcinoma", "malignant", "adenocarcinoma"])], 2)
    ranged = chance.random() < 0.4
    if ranged:
        last = chance.randint(_PLURAL_FROM, 8)
        fill = {"A": 1, "B": last, "C": last + 1}
        premise = pick(frames["range"]).format(T=thing, X=states[0], Y=states[1], **fill)
        numbers = [chance.randint(1, last), last + 1]
    else:
        premise = pick(frames["list"]).format(T=thing, X=states[0], Y=states[1])
        numbers = [1, 2]
    which = chance.randrange(2)
    number = numbers[which] if label != "neutral" else numbers[1] + chance.randint(1, 3)
    state = states[which] if label != "contradiction" else states[1 - which]
    wordings = [text for text in frames["asked"] if number <= 4 or "{O}" not in text]
    order = frames["ordinals"][number - 1] if number <= 4 else ""
    hypothesis = pick(wordings).format(T=thing, A=number, O=order, X=state)
    return premise, hypothesis, label, "parts"


def draw_sure(words: Words, label: Label) -> Drawn | None:
    """What is certain, what is not, and between which two it lies."""
    frames, pick = organ_frames()["doubtless"], words.chance.choice
    diagnosis, open_ = organ_frames()["diagnosis"], organ_frames()["doubt"]
    if label == "contradiction":
        if words.chance.random() < 0.5:
            return pair(words, pick(frames["sure"]), pick(frames["unsure"]), label, "doubt")
        hypotheses = sentences("both_excluded")
        return pair(words, pick(frames["versus"]), pick(hypotheses), label, "doubt")
    if label == "entailment":
        hypotheses = sentences("favoured")
        return pair(words, pick(frames["less"]), pick(hypotheses), label, "doubt")
    premise = pick([*frames["versus"], *frames["less"]])
    other = [text for text in diagnosis["other"] if "only" not in text]
    texts = [*diagnosis["same"], *other] if premise in frames["versus"] else other
    return pair(words, premise, pick([*texts, *open_["neutral"][:2]]), label, "doubt")

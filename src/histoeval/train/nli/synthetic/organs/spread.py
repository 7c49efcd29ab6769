"""Pairs from cards on where a lesion arose, where it went, and which of several it is."""

from __future__ import annotations

from histoeval.nli.entailer import Label
from histoeval.train.nli.synthetic.organs.cards import Drawn, Words, organ_frames, pair
from histoeval.train.nli.synthetic.wordings import sentences

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

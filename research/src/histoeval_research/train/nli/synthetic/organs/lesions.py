"""Pairs from cards on one lesion: its side, its diagnosis, its behaviour, its look, its site."""

from typing import Any

from histoeval.nli.entailer import Label
from histoeval_research.train.nli.synthetic.organs.cards import (
    Drawn,
    Words,
    organ_frames,
    pair,
    statement_of,
)
from histoeval_research.train.nli.synthetic.wordings import sentences


def draw_side(words: Words, label: Label) -> Drawn | None:
    """Which side it is on; the other side is left open."""
    if not words.side:
        return None
    frames, pick = organ_frames(), words.chance.choice
    if label == "neutral" and words.chance.random() < 0.35:
        return pair(words, pick(frames["unsided"]), pick(frames["side"]["unsided"]), label, "side")
    return pair(words, pick(frames["said"]), pick(frames["side"][label]), label, "side")


def draw_two_parts(words: Words, label: Label) -> Drawn | None:
    """Two specimens of which one is asked about."""
    pick, chance = words.chance.choice, words.chance
    if words.side:
        places = [
            f"{side} {words.organ['names'][0]}" for side in chance.sample(["left", "right"], 2)
        ]
    else:
        places = [words.organ["names"][0], pick(words.elsewhere["names"])]
        if label == "contradiction":
            return None
    second = words.other if words.side else pick(words.elsewhere["entity"])
    if {*words.entity["names"]} & {*second["names"]}:
        return None
    first_name, second_name = pick(words.entity["names"]), pick(second["names"])
    join = pick(sentences("two_parts"))
    premise = join.format(places[0], first_name, places[1], second_name)
    first = chance.random() < 0.5
    place, entity, wrong = (
        (places[0], words.entity, second) if first else (places[1], second, words.entity)
    )
    frame = pick(sentences("part_asked"))
    if label == "neutral":
        more = pick(
            organ_frames()["open"]["malignant" if entity["behaviour"] == "malignant" else "other"]
        )
        return premise, f"in the {place}, {more}", label, "parts"
    chosen = entity if label == "entailment" else wrong
    return premise, frame.format(place, pick(chosen["names"])), label, "parts"


def draw_diagnosis(words: Words, label: Label) -> Drawn | None:
    """The diagnosis in other words, as its kind, another, or one beside it."""
    frames, pick, chance = organ_frames()["diagnosis"], words.chance.choice, words.chance
    premise = statement_of(words)
    if label == "entailment":
        return pair(
            words, premise, pick(frames[pick(["same", "kind", "kind"])]), label, "diagnosis"
        )
    if label == "contradiction":
        kind = "denied" if chance.random() < 0.25 else "other"
        if kind == "other" and _one_of(words.entity, words.other):
            return None
        return pair(words, premise, pick(frames[kind]), label, "diagnosis")
    by_chance = chance.random()
    if by_chance < 0.3:
        return pair(
            words,
            pick(sentences("kind_frames")),
            pick(frames["same"]),
            label,
            "kind",
        )
    if by_chance < 0.65:
        return pair(words, premise, pick(frames["beside"]), label, "beside")
    tone = "malignant" if words.entity["behaviour"] == "malignant" else "other"
    return pair(words, premise, pick(organ_frames()["open"][tone]), label, "open")


def _one_of(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether one diagnosis may be the other."""
    return any(name in other["names"] or other["names"][0] in name for name in one["names"]) or any(
        name in other["names"][0] for name in one["names"]
    )


_ENTAILED = {
    "malignant": ("malignant", "neoplastic"),
    "insitu": ("insitu",),
    "benign": ("benign",),
    "reactive": ("benign", "reactive"),
    "normal": ("benign", "reactive"),
}


_EXCLUDED = {
    "malignant": ("benign", "reactive"),
    "insitu": ("invasive",),
    "benign": ("malignant", "invasive"),
    "reactive": ("malignant", "invasive", "neoplastic"),
    "normal": ("malignant", "invasive", "neoplastic"),
}


def draw_behaviour(words: Words, label: Label) -> Drawn | None:
    """Benign or malignant, in situ or invasive."""
    behaviour, pick = words.entity["behaviour"], words.chance.choice
    if label == "neutral" or behaviour == "uncertain":
        return None
    kinds = (_ENTAILED if label == "entailment" else _EXCLUDED)[behaviour]
    if behaviour == "malignant" and words.entity["names"][0].endswith(("carcinoma", "melanoma")):
        kinds += ("invasive",) if label == "entailment" else ("insitu", "insitu")
    frames = organ_frames()
    premise = pick(frames["scene"]["said"]) if words.chance.random() < 0.25 else statement_of(words)
    if behaviour == "insitu" and words.chance.random() < 0.4:
        premise += pick(sentences("not_invasive"))
    return pair(words, premise, pick(frames["behaviour"][pick(kinds)]), label, "behaviour")


def draw_vague(words: Words, label: Label) -> Drawn | None:
    """A mass of which nothing is known, and cells that say much or little of it."""
    frames, pick, behaviour = organ_frames(), words.chance.choice, words.entity["behaviour"]
    scene, kinds = frames["scene"], frames["behaviour"]
    if label == "neutral":
        premise = pick([*kinds["vague"], *scene["vague"], *scene["vague"]])
        hypotheses = [*kinds["malignant"], *kinds["benign"], *frames["diagnosis"]["same"]]
        return pair(
            words, premise, pick([*hypotheses, *frames["diagnosis"]["same"]]), label, "vague"
        )
    bad = words.chance.random() < 0.5
    premise = pick(scene["said"]).replace("{V}", pick(scene["malignant" if bad else "bland"]))
    if label == "entailment":
        return pair(words, premise, pick(kinds["malignant" if bad else "benign"]), label, "vague")
    if behaviour not in (("benign", "reactive", "normal") if bad else ("malignant",)):
        return None
    hypotheses = [*scene["against"], *kinds["benign" if bad else "malignant"]]
    words = words._replace(other=words.entity)
    return pair(words, premise, pick(hypotheses), label, "vague")


def draw_scene(words: Words, label: Label) -> Drawn | None:
    """What is seen against the diagnosis, either way round."""
    frames, pick = organ_frames()["scene"], words.chance.choice
    turned = words.chance.random() < 0.4
    if label == "contradiction":
        return _excluding_scene(words, turned=turned)
    if turned:
        if label == "entailment" and words.chance.random() < 0.6:
            return None
        return pair(words, statement_of(words), pick(frames["back"]), label, "morphology")
    if label == "entailment":
        return pair(words, pick(frames["said"]), pick(frames["fits"]), label, "morphology")
    if words.chance.random() >= 0.5:
        return None
    tone = "malignant" if words.entity["behaviour"] == "malignant" else "other"
    hypothesis = pick(organ_frames()["open"][tone])
    return pair(words, pick(frames["said"]), hypothesis, label, "morphology")


def _excluding_scene(words: Words, *, turned: bool) -> Drawn | None:
    """A scene and a diagnosis of other cells."""
    frames, pick = organ_frames()["scene"], words.chance.choice
    other = words.other
    if words.chance.random() < 0.4:
        other = pick(words.elsewhere["entity"])
    if _alike(words.entity, other):
        return None
    words = words._replace(other=other)
    if turned:
        hypothesis = words.fill(pick(frames["back"]), V=pick(other["scenes"]))
        return pair(words, statement_of(words), hypothesis, "contradiction", "morphology")
    premise = pick(frames["said"])
    return pair(words, premise, pick(frames["against"]), "contradiction", "morphology")


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the look of one might be that of the other."""
    same = {*one["look"].split()} & {*other["look"].split()}
    return bool(same) or {*one["names"]} & {*other["names"]} != set()


def draw_doubt(words: Words, label: Label) -> Drawn | None:
    """What is only suspected, or was once."""
    frames, pick = organ_frames(), words.chance.choice
    if words.entity["behaviour"] != "malignant" or words.chance.random() < 0.5:
        if words.entity["behaviour"] not in ("malignant", "insitu"):
            return None
        rows = frames["doubt"]
        return pair(words, pick(rows["said"]), pick(rows[label]), label, "doubt")
    rows = frames["history"]
    if label == "neutral" and words.chance.random() < 0.6:
        return pair(words, pick(rows["asked"]), pick(rows["askedneutral"]), label, "history")
    return pair(words, pick(rows["said"]), pick(rows[label]), label, "history")


def draw_site(words: Words, label: Label) -> Drawn | None:
    """The organ it is in."""
    pick = words.chance.choice
    organ, elsewhere = pick(words.organ["names"]), pick(words.elsewhere["names"])
    if label == "entailment":
        hypothesis = pick(sentences("site_same"))
        place = organ
    elif label == "contradiction":
        hypothesis = pick(sentences("site_other"))
        place = elsewhere
    else:
        hypothesis = pick(sentences("site_open"))
        place = elsewhere
    lesion = "the tumour" if words.entity["behaviour"] == "malignant" else "the lesion"
    side = f"{words.side} " if words.side else ""
    premise = words.fill(pick(organ_frames()["said"]), OO=organ, O=side + organ)
    return (
        premise,
        hypothesis.format(place, lesion, pick(pick(words.elsewhere["entity"])["names"])),
        label,
        "site",
    )

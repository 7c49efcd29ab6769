"""Features of wording: contrasts, denial, doubt, new words, and how something was examined."""

from collections.abc import Mapping

from histoeval.nli.features.lexicon import scenes
from histoeval.nli.features.parse import Statements


def of_contrasts(one: Statements, other: Statements) -> dict[str, float]:
    """The contrasts of both texts beside each other."""
    both = [(a, b) for a, b in zip(one.contrasts, other.contrasts, strict=True) if a and b]
    opposed = sum(not a & b for a, b in both)
    shared = sum(bool(a & b) for a, b in both)
    flipped = one.has("denied") != other.has("denied")
    return {
        "contrast": min(2, opposed) * (not flipped),
        "contrast_denied": min(2, opposed) * flipped,
        "shared": min(2, shared) * (not flipped),
        "shared_denied": min(2, shared) * flipped,
    }


def of_cues(one: Statements, other: Statements) -> dict[str, float]:
    """The cues of both texts beside each other."""
    cues = "denied bad whole doubt past beside only most least insitu invasive".split()
    premise, hypothesis = ({cue: text.has(cue) for cue in cues} for text in (one, other))
    denied = premise["denied"], hypothesis["denied"]
    fresh = other.words - one.words
    return {
        "denied_one": denied == (True, False),
        "denied_other": denied == (False, True),
        "denied_two": all(denied),
        "doubt_one": premise["doubt"],
        "doubt_other": hypothesis["doubt"],
        "past_one": premise["past"],
        "past_other": hypothesis["past"],
        "beside_other": hypothesis["beside"],
        "only_one": premise["only"],
        "only_other": hypothesis["only"],
        "bad_whole": premise["bad"] and hypothesis["whole"] and not premise["whole"],
        "whole_bad": premise["whole"] and hypothesis["bad"] and not premise["bad"],
        "bad_new": hypothesis["bad"] and not premise["bad"],
        "most_least": premise["most"] and hypothesis["least"],
        "least_most": premise["least"] and hypothesis["most"],
        "insitu_invasive": premise["insitu"] and _invades(hypothesis),
        "invasive_insitu": hypothesis["insitu"] and _invades(premise),
        "fresh": len(fresh) / max(1, len(other.words)),
        "all_fresh": fresh == other.words,
        "none_fresh": not fresh,
    }


def _invades(cues: Mapping[str, bool]) -> bool:
    return cues["invasive"] and not cues["insitu"] and not cues["denied"]


def of_scenes(one: Statements, other: Statements) -> dict[str, float]:
    """Whether both texts are of one examination, or one of a biopsy and one of the resection."""
    found = {}
    for name, first, second in scenes():
        premise = bool(first.search(one.text)), bool(second.search(one.text))
        hypothesis = bool(first.search(other.text)), bool(second.search(other.text))
        apart = {premise, hypothesis} == {(True, False), (False, True)}
        found[f"scene_{name}"] = float(apart)
    if one.has("denied"):
        found["scene_component"] = 0.0
    kinds = [{label.split()[0] for label in text.labels} for text in (one, other)]
    return found | {
        "label_other": bool(kinds[0] & kinds[1]) and not one.labels & other.labels,
        "known_thing": other.has_word("forms", "definite"),
        "heading": other.has_word("forms", "heading"),
        "sole_one": one.has_word("forms", "sole"),
        "another": other.has_word("forms", "another"),
    }

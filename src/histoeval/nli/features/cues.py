"""Features of wording: contrasts, denial, doubt, new words, and how something was examined."""

from __future__ import annotations

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
    denied_one, denied_other = one.has("denied"), other.has("denied")
    bad_one, bad_other = one.has("bad"), other.has("bad")
    whole_one, whole_other = one.has("whole"), other.has("whole")
    fresh = other.words - one.words
    return {
        "denied_one": denied_one and not denied_other,
        "denied_other": denied_other and not denied_one,
        "denied_two": denied_one and denied_other,
        "doubt_one": one.has("doubt"),
        "doubt_other": other.has("doubt"),
        "past_one": one.has("past"),
        "past_other": other.has("past"),
        "beside_other": other.has("beside"),
        "only_one": one.has("only"),
        "only_other": other.has("only"),
        "bad_whole": bad_one and whole_other and not whole_one,
        "whole_bad": whole_one and bad_other and not bad_one,
        "bad_new": bad_other and not bad_one,
        "most_least": one.has("most") and other.has("least"),
        "least_most": one.has("least") and other.has("most"),
        "insitu_invasive": one.has("insitu")
        and other.has("invasive")
        and not other.has("insitu")
        and not denied_other,
        "invasive_insitu": one.has("invasive")
        and other.has("insitu")
        and not one.has("insitu")
        and not denied_one,
        "fresh": len(fresh) / max(1, len(other.words)),
        "all_fresh": fresh == other.words,
        "none_fresh": not fresh,
    }


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

"""What words without a term of their own say of a pair: contrasts, doubt, denial, what is new."""

from __future__ import annotations

from histoeval.nli.features.lexicon import has_cue
from histoeval.nli.features.pair_lexicon import has_word, scene_rows
from histoeval.nli.features.parse import Statements


def of_contrasts(one: Statements, other: Statements) -> dict[str, float]:
    """The contrasts of both texts beside each other."""
    both = [(a, b) for a, b in zip(one.members, other.members, strict=True) if a and b]
    opposed = sum(not a & b for a, b in both)
    shared = sum(bool(a & b) for a, b in both)
    flipped = has_cue("denied", one.text) != has_cue("denied", other.text)
    return {
        "contrast": min(2, opposed) * (not flipped),
        "contrast_denied": min(2, opposed) * flipped,
        "shared": min(2, shared) * (not flipped),
        "shared_denied": min(2, shared) * flipped,
    }


def of_cues(one: Statements, other: Statements) -> dict[str, float]:
    """The cues of both texts beside each other."""
    denied_one, denied_other = has_cue("denied", one.text), has_cue("denied", other.text)
    bad_one, bad_other = has_cue("bad", one.text), has_cue("bad", other.text)
    whole_one, whole_other = has_cue("whole", one.text), has_cue("whole", other.text)
    fresh = other.words - one.words
    return {
        "denied_one": denied_one and not denied_other,
        "denied_other": denied_other and not denied_one,
        "denied_two": denied_one and denied_other,
        "doubt_one": has_cue("doubt", one.text),
        "doubt_other": has_cue("doubt", other.text),
        "past_one": has_cue("past", one.text),
        "past_other": has_cue("past", other.text),
        "beside_other": has_cue("beside", other.text),
        "only_one": has_cue("only", one.text),
        "only_other": has_cue("only", other.text),
        "bad_whole": bad_one and whole_other and not whole_one,
        "whole_bad": whole_one and bad_other and not bad_one,
        "bad_new": bad_other and not bad_one,
        "most_least": has_cue("most", one.text) and has_cue("least", other.text),
        "least_most": has_cue("least", one.text) and has_cue("most", other.text),
        "insitu_invasive": has_cue("insitu", one.text)
        and has_cue("invasive", other.text)
        and not has_cue("insitu", other.text)
        and not denied_other,
        "invasive_insitu": has_cue("invasive", one.text)
        and has_cue("insitu", other.text)
        and not has_cue("insitu", one.text)
        and not denied_one,
        "fresh": len(fresh) / max(1, len(other.words)),
        "all_fresh": fresh == other.words,
        "none_fresh": not fresh,
    }


def of_scenes(one: Statements, other: Statements) -> dict[str, float]:
    """Whether both texts tell of one look at one thing, or of a biopsy and the resection."""
    found = {}
    for name, first, second in scene_rows():
        told = bool(first.search(one.text)), bool(second.search(one.text))
        asked = bool(first.search(other.text)), bool(second.search(other.text))
        apart = (told == (True, False) and asked == (False, True)) or (
            told == (False, True) and asked == (True, False)
        )
        found[f"scene_{name}"] = float(apart)
    if has_cue("denied", one.text):
        found["scene_component"] = 0.0
    kinds = [{label.split()[0] for label in text.labels} for text in (one, other)]
    return found | {
        "label_other": bool(kinds[0] & kinds[1]) and not one.labels & other.labels,
        "known_thing": has_word("forms", "definite", other.text),
        "heading": has_word("forms", "heading", other.text),
        "sole_one": has_word("forms", "sole", one.text),
        "another": has_word("forms", "another", other.text),
    }

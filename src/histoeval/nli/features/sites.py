"""What two texts say of places: one that holds the other, a finer one, one elsewhere."""

from __future__ import annotations

from histoeval.nli.features.lexicon import has_cue
from histoeval.nli.features.parse import Statements
from histoeval.terms.sites import site_tree, system_of

_REGIONS = frozenset({"body_region", "body_cavity"})


def of_places(one: Statements, other: Statements) -> dict[str, float]:
    """The sites and parts of the hypothesis beside those of the premise."""
    tree = site_tree()
    told, asked = one.sites, other.sites
    wholes = {b for b in asked if any(tree.is_a(a, b) for a in told)}
    finer = {b for b in asked - wholes if any(tree.is_a(b, a) for a in told)}
    apart = {b for b in asked - wholes - finer if _has_rivals(b, told)}
    spread = has_cue("spread", one.text) or has_cue("spread", other.text)
    moved = bool(apart) and has_cue("home", other.text)
    return {
        "site_whole": bool(wholes) and not finer and not apart,
        "site_finer": bool(finer) and not apart,
        "site_moved": moved and not spread,
        "site_moved_spread": moved and spread,
        "site_beside": bool(apart) and not moved,
        "site_new": bool(asked) and not told,
        "spread_home": has_cue("spread", one.text) and has_cue("home", other.text),
        "label_new": bool(other.labels - one.labels),
        "label_same": bool(other.labels & one.labels),
        "place_new": bool(other.places - one.places),
        "place_same": bool(other.places & one.places),
    }


def _has_rivals(site: str, told: frozenset[str]) -> bool:
    """Whether a site is none of those told, and of the body as they are: an arm holds bones."""
    loose = system_of(site) in _REGIONS
    rivals = [each for each in told if (system_of(each) in _REGIONS) == loose]
    return bool(rivals)


def is_apart(one: Statements, other: Statements) -> bool:
    """Whether all sites of the hypothesis lie elsewhere than those of the premise, or its parts."""
    tree = site_tree()
    elsewhere = [
        b
        for b in other.sites
        if _has_rivals(b, one.sites)
        and not any(tree.is_a(a, b) or tree.is_a(b, a) for a in one.sites)
    ]
    return bool(elsewhere) and len(elsewhere) == len(other.sites)

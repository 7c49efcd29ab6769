"""Features of sites: one within the other, a finer one, one elsewhere."""

from histoeval.nli.features.parse import Statements
from histoeval.terms.sites import site_tree, system_of

_REGIONS = frozenset({"body_region", "body_cavity"})


def of_places(one: Statements, other: Statements) -> dict[str, float]:
    """The sites and parts of the hypothesis beside those of the premise."""
    tree = site_tree()
    known, sites = one.sites, other.sites
    wholes = {b for b in sites if any(tree.is_a(a, b) for a in known)}
    finer = {b for b in sites - wholes if any(tree.is_a(b, a) for a in known)}
    apart = {b for b in sites - wholes - finer if _has_rivals(b, known)}
    spread = one.has("spread") or other.has("spread")
    moved = bool(apart) and other.has("home")
    return {
        "site_whole": bool(wholes) and not finer and not apart,
        "site_finer": bool(finer) and not apart,
        "site_moved": moved and not spread,
        "site_moved_spread": moved and spread,
        "site_beside": bool(apart) and not moved,
        "site_new": bool(sites) and not known,
        "spread_home": one.has("spread") and other.has("home"),
        "label_new": bool(other.labels - one.labels),
        "label_same": bool(other.labels & one.labels),
        "place_new": bool(other.places - one.places),
        "place_same": bool(other.places & one.places),
    }


def _has_rivals(site: str, known: frozenset[str]) -> bool:
    """Whether any known site is of the same level, region or organ: an arm contains bones."""
    loose = system_of(site) in _REGIONS
    return any((system_of(each) in _REGIONS) == loose for each in known)


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

"""Anatomical sites: which one a phrase names, the organ it belongs to, how near two of them are."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.matching import NameMatch, NameMatcher
from histoeval.terms.tree import Tree

_NO_SITE = ""
_PART, _SAME_ORGAN, _NEIGHBOUR, _SAME_SYSTEM = 0.8, 0.6, 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the body: a system, an organ or a part of one.

    `whole` says that it is an organ of its own wherever it hangs in the tree (breast, appendix).
    """

    id: str
    name: str
    parent: str | None
    names: tuple[str, ...]
    whole: bool


def _data() -> dict[str, Any]:
    return load_toml("terms/data/organs.toml")


@cache
def sites() -> dict[str, Site]:
    """All sites by id."""
    return {
        row["id"]: Site(
            id=row["id"],
            name=row["name"],
            parent=row["parent"] or None,
            names=(row["name"], *row["aliases"]),
            whole=row.get("whole", False),
        )
        for row in _data()["organ"]
    }


@cache
def site_tree() -> Tree:
    """System, organ, part of an organ."""
    return Tree({site.id: [site.parent] if site.parent else [] for site in sites().values()})


@cache
def _matcher() -> NameMatcher:
    names = {name: site.id for site in sites().values() for name in site.names}
    return NameMatcher(dict.fromkeys(_data()["wording"]["no_site"], _NO_SITE) | names)


def find_sites(phrase: str) -> tuple[NameMatch, ...]:
    """The sites that a phrase names, by noun or adjective, from left to right."""
    return tuple(match for match in _matcher().find(phrase) if match.id != _NO_SITE)


@cache
def _operations() -> NameMatcher:
    return NameMatcher(dict(_data()["operations"]))


def find_operated(phrase: str) -> tuple[NameMatch, ...]:
    """The sites that an operation is of, as a mastectomy is of the breast."""
    return _operations().find(phrase)


@cache
def organ_of(site: str) -> str:
    """The organ that a site is or belongs to; a system, which is more than one organ, is itself."""
    line = site_tree().lineage(site)
    for id_ in line:
        if sites()[id_].whole:
            return id_
    return line[-2] if len(line) > 1 else site


@cache
def system_of(site: str) -> str:
    """The system that a site belongs to."""
    return site_tree().lineage(site)[-1]


@cache
def contains(a: str, b: str) -> bool:
    """Whether one of two sites is the other, or a part of it."""
    return site_tree().are_kin(a, b)


@cache
def is_everywhere(site: str) -> bool:
    """Whether a site is named after the region that it is in: skin, muscle, vessels, nodes."""
    return not {system_of(site), organ_of(site)}.isdisjoint(_data()["specimens"]["everywhere"])


def share_specimens(one: str, other: str) -> bool:
    """Whether a specimen may be called after either of two organs: the uterus, the placenta."""
    return {one, other} in _specimens()


@cache
def _specimens() -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, _data()["specimens"]["alike"]))


@cache
def _regions() -> dict[str, str]:
    """Regions of the body, each with the nodes that lie there."""
    return dict(_data()["wording"]["regions"])


@cache
def site_closeness(a: str, b: str) -> float:
    """How near two sites are.

    The same site is 1; a site and a part of it 0.8; two parts of an organ 0.6; neighbours that
    hang together (ovary and tube), or a system and what is in it, 0.5; two organs of a system
    0.25; anything else 0.
    """
    if a == b:
        return 1.0
    if _regions().get(a) == b or _regions().get(b) == a:
        return _NEIGHBOUR
    if system_of(a) != system_of(b):
        return 0.0
    if contains(a, b):
        vague = {
            site for site in (a, b) if sites()[site].parent is None and not sites()[site].whole
        }
        return _NEIGHBOUR if vague else _PART
    if organ_of(a) == organ_of(b):
        return _SAME_ORGAN
    shared = set(site_tree().lineage(a)) & set(site_tree().lineage(b))
    return _NEIGHBOUR if len(shared) > 1 else _SAME_SYSTEM

"""Anatomical sites: which one a phrase names, the organ it belongs to, how near two of them are."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from histoeval.resources import load_toml
from histoeval.terms.assertion import has_wording
from histoeval.terms.matching import NameMatch, NameMatcher
from histoeval.terms.plain import words_of
from histoeval.terms.tree import Tree

_NO_SITE = ""
_NEAR = 60
_JOINTS = (" ", "-", "/")
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
    return Tree({site.id: [site.parent] if site.parent else [] for site in sites().values()})


@cache
def _matcher() -> NameMatcher:
    names = {name: site.id for site in sites().values() for name in site.names}
    return NameMatcher(dict.fromkeys(_data()["wording"]["no_site"], _NO_SITE) | names)


def find_sites(phrase: str) -> tuple[NameMatch, ...]:
    """The sites that a phrase names, by noun or adjective, from left to right."""
    return tuple(match for match in _matcher().find(phrase) if match.id != _NO_SITE)


def find_places(phrase: str) -> tuple[NameMatch, ...]:
    """The sites that something is in, as far as a phrase says so.

    Not those that it looks like (intestinal metaplasia) or came from (colonic primary); where it is
    said to be in a place, that one alone; and what is metastatic lies where it is said to be, and
    not in the organ that it is of (metastatic colonic carcinoma).
    """
    matches = [match for match in find_sites(phrase) if is_place(phrase, match.start, match.end)]
    if stated := [match for match in matches if _is_stated(phrase, match.start)]:
        return tuple(stated)
    if has_wording("metastatic", phrase):
        # "Metastatic colonic carcinoma" came from the colon; a "colonic metastasis" lies there
        return tuple(
            match
            for match in matches
            if (after := words_of(phrase[match.end :])) and after[0].plain in _listed("deposit")
        )
    return tuple(matches)


def is_place(text: str, start: int, end: int) -> bool:
    """True if a site named at a stretch of a text is one where something is.

    Something may only look like it (gastric-type mucin, heterotopic pancreas), or come from there
    (of colonic origin).
    """
    if (before := words_of(text[max(0, start - _NEAR) : start])) and before[-1].plain in _listed(
        "likeness_before"
    ):
        return False
    reached = 0
    for word in words_of(text[end : end + _NEAR]):
        if text[end + reached : end + word.start] not in _JOINTS:
            return True
        if word.plain in _listed("likeness") | _listed("origin"):
            return False
        if word.plain not in _listed("likeness_between") and not find_sites(word.text):
            return True
        reached = word.end
    return True


def _is_stated(phrase: str, start: int) -> bool:
    """True if a site stands after a word such as in, with no other word of place between."""
    for word in reversed(words_of(phrase[:start])):
        if word.plain in _listed("there"):
            return True
        if word.plain in _listed("elsewhere"):
            return False
    return False


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(_data()["wording"][name])


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
    return site_tree().lineage(site)[-1]


@cache
def contains(a: str, b: str) -> bool:
    return site_tree().are_kin(a, b)


@cache
def is_everywhere(site: str) -> bool:
    """True if a site is named after the region that it is in: skin, muscle, vessels, nodes."""
    return not {system_of(site), organ_of(site)}.isdisjoint(_data()["specimens"]["everywhere"])


def share_specimens(one: str, other: str) -> bool:
    """True if a specimen may be called after either of two organs: the uterus, the placenta."""
    return {one, other} in map(set, _data()["specimens"]["alike"])


@cache
def site_closeness(a: str, b: str) -> float:
    """Closeness of two sites.

    The same site is 1; a site and a part of it 0.8; two parts of an organ 0.6; neighbours that
    hang together (ovary and tube), or a system and what is in it, 0.5; two organs of a system
    0.25; anything else 0.
    """
    if a == b:
        return 1.0
    nodes_of_region = _data()["wording"]["regions"]
    if nodes_of_region.get(a) == b or nodes_of_region.get(b) == a:
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

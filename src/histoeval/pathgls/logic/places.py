"""Sentences about two places, which cannot contradict each other."""

import re
from functools import lru_cache
from itertools import product

from histoeval.nli.features.parse import statements
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.terms.sites import contains, find_sites, organ_of
from histoeval.terms.values.laterality import Side, side_of

_HEAD = re.compile(r"(?P<head>[A-Z][^.:;]{2,60}?)(?::| [-\u2013])\s+\S")
_DENIES = re.compile(r"\b(?:no|not|without)\b", re.IGNORECASE)
_PLACES = re.compile(r"\b(?:in|within) (?:an? |the |this )?$", re.IGNORECASE)
_SIDES = (Side.LEFT, Side.RIGHT)


def are_of_two_places(one: str, other: str) -> bool:
    organs = _organs(one), _organs(other)
    return (all(organs) and not organs[0] & organs[1]) or are_marked_apart(one, other)


@lru_cache(maxsize=1 << 12)
def are_marked_apart(one: str, other: str) -> bool:
    """True if two sentences name two sides or two numbered places, or are headed by two."""
    sides = {side for side in (side_of(one), side_of(other)) if side in _SIDES}
    return (
        len(sides) > 1
        or _have_two_labels(one, other)
        or have_two_heads(one, other)
        or _are_on_two_margins(one, other)
    )


def are_by_two_methods(one: str, other: str) -> bool:
    """True for the results of two tests: on HE and on an immunostain."""
    first, second = (
        {match.group().casefold() for match in pattern("methods").finditer(text)}
        for text in (one, other)
    )
    return bool(first and second) and not first & second


def _are_on_two_margins(first_text: str, second_text: str) -> bool:
    if not all(pattern("margin_word").search(text) for text in (first_text, second_text)):
        return False
    first, second = (
        {match.group().casefold() for match in pattern("margin_names").finditer(text)}
        for text in (first_text, second_text)
    )
    return bool(first and second) and not first & second and "all" not in first | second


def is_place_of_denial(before: str) -> bool:
    """True if the words before a name make it the place where something else is denied."""
    return _PLACES.search(before) is not None and _DENIES.search(before) is not None


def _organs(text: str) -> frozenset[str]:
    return frozenset(organ_of(match.id) for match in find_sites(text)) - listed("tissues")


def _have_two_labels(first_text: str, second_text: str) -> bool:
    """True for two numbered things of a kind: at 3 and at 6 o'clock, level II and V."""
    first, second = statements(first_text).labels, statements(second_text).labels
    kinds = [{label.split()[0] for label in labels} for labels in (first, second)]
    return bool(kinds[0] & kinds[1]) and not first & second


def have_two_heads(one: str, other: str) -> bool:
    """True if both begin with a place and a colon or a dash, and the places differ."""
    heads = [_HEAD.match(text) for text in (one, other)]
    sites = [{m.id for m in find_sites(head["head"])} if head else set() for head in heads]
    sides = {side_of(head["head"]) for head in heads if head} & {*_SIDES}
    if all(sites) and len(sides) > 1:
        return True
    return all(sites) and not any(
        contains(a, b) or contains(b, a) for a, b in product(sites[0], sites[1])
    )

"""Word lists: headings that are known by name, and words that tell what a full stop means."""

import re
from functools import cache, lru_cache
from typing import Any

from histoeval.resources import load_toml

_BRACKETED = re.compile(r"\([^()]*\)")
_MAX_WORDS = 6
_OF_A_PHRASE = frozenset({"a", "in", "of", "see", "the", "this"})
_PUNCTUATION = re.compile(r"[\W_]+")


@cache
def _data() -> dict[str, Any]:
    return load_toml("reader/data/headings.toml")


@cache
def _kinds(table: str) -> dict[str, str]:
    return {name: kind for kind, names in _data()[table].items() for name in names}


@cache
def _words(table: str, key: str) -> frozenset[str]:
    return frozenset(_data()[table][key])


def plain(name: str) -> str:
    """A name as the data file spells it: lower case, no brackets, no punctuation.

    Only a name's first 200 characters count; none of those known is half as long.
    """
    return _PUNCTUATION.sub(" ", _BRACKETED.sub("", name[:200].lower().replace("'", ""))).strip()


@lru_cache(maxsize=8192)
def kind_of(name: str) -> str | None:
    """Return the kind of section that a heading of this name opens, or None if it is not known.

    What follows a dash, and a number at the end, only say which one of several it is:
    "Synoptic report - breast", "Addendum 2".
    """
    full_name, first = plain(name), plain(name.partition(" -")[0]).rstrip("0123456789 ")
    if kind := _kinds("kinds").get(full_name) or _kinds("kinds").get(first):
        return kind
    words = first.split()
    if len(words) > _MAX_WORDS or not _OF_A_PHRASE.isdisjoint(words):
        return None
    ends = (_kinds("endings").get(" ".join(words[i:])) for i in range(1, len(words)))
    return next(filter(None, ends), None)


def is_field(name: str) -> bool:
    """True for the name of a line in a checklist, such as the size of the tumour."""
    return plain(name) in _words("fields", "names")


def may_be_field(name: str) -> bool:
    """True if a heading of this name can also be a line in a checklist."""
    return plain(name) in _words("fields", "sometimes")


def names_procedure(label: str) -> bool:
    endings = tuple(_data()["specimens"]["endings"])
    words = plain(label).split()
    return any(w in _words("specimens", "procedures") or w.endswith(endings) for w in words)


def names_specimen(label: str) -> bool:
    """True if a label says how a specimen was taken, or where from."""
    sites = _words("specimens", "sites")
    return names_procedure(label) or not sites.isdisjoint(plain(label).split())


@cache
def listed(name: str) -> frozenset[str]:
    """The words of one list of `abbreviations.toml`."""
    return frozenset(load_toml("reader/data/abbreviations.toml")[name])

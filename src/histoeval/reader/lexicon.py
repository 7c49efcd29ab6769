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
def _kinds() -> dict[str, str]:
    return {name: kind for kind, names in _data()["kinds"].items() for name in names}


@cache
def _endings() -> dict[str, str]:
    return {name: kind for kind, names in _data()["endings"].items() for name in names}


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
    """The kind of section that a heading of this name opens; nothing if it is not known.

    What follows a dash, and a number at the end, only say which one of several it is:
    "Synoptic report - breast", "Addendum 2".
    """
    whole, first = plain(name), plain(name.partition(" -")[0]).rstrip("0123456789 ")
    return _kinds().get(whole) or _kinds().get(first) or _kind_by_ending(first)


def _kind_by_ending(name: str) -> str | None:
    words = name.split()
    if len(words) > _MAX_WORDS or not _OF_A_PHRASE.isdisjoint(words):
        return None
    ends = (" ".join(words[i:]) for i in range(1, len(words)))
    return next((_endings()[end] for end in ends if end in _endings()), None)


def is_field(name: str) -> bool:
    """Whether this is the name of a line in a checklist, such as the size of the tumour."""
    return plain(name) in _words("fields", "names")


def may_be_field(name: str) -> bool:
    """Whether a heading of this name can also be a line in a checklist."""
    return plain(name) in _words("fields", "sometimes")


def names_procedure(label: str) -> bool:
    """Whether a label says how a specimen was taken."""
    endings = tuple(_data()["specimens"]["endings"])
    words = plain(label).split()
    return any(w in _words("specimens", "procedures") or w.endswith(endings) for w in words)


def names_specimen(label: str) -> bool:
    """Whether a label says how a specimen was taken, or where from."""
    return names_procedure(label) or not _words("specimens", "sites").isdisjoint(
        plain(label).split()
    )


@cache
def listed(name: str) -> frozenset[str]:
    """The words of one list of `abbreviations.toml`."""
    return frozenset(load_toml("reader/data/abbreviations.toml")[name])

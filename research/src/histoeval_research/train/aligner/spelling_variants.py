"""Other spellings of a name that mean the same: what an aligner must not be misled by.

British and American words, plurals, inversion ("carcinoma, squamous cell"), abbreviations, hyphens,
capitals, and the slips of character recognition, as often as `spelling.toml` says.
"""

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from histoeval.resources import load_toml

_WORD = re.compile(r"[^\W\d_]+")
_PLAIN_WORDS = re.compile(r"[\w' -]+")
_OF = re.compile(r"(?P<what>[\w -]{1,200}?) (?:of|in) (?:the )?(?P<where>[\w -]{1,200})")
_SMALL_WORDS = frozenset("of the in with without and or to from by for not no nos".split())
_MOST_WORDS_INVERTED = 5
_LEAST_LETTERS = 5
"""A slip in a shorter word leaves too little of it."""

KINDS = {
    "spelling": 3,
    "plural": 2,
    "inversion": 4,
    "abbreviation": 3,
    "hyphen": 2,
    "case": 1,
    "slip": 3,
}
"""How often each kind of variant is made, where it can be."""


def spelling_table() -> dict[str, Any]:
    """What `spelling.toml` holds."""
    return load_toml("terms/data/spelling.toml")


class Variants:
    """Makes variants of names; which ones follows from the name and the seed alone."""

    def __init__(
        self,
        table: Mapping[str, Any],
        abbreviations: Mapping[str, str],
        words: Collection[str] = (),
        seed: int = 0,
    ) -> None:
        self._other = _both_ways(table["british_american"])
        self._plurals: list[Mapping[str, Any]] = table["plural"]
        self._irregular: Mapping[str, Sequence[str]] = table["irregular"]
        self._no_plural = {*table["unchanged"]["words"], *table["not_plural"]["words"]}
        self._slips = [slip for slip in table["ocr"] if slip["meant"] or slip["seen"]]
        self._short = dict(sorted(abbreviations.items(), key=lambda item: -len(item[0])))
        self._words = words
        self._seed = seed
        self._makers: dict[str, Callable[[str, random.Random], str]] = {
            "spelling": lambda name, _: self._spelled(name),
            "plural": self._plural,
            "inversion": lambda name, _: _inverted(name),
            "abbreviation": lambda name, _: self._abbreviated(name),
            "hyphen": _hyphened,
            "case": lambda name, _: name.upper(),
            "slip": self._slipped,
        }

    def of(self, name: str, most: int) -> list[str]:
        """Up to so many variants of a name, each of one or two kinds, none of them the name."""
        chance = random.Random(f"{self._seed}/{name}")
        found: dict[str, None] = {}
        for _ in range(3 * most):
            if len(found) == most:
                break
            changed = name
            drawn = chance.choices([*KINDS], [*KINDS.values()], k=chance.choice((1, 1, 2)))
            for kind in dict.fromkeys(drawn):
                changed = self._makers[kind](changed, chance)
            if changed != name:
                found[changed] = None
        return list(found)

    def _spelled(self, name: str) -> str:
        return _WORD.sub(lambda found: self._other.get(found[0].lower(), found[0]), name)

    def _plural(self, name: str, chance: random.Random) -> str:
        head, space, last = name.rpartition(" ")
        return f"{head}{space}{self.plural(last, chance)}" if _WORD.fullmatch(last) else name

    def plural(self, word: str, chance: random.Random) -> str:
        """One of the plurals of a word, mostly the usual one; what has none stays as it is."""
        lower = word.lower()
        if lower in self._no_plural or len(word) < _LEAST_LETTERS - 1:
            return word
        if lower in self._irregular:
            return self._irregular[lower][0]
        for rule in self._plurals:
            if lower.endswith(rule["singular"]) and lower not in rule.get("exceptions", ()):
                ending = rule["plural"][0 if chance.random() < 0.8 else -1]
                return word[: len(word) - len(rule["singular"])] + str(ending)
        return word + "s"

    def _abbreviated(self, name: str) -> str:
        lower = name.lower()
        for long, short in self._short.items():
            if long in lower and (found := re.search(rf"\b{re.escape(long)}\b", lower)):
                return f"{name[: found.start()]}{short}{name[found.end() :]}"
        return name

    def _slipped(self, name: str, chance: random.Random) -> str:
        """One slip in one long word, unless it makes another word."""
        words = [found for found in _WORD.finditer(name) if len(found[0]) >= _LEAST_LETTERS]
        if not words:
            return name
        place = chance.choice(words)
        slipped = self._slip_in(place[0], chance)
        if slipped.lower() in self._words:
            return name
        return f"{name[: place.start()]}{slipped}{name[place.end() :]}"

    def _slip_in(self, word: str, chance: random.Random) -> str:
        possible = [
            slip for slip in self._slips if slip["context"] != "digit" and slip["meant"] in word
        ]
        slip = chance.choices(possible, [slip["weight"] for slip in possible])[0]
        meant, seen = slip["meant"], slip["seen"].replace("\n", "")
        places = [found.start() for found in re.finditer(re.escape(meant), word)]
        inner = [place for place in places if meant or 0 < place < len(word)]
        place = chance.choice(inner)
        return f"{word[:place]}{seen}{word[place + len(meant) :]}"


def _both_ways(table: Mapping[str, str]) -> dict[str, str]:
    return {ours: theirs for theirs, ours in table.items()} | dict(table)


def _inverted(name: str) -> str:
    """Another order of the same words: around a comma, around `of`, or with the last word first."""
    if name.count(",") == 1 and _PLAIN_WORDS.fullmatch(name.replace(",", "")):
        first, last = name.split(",")
        return f"{last.strip()} {first.strip()}"
    if found := _OF.fullmatch(name):
        return f"{found['where']} {found['what']}"
    words = name.split(" ")
    if not _PLAIN_WORDS.fullmatch(name) or not 2 <= len(words) <= _MOST_WORDS_INVERTED:
        return name
    if _SMALL_WORDS & {word.lower() for word in words}:
        return name
    return f"{words[-1]}, {' '.join(words[:-1])}"


def _hyphened(name: str, chance: random.Random) -> str:
    """A hyphen for a space, or a space for a hyphen."""
    if "-" in name:
        return name.replace("-", " ")
    spaces = [found.start() for found in re.finditer(r"(?<=[a-z]) (?=[a-z])", name)]
    if not spaces:
        return name
    place = chance.choice(spaces)
    return f"{name[:place]}-{name[place + 1 :]}"

"""What a name becomes: another spelling of the same, or something clinically different.

British and American words, plurals, inversion ("carcinoma, squamous cell"), abbreviations, hyphens,
capitals and the slips of character recognition mean the same, as often as `spelling.toml` says.
`data/contrasts.toml` says which words are swapped for opposites, and where: whole words, the
longest first, never where both stand in one phrase. Codes (pT1, CD3, ER) are compared as written,
other words without regard to case.
"""

import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from histoeval.resources import load_toml

_TOKEN = re.compile(r"[^\s\-,;:()\[\]]+")

Words = tuple[str, ...]


class Contrast(NamedTuple):
    """From some words to those that mean something else there."""

    words: Words
    other: str
    only_with: tuple[str, ...]
    not_after: tuple[str, ...]


class Swap(NamedTuple):
    """A phrase in which words were swapped; `key` is the same for synonyms that had the same."""

    phrase: str
    key: str


def contrast_table() -> dict[str, Any]:
    return load_toml("histoeval_research/train/aligner/data/contrasts.toml")


class Contrasts:
    """Swaps words in phrases, by a table of pairs."""

    def __init__(self, table: Mapping[str, Any], *, only_unseen: bool = False) -> None:
        self._by_words: dict[Words, list[Contrast]] = {}
        for rule in table["contrast"]:
            if only_unseen and rule["in_test"]:
                continue
            only_with, not_after = (
                tuple(word.lower() for word in rule.get(name, ()))
                for name in ("only_with", "not_after")
            )
            for one, other in rule["words"]:
                for words, swapped in ((_words(one), other), (_words(other), one)):
                    contrast = Contrast(words, swapped, only_with, not_after)
                    self._by_words.setdefault(words, []).append(contrast)
        self._longest = max(map(len, self._by_words), default=0)

    def of(self, phrase: str) -> list[Swap]:
        """What a phrase becomes by swapping one of its terms, in all places where it stands."""
        tokens = [*_TOKEN.finditer(phrase)]
        keys = [_key(token[0]) for token in tokens]
        places: dict[Words, list[int]] = {}
        for start, words in self._terms(keys):
            places.setdefault(words, []).append(start)
        swaps = []
        for words, starts in places.items():
            for contrast in self._by_words[words]:
                other = _words(contrast.other)
                if not _applies(contrast, other, keys, starts):
                    continue
                swapped = phrase
                for start in reversed(starts):
                    first, last = tokens[start].start(), tokens[start + len(words) - 1].end()
                    swapped = f"{swapped[:first]}{contrast.other}{swapped[last:]}"
                swaps.append(Swap(swapped, f"{' '.join(words)}>{' '.join(other)}"))
        return swaps

    def _terms(self, keys: Sequence[str]) -> Iterator[tuple[int, Words]]:
        start = 0
        while start < len(keys):
            for length in range(min(self._longest, len(keys) - start), 0, -1):
                words = tuple(keys[start : start + length])
                if words in self._by_words:
                    yield start, words
                    start += length
                    break
            else:
                start += 1


def _words(text: str) -> Words:
    return tuple(_key(token) for token in _TOKEN.findall(text))


def _key(token: str) -> str:
    """A code as it is written, another word in lower case."""
    letters = [letter for letter in token if letter.isalpha()]
    if not letters or not any(map(str.isupper, letters)):
        return token.lower()
    is_code = any(map(str.isupper, token[1:])) or len(letters) == 1
    return token if is_code or any(map(str.isdigit, token)) else token.lower()


def _applies(contrast: Contrast, other: Words, keys: Sequence[str], starts: Sequence[int]) -> bool:
    """True if the words may be swapped there, and the other ones do not stand in the phrase too."""
    if any(start and keys[start - 1].lower() in contrast.not_after for start in starts):
        return False
    swapped = {start + step for start in starts for step in range(len(contrast.words))}
    rest = ["" if place in swapped else key for place, key in enumerate(keys)]
    if contrast.only_with and not any(key.lower().startswith(contrast.only_with) for key in rest):
        return False
    return not any(tuple(rest[place : place + len(other)]) == other for place in range(len(rest)))


_WORD = re.compile(r"[^\W\d_]+")
_PLAIN_WORDS = re.compile(r"[\w' -]+")
_OF = re.compile(r"(?P<what>[\w -]{1,200}?) (?:of|in) (?:the )?(?P<where>[\w -]{1,200})")
_SMALL_WORDS = frozenset("of the in with without and or to from by for not no nos".split())
_MOST_WORDS_INVERTED = 5
_LEAST_LETTERS = 5  # a slip in a shorter word leaves too little of it

# How often each kind of variant is made, where it can be.
KINDS = {
    "spelling": 3,
    "plural": 2,
    "inversion": 4,
    "abbreviation": 3,
    "hyphen": 2,
    "case": 1,
    "slip": 3,
}


def spelling_table() -> dict[str, Any]:
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
        self._table = table
        americanised = table["british_american"]
        self._other = {ours: theirs for theirs, ours in americanised.items()} | americanised
        self._no_plural = {*table["unchanged"]["words"], *table["not_plural"]["words"]}
        self._slips = [
            slip
            for slip in table["ocr"]
            if (slip["meant"] or slip["seen"]) and slip["context"] != "digit"
        ]
        self._short = dict(sorted(abbreviations.items(), key=lambda item: -len(item[0])))
        self._words = words
        self._seed = seed
        self._makers: dict[str, Callable[[str, random.Random], str]] = {
            "spelling": lambda name, _: _WORD.sub(
                lambda word: self._other.get(word[0].lower(), word[0]), name
            ),
            "plural": self._plural,
            "inversion": _inverted,
            "abbreviation": self._abbreviated,
            "hyphen": _hyphened,
            "case": lambda name, _: name.upper(),
            "slip": self._slipped,
        }

    def of(self, name: str, most: int) -> list[str]:
        chance = random.Random(f"{self._seed}/{name}")
        variants: dict[str, None] = {}
        for _ in range(3 * most):
            if len(variants) == most:
                break
            changed = name
            drawn = chance.choices([*KINDS], [*KINDS.values()], k=chance.choice((1, 1, 2)))
            for kind in dict.fromkeys(drawn):
                changed = self._makers[kind](changed, chance)
            if changed != name:
                variants[changed] = None
        return list(variants)

    def _plural(self, name: str, chance: random.Random) -> str:
        head, space, last = name.rpartition(" ")
        return f"{head}{space}{self.plural(last, chance)}" if _WORD.fullmatch(last) else name

    def plural(self, word: str, chance: random.Random) -> str:
        lower = word.lower()
        if lower in self._no_plural or len(word) < _LEAST_LETTERS - 1:
            return word
        if lower in self._table["irregular"]:
            return str(self._table["irregular"][lower][0])
        for rule in self._table["plural"]:
            if lower.endswith(rule["singular"]) and lower not in rule.get("exceptions", ()):
                ending = rule["plural"][0 if chance.random() < 0.8 else -1]
                return word[: len(word) - len(rule["singular"])] + str(ending)
        return word + "s"

    def _abbreviated(self, name: str, _: random.Random) -> str:
        lower = name.lower()
        for long, short in self._short.items():
            if long in lower and (match := re.search(rf"\b{re.escape(long)}\b", lower)):
                return f"{name[: match.start()]}{short}{name[match.end() :]}"
        return name

    def _slipped(self, name: str, chance: random.Random) -> str:
        words = [match for match in _WORD.finditer(name) if len(match[0]) >= _LEAST_LETTERS]
        if not words:
            return name
        match = chance.choice(words)
        word = match[0]
        possible = [slip for slip in self._slips if slip["meant"] in word]
        slip = chance.choices(possible, [slip["weight"] for slip in possible])[0]
        meant, seen = slip["meant"], slip["seen"].replace("\n", "")
        places = [occurrence.start() for occurrence in re.finditer(re.escape(meant), word)]
        place = chance.choice([place for place in places if meant or 0 < place < len(word)])
        slipped = f"{word[:place]}{seen}{word[place + len(meant) :]}"
        if slipped.lower() in self._words:
            return name
        return f"{name[: match.start()]}{slipped}{name[match.end() :]}"


def _inverted(name: str, _: random.Random) -> str:
    """Another order of the same words: around a comma, around `of`, or with the last word first."""
    if name.count(",") == 1 and _PLAIN_WORDS.fullmatch(name.replace(",", "")):
        first, last = name.split(",")
        return f"{last.strip()} {first.strip()}"
    if match := _OF.fullmatch(name):
        return f"{match['where']} {match['what']}"
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
    spaces = [match.start() for match in re.finditer(r"(?<=[a-z]) (?=[a-z])", name)]
    if not spaces:
        return name
    place = chance.choice(spaces)
    return f"{name[:place]}-{name[place + 1 :]}"

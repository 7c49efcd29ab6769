"""Detection of reports that are not in English, and of the language that they seem to be in.

Our reader, catalogues and rules know English alone, and read nothing or nonsense in a report in
another language. The detector counts words and endings (`data/languages.toml`). Texts without
evidence, such as codes, abbreviations and Latin, count as English.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache, lru_cache
from typing import Literal

from histoeval.errors import Problem
from histoeval.resources import load_toml

_WORD = re.compile(r"[^\W\d_]+")
# How much must speak for another language: one medical word or two others, and not one word in
# many, as in the noise of a scan
_LEAST, _LEAST_SHARE = 2.0, 0.2
_MAX_LENGTH = 60  # longer words are noise
_ACCENTED = re.compile("[àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœß]")

Language = Literal["en", "any"]  # which reports are read: English ones, or whatever there is

Evidence = tuple[float, tuple[str, ...]]
_NONE: Evidence = (0.0, ())


# What whoever chose the metrics can do about a report in another language
READ_AS_IT_IS = ', or read it as it is with --language any (Models(language="any"))'


def english_problem(language: Language, **texts: str) -> Problem | None:
    """Problem of texts, each by what it is called, that cannot be read; None where they can."""
    for role, text in texts.items() if language == "en" else ():
        if foreign := foreign_language(text):
            return Problem(
                code="not_english",
                message=f"the {role} seems to be written in {foreign}, and only English can be "
                f"read: translate it, leave it out{READ_AS_IT_IS}",
            )
    return None


def foreign_language(text: str) -> str | None:
    """The language or script that a text is written in, as it is shown; None for English."""
    words = Counter(_WORD.findall(unicodedata.normalize("NFC", text).lower()))
    if not text.isascii() and (script := _script_of(words)):
        return f"{script} script"
    english = foreign = 0.0
    languages: dict[str, float] = defaultdict(float)
    for word, count in words.items():
        ours, (theirs, which) = _both_ways(word)
        english += count * ours
        foreign += count * theirs
        for language in which:
            languages[language] += count * theirs
    if foreign <= english or foreign < max(_LEAST, _LEAST_SHARE * words.total()):
        return None
    return max(languages, key=languages.__getitem__, default="another language")


def _script_of(words: Counter[str]) -> str | None:
    """The script of most letters, where less than half are Latin."""
    scripts: Counter[str] = Counter()
    for word, count in words.items():
        if word.isascii():
            scripts["Latin"] += len(word) * count
        else:
            for letter in word:
                scripts[_script(letter)] += count
    if scripts["Latin"] * 2 >= scripts.total():
        return None
    del scripts["Latin"]
    return scripts.most_common(1)[0][0]


@lru_cache(maxsize=1 << 12)
def _script(letter: str) -> str:
    """The first word of a letter's name in Unicode, which is its script."""
    name = unicodedata.name(letter, "unknown")
    first = name.split()[0]
    return "Latin" if "LATIN" in name else first if first == "CJK" else first.capitalize()


@cache
def _lists() -> dict[str, dict[str, frozenset[str]]]:
    table = load_toml("terms/data/languages.toml")
    return {
        language: {kind: frozenset(words.split()) for kind, words in lists.items()}
        for language, lists in table.items()
    }


@cache
def _others() -> dict[str, dict[str, frozenset[str]]]:
    return {name: lists for name, lists in _lists().items() if name not in ("English", "shared")}


@cache
def _endings(kind: str) -> dict[str, tuple[str, ...]]:
    return {language: tuple(lists[kind]) for language, lists in _others().items()}


def _english(word: str) -> float:
    lists = _lists()["English"]
    return 1.0 if word in lists["words"] else 0.5 if word in lists["weak"] else 0.0


@lru_cache(maxsize=1 << 16)
def _both_ways(word: str) -> tuple[float, Evidence]:
    return (_english(word), _evidence(word)) if len(word) <= _MAX_LENGTH else (0.0, _NONE)


def _evidence(word: str) -> Evidence:
    """Weight of a word against English, and the languages that it speaks for."""
    accent = 1.0 if _ACCENTED.search(word) else 0.0
    if len(word) + accent < 2 or _english(word) or word in _lists()["shared"]["words"]:
        return _NONE
    if medical := tuple(
        language for language, lists in _others().items() if word in lists["medical"]
    ):
        return 2.0, medical
    if plain := tuple(language for language, lists in _others().items() if word in lists["words"]):
        return (0.5 if len(word) == 2 else 1.0) + accent, plain
    for kind, weight in (("endings", 2.0), ("weak_endings", 1.0)) if len(word) > 5 else ():
        if ended := tuple(e for e, ends in _endings(kind).items() if word.endswith(ends)):
            return weight + accent, ended
    return accent, ()

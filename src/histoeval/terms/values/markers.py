"""The marker that a phrase names: estrogen receptor, also as ER, ESR1 or oestrogen receptor.

Names are compared piece by piece, a piece being a run of letters or of digits, so that CK7, CK-7
and CK 7 are the same, and CD3 is not found in CD30.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from histoeval.resources import load_toml
from histoeval.terms.plain import MAX_CHARS, american, closest_word, singular

_PIECE = re.compile(r"[^\W\d_]+|\d+")
_GREEK = dict(
    zip(
        "\u03b1\u03b2\u03b3\u03b4\u03b5\u03ba\u03bb",
        "alpha beta gamma delta epsilon kappa lambda".split(),
        strict=True,
    )
)
_SHARES_LETTERS = re.compile(r"\s*(?:/|,|&|\+|-|and|or)\s*")
_BETWEEN = frozenset({"and", "or"})
_NO_MARKER = re.compile(r"\s*[%+.]")
_LOOKALIKES = str.maketrans("0li|", "o111")
_LONG_WORD = 7
_SAME_WORD = 0.88


class _Piece(NamedTuple):
    plain: str
    start: int
    end: int


class _Name(NamedTuple):
    markers: tuple[str, ...]
    cased: frozenset[str] | None  # the only ways to write it, where it is also an ordinary word


_Key = tuple[str, ...]


def _data() -> dict[str, Any]:
    return load_toml("terms/data/markers.toml")


@cache
def known_markers() -> frozenset[str]:
    return frozenset(row["name"] for row in _data()["marker"])


def _folded(phrase: str) -> str:
    if phrase.isascii():
        return phrase[:MAX_CHARS]
    text = unicodedata.normalize("NFKC", phrase[:MAX_CHARS])
    return "".join(_GREEK.get(c.lower(), c) for c in text)


def _pieces(text: str) -> list[_Piece]:
    pieces = []
    for match in _PIECE.finditer(text):
        word = match.group().lower()
        plain = american(singular(word)) if len(word) > 4 else word
        pieces.append(_Piece(plain, match.start(), match.end()))
    return pieces


def _key(name: str) -> _Key:
    return tuple(piece.plain for piece in _pieces(_folded(name)))


def _joined(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


@cache
def _names() -> dict[_Key, _Name]:
    """Every name in pieces, with the markers it stands for."""
    names: dict[_Key, _Name] = {}
    for row in _data()["group"]:
        names |= {_key(name): _Name(tuple(row["markers"]), None) for name in row["names"]}
    for row in _data()["marker"]:
        cased: dict[_Key, set[str]] = {}
        for name in row.get("exact_case", ()):
            if name != name.lower():
                cased.setdefault(_key(name), set()).add(_joined(_folded(name)))
        for name in (row["name"], *row["aliases"]):
            forms = cased.get(_key(name))
            names[_key(name)] = _Name((row["name"],), frozenset(forms) if forms else None)
    return names


@cache
def _longest_from() -> dict[str, int]:
    longest: dict[str, int] = {}
    for key in _names():
        longest[key[0]] = max(len(key), longest.get(key[0], 0))
    return longest


@cache
def _lookalikes() -> dict[str, _Name]:
    """Names with a digit by their outline, in which 0 and O, and 1, l and I, are the same."""
    outlines: dict[str, list[_Name]] = {}
    for key, name in _names().items():
        if any(piece.isdigit() for piece in key):
            outlines.setdefault("".join(key).translate(_LOOKALIKES), []).append(name)
    return {outline: same[0] for outline, same in outlines.items() if len(set(same)) == 1}


@cache
def _long_words() -> dict[str, _Name]:
    return {k[0]: n for k, n in _names().items() if len(k) == 1 and len(k[0]) >= _LONG_WORD}


@lru_cache(maxsize=1 << 12)
def find_markers(phrase: str) -> tuple[str, ...]:
    """The ids of the markers that a phrase names, each once, in the order of the phrase.

    Misread names (SlOO, synaptophysln) are searched only where no name is written correctly.
    """
    text = _folded(phrase)
    names = [name for name, _, _ in _placed(text)] or [*_in_any_case(text)] or [*_misread(text)]
    return tuple(dict.fromkeys(marker for name in names for marker in name.markers))


def singled_out(markers: tuple[str, ...], behind: str) -> tuple[str, ...]:
    """Of several markers that share a name, those that the words right behind it are of.

    `Hormone receptor (oestrogen)` is the estrogen receptor alone.
    """
    words = {marker: _words_of(marker) for marker in markers}
    marker_names: set[str] = set()
    for word in _key(behind):
        shared = sum(word in own for own in words.values())
        if word not in _BETWEEN and shared in (0, len(words)):
            break
        marker_names.add(word)
    return tuple(marker for marker in markers if words[marker] & marker_names) or markers


@cache
def _words_of(marker: str) -> frozenset[str]:
    """The words of a marker's name, and its other names that are one word."""
    short = {
        key[0] for key, name in _names().items() if len(key) == 1 and name.markers == (marker,)
    }
    return frozenset(_key(marker)) | short


def marker_of(phrase: str) -> str | None:
    """The id of the first marker that a phrase names."""
    return next(iter(find_markers(phrase)), None)


class MarkerName(NamedTuple):
    """The name of a marker in a text, or of several that share it."""

    markers: tuple[str, ...]
    start: int
    end: int


def named_markers(text: str) -> list[MarkerName]:
    """The markers that a text names as they are written, each with its place."""
    folded = _folded(text)
    if len(folded) != len(text):  # a ligature or a Greek letter: places would be off
        folded = text
    return [MarkerName(name.markers, start, end) for name, start, end in _placed(folded)]


def _placed(text: str) -> Iterator[tuple[_Name, int, int]]:
    pieces, at = _pieces(text), 0
    stem: _Key = ()
    while at < len(pieces):
        size = _size_of_name(text, pieces, at)
        if size:
            key = tuple(piece.plain for piece in pieces[at : at + size])
            stem = key[:-1] if key[-1].isdigit() else ()
            yield _names()[key], pieces[at].start, pieces[at + size - 1].end
        elif name := _sharing(stem, text, pieces, at):
            yield name, pieces[at].start, pieces[at].end
        elif pieces[at].plain not in _BETWEEN:
            stem = ()
        at += size or 1


def _size_of_name(text: str, pieces: list[_Piece], at: int) -> int:
    """Number of pieces of the longest name that begins here; 0 if none does."""
    if _inside_word(text, pieces[at].start):
        return 0
    longest = _longest_from().get(pieces[at].plain, 0)
    for size in range(min(longest, len(pieces) - at), 0, -1):
        end = pieces[at + size - 1].end
        name = _names().get(tuple(piece.plain for piece in pieces[at : at + size]))
        written = text[pieces[at].start : end]
        is_cased = name and (name.cased is None or _joined(written) in name.cased)
        if is_cased and not _inside_word(text, end):
            return size
    return 0


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _sharing(stem: _Key, text: str, pieces: list[_Piece], at: int) -> _Name | None:
    """A number that continues the marker before it: the 20 of CK7/20, but not of CK7, 20%."""
    piece = pieces[at]
    if not stem or not piece.plain.isdigit() or _inside_word(text, piece.end):
        return None
    last_number = next((p.end for p in reversed(pieces[:at]) if p.plain.isdigit()), 0)
    joins = _SHARES_LETTERS.fullmatch(text, last_number, piece.start)
    is_marker = joins and not _NO_MARKER.match(text, piece.end)
    return _names().get((*stem, piece.plain)) if is_marker else None


def _in_any_case(text: str) -> Iterator[_Name]:
    """Names that are also ordinary words, in a phrase in which nothing else stands (er/pr)."""
    names = [_names().get((piece.plain,)) for piece in _pieces(text) if piece.plain not in _BETWEEN]
    if all(names):
        yield from (name for name in names if name)


def _misread(text: str) -> Iterator[_Name]:
    for word in re.findall(r"[\w|]+(?:-[\w|]+)?", text):
        letters = "".join(c for c in word.lower() if c.isalnum() or c == "|")
        outline = letters.translate(_LOOKALIKES)
        if name := _lookalikes().get(outline) if word != word.lower() else None:
            yield name
        elif word.isalpha() and (near := _near_word(word.lower())):
            yield _long_words()[near]


@lru_cache(maxsize=1 << 14)
def _near_word(word: str) -> str | None:
    """The long name that a word is a slip of."""
    return closest_word(word, list(_long_words()), _SAME_WORD) if len(word) >= _LONG_WORD else None

"""Findings, what a report observes besides its diagnosis: invasion, margins, necrosis.

A phrase gives the findings it names, and whether its own wording denies them: "clear margins" and
"margins" name the same finding, one denied and one not. Findings stand in a small is-a tree.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal

from histoeval.resources import load_toml
from histoeval.terms.assertion import denies, is_denied
from histoeval.terms.matching import NameMatcher
from histoeval.terms.plain import Word, plain, plain_word, words_of
from histoeval.terms.tree import Tree

Suggests = Literal["malignant", "benign", "inflammatory", "normal", "none"]

_DENIED = "!"  # stands before the id of a finding that a name denies
_MAX_SCATTERED = 14  # in phrases of more words, the words of a name must stand together
_MAX_CACHED = 1_000
_WIDEST_GAP = 4  # how many other words may stand between the words of a name
# The same between a place and a word for growth: bone and mucosa of the sinus are invaded
_WIDE_GAP = 7
_GROWTH = "invasion"
_STOP = re.compile(r"[.;:,()]")
_BREAK = re.compile(r"[;:]")
# Words that no name reaches over: margins that are not clear are not clear margins
_REFUSING = frozenset({"no", "not", "without", "nor", "free", "clear", "spared", "uninvolved"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that can be observed: its importance, what it suggests, how it is written.

    `importance` is 3 for what changes treatment or stage, 2 for what supports a diagnosis, 1 for
    background. `names` are the wordings that affirm it, `denials` those that deny it.
    """

    id: str
    name: str
    importance: int
    suggests: Suggests
    parent: str | None
    names: tuple[str, ...]
    denials: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    treated: bool = False  # true if it is treated, whatever the diagnosis


@dataclass(frozen=True, slots=True)
class FoundFinding:
    """A finding named in a phrase: where, which, and whether the wording itself denies it.

    The reader's assertion of the phrase comes on top: a finding is denied if either denies it.
    """

    start: int
    end: int
    id: str
    denied: bool


@dataclass(frozen=True, slots=True)
class _Span:
    """A name found over words `first` to `last` of a phrase, both included."""

    first: int
    last: int
    id: str
    size: int  # how many words of the phrase the name uses, small words not counted


def _data() -> dict[str, Any]:
    return load_toml("terms/data/findings.toml")


@cache
def findings() -> Mapping[str, Finding]:
    return MappingProxyType(
        {
            row["id"]: Finding(
                id=row["id"],
                name=row["name"],
                importance=row["importance"],
                suggests=row["suggests"],
                parent=row.get("parent"),
                names=(row["name"], *row["aliases"]),
                denials=tuple(row.get("denied_aliases", ())),
                alone=tuple(row.get("alone", ())),
                treated=row.get("treated", False),
            )
            for row in _data()["finding"]
        }
    )


def find_findings(phrase: str) -> tuple[FoundFinding, ...]:
    """The findings that a phrase names, from left to right.

    Names are looked for word by word, the longest first; then with a head that several share
    ("vascular and perineural invasion"); then with their words apart or in another order ("the
    stroma appears desmoplastic").
    """
    return _cached_find(phrase) if len(phrase) <= _MAX_CACHED else _find(phrase)


def finding_of(phrase: str) -> FoundFinding | None:
    """The one finding that a phrase is most about: the most important, then the longest name."""
    return max(
        find_findings(phrase),
        key=lambda f: (findings()[f.id].importance, f.end - f.start),
        default=None,
    )


def finding_closeness(a: str, b: str) -> float:
    """Closeness of two findings, by id: 1 for the same, 0 for two that share no kind."""
    return _tree().closeness(a, b)


def is_kind_of(a: str, b: str) -> bool:
    return _tree().is_a(a, b)


@cache
def _tree() -> Tree:
    return Tree({f.id: (f.parent,) if f.parent else () for f in findings().values()})


@cache
def _matcher() -> NameMatcher:
    return NameMatcher(dict(_names()))


def _names() -> Iterator[tuple[str, str]]:
    for finding in findings().values():
        yield from ((name, finding.id) for name in finding.names)
        yield from ((name, _DENIED + finding.id) for name in finding.denials)


@cache
def _alone() -> dict[str, str]:
    return {plain(word): f.id for f in findings().values() for word in f.alone}


@cache
def _words(table: str, key: str) -> frozenset[str]:
    return frozenset(plain_word(word) for word in _data()[table][key])


def _find(phrase: str) -> tuple[FoundFinding, ...]:
    words = words_of(phrase)
    if id_ := _alone().get(" ".join(word.plain for word in words)):
        return (FoundFinding(words[0].start, words[-1].end, id_, denied=False),)
    first = {word.start: i for i, word in enumerate(words)}
    last = {word.end: i for i, word in enumerate(words)}
    spans = [_span(first[m.start], last[m.end], m.id, words) for m in _matcher().find(phrase)]
    spans = _with_shared_heads(spans, phrase, words)
    spans = _with_scattered(spans, phrase, words)
    return _judged(sorted(spans, key=lambda s: (s.first, s.last)), phrase, words)


_cached_find = lru_cache(maxsize=1 << 13)(_find)


def _span(first: int, last: int, id_: str, words: Sequence[Word]) -> _Span:
    small = _words("small", "words")
    size = sum(word.plain not in small for word in words[first : last + 1])
    return _Span(first, last, id_, size)


# --- words apart -------------------------------------------------------------------------------


@cache
def _form_of() -> dict[str, str]:
    return {
        plain_word(word): plain_word(base)
        for base, words in _data()["forms"].items()
        for word in words
    }


def _key_words(words: Iterable[Word]) -> dict[str, int]:
    """The words that carry the meaning, in one form each, with where they stand."""
    small, forms = _words("small", "words"), _form_of()
    return {forms.get(w.plain, w.plain): i for i, w in enumerate(words) if w.plain not in small}


@cache
def _by_rarest_word() -> dict[str, tuple[tuple[frozenset[str], str], ...]]:
    """Names of two or more words, each under the one of its words that fewest names have."""
    names = [(frozenset(_key_words(words_of(name))), id_) for name, id_ in _names()]
    usable = list(dict.fromkeys(name for name in names if len(name[0]) >= 2))
    count = Counter(word for words, _ in usable for word in words)
    table: dict[str, list[tuple[frozenset[str], str]]] = {}
    for words, id_ in usable:
        table.setdefault(min(sorted(words), key=count.__getitem__), []).append((words, id_))
    return {word: tuple(names) for word, names in table.items()}


def _with_scattered(spans: list[_Span], phrase: str, words: Sequence[Word]) -> list[_Span]:
    """The spans, with names whose words stand apart in place of shorter ones they overlap."""
    if not 2 <= len(words) <= _MAX_SCATTERED or _BREAK.search(phrase):
        return spans
    for new in sorted(_scattered(words), key=lambda s: (-s.size, s.last - s.first, s.first, s.id)):
        rivals = [s for s in spans if s.first <= new.last and new.first <= s.last]
        several = sum(rival.size > 1 for rival in rivals) > 1
        if not several and all(rival.size < new.size for rival in rivals):
            spans = [s for s in spans if s not in rivals] + [new]
    return spans


def _scattered(words: Sequence[Word]) -> Iterator[_Span]:
    last = _key_words(words)
    first = {word: len(words) - 1 - i for word, i in _key_words(reversed(words)).items()}
    for places in [last] if first == last else [last, first]:
        yield from _scattered_at(places, words)


def _scattered_at(places: Mapping[str, int], words: Sequence[Word]) -> Iterator[_Span]:
    """Names of which every word stands somewhere, near enough to the others."""
    for word in places:
        for needed, id_ in _by_rarest_word().get(word, ()):
            if needed <= places.keys():
                at = sorted(places[word] for word in needed)
                between = {word.plain for word in words[at[0] : at[-1]]} - needed
                widest = _WIDE_GAP if _GROWTH in needed else _WIDEST_GAP
                if at[-1] - at[0] >= len(at) + widest:
                    continue
                if not between & _REFUSING:
                    yield _Span(at[0], at[-1], id_, len(at))
                elif _GROWTH in needed and words[at[-1] - 1].plain in _REFUSING:
                    # A word of denial within the name turns it round: nerves are not invaded
                    opposite = id_.removeprefix(_DENIED) if id_[0] == _DENIED else _DENIED + id_
                    yield _Span(at[0], at[-1], opposite, len(at))


# --- a head that several share -----------------------------------------------------------------


def _with_shared_heads(spans: list[_Span], phrase: str, words: Sequence[Word]) -> list[_Span]:
    """The spans, with those whose last word stands only once, after an and, an or or a comma."""
    for span in sorted(spans, key=lambda s: -s.first):
        head, first = words[span.last].text, span.first
        while first >= 1:
            if first >= 2 and words[first - 1].plain in ("and", "or"):
                end = first - 2
            elif phrase[words[first - 1].end : words[first].start].strip() in (",", "/"):
                end = first - 1
            else:
                break
            new = _with_head(end, head, words)
            rivals = [s for s in spans if new and s.first <= new.last and new.first <= s.last]
            if new is None or any(rival.size > 1 for rival in rivals):
                break
            spans = [s for s in spans if s not in rivals] + [new]
            first = new.first
    return spans


def _with_head(end: int, head: str, words: Sequence[Word]) -> _Span | None:
    for first in range(max(0, end - 1), end + 1):
        text = " ".join([*(word.text for word in words[first : end + 1]), head])
        if id_ := _matcher().exact(text):
            return _span(first, end, id_, words)
    return None


# --- denial ------------------------------------------------------------------------------------


def _judged(spans: Sequence[_Span], phrase: str, words: Sequence[Word]) -> tuple[FoundFinding, ...]:
    """Findings of the spans, denied by their names or by a word before or after them."""
    findings_judged: list[FoundFinding] = []
    for span in spans:
        start, end = words[span.first].start, words[span.last].end
        denied = (
            not _is_undone(span.first, phrase, words)
            if span.id.startswith(_DENIED)
            else is_denied(phrase, start, end)
        )
        findings_judged.append(FoundFinding(start, end, span.id.removeprefix(_DENIED), denied))
    return tuple(findings_judged)


def _is_undone(first: int, phrase: str, words: Sequence[Word]) -> bool:
    """True if a word right before a wording of denial undoes it: not, loss of, deviation from."""
    fillers = _words("undone", "fillers")
    for word in reversed(words[:first]):
        if _STOP.search(phrase[word.end : words[first].start]):
            return False
        if word.plain not in fillers:
            return word.plain in _words("undone", "by") or denies(word.plain)
    return False

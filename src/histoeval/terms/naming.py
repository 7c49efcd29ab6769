"""The diagnosis that a phrase names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, concepts, diagnosis_tree, table
from histoeval.terms.matching import NameMatch, NameMatcher, in_capitals, is_cased
from histoeval.terms.plain import words_of
from histoeval.terms.sites import contains, find_sites, organ_of, site_tree

_SEVERITY = {behaviour: -rank for rank, behaviour in enumerate(Behaviour)}
_MALIGNANCY = "malignant_neoplasm"
_METASTASIS = "metastatic_neoplasm"
_Words = frozenset[str]


@cache
def _matcher() -> NameMatcher:
    names = {name: concept.id for concept in concepts().values() for name in concept.names}
    matcher = NameMatcher(names)
    shorts: dict[str, str] = {}
    for row in table("abbreviations")["abbreviation"]:
        meanings = [row.get("expansion", ""), *row.get("also", [])]
        ids = [id_ for meaning in meanings if (id_ := matcher.exact(meaning))]
        if ids and "expansions" not in row and not matcher.exact(row["short"]):
            shorts[row["short"]] = ids[0]
    matcher.learn(shorts)
    return matcher


@cache
def _ambiguous() -> dict[str, tuple[str, ...]]:
    """The abbreviations of several meanings, with those that are diagnoses."""
    rows = [r for r in table("abbreviations")["abbreviation"] if "expansions" in r]
    meanings = {r["short"]: [_matcher().exact(e) for e in r["expansions"]] for r in rows}
    return {short: tuple(id_ for id_ in ids if id_) for short, ids in meanings.items()}


def arises_in(concept: Concept, organs: Iterable[str]) -> bool:
    """True if a diagnosis belongs to one of these sites, to its part or to what it is part of."""
    return any(contains(own, organ) for own in concept.organs for organ in organs)


@lru_cache(maxsize=1 << 13)
def find_diagnoses(phrase: str, organs: frozenset[str] = frozenset()) -> tuple[NameMatch, ...]:
    """The diagnoses that a phrase names, from left to right; where two overlap, the longer one.

    An abbreviation of several meanings has the one that the diagnoses list gives it, if any; where
    organs are given and just one meaning belongs there, it has that one.
    """
    matches = _matcher().find(phrase)
    words = words_of(phrase)
    if not organs or in_capitals(phrase, words):
        return matches
    short = {w.start: (w.end, id_) for w in words if (id_ := _meaning(w.text, organs))}
    covered = {m.start for m in matches if m.start in short and m.end > short[m.start][0]}
    read = [NameMatch(s, end, id_) for s, (end, id_) in short.items() if s not in covered]
    unread = [m for m in matches if not any(m.start < r.end and r.start < m.end for r in read)]
    return tuple(sorted([*unread, *read], key=lambda match: match.start))


def _meaning(short: str, organs: frozenset[str]) -> str | None:
    """The one meaning of an abbreviation that belongs to these organs."""
    fitting = [id_ for id_ in _ambiguous().get(short, ()) if arises_in(concepts()[id_], organs)]
    return fitting[0] if len(fitting) == 1 else None


@lru_cache(maxsize=1 << 13)
def main_concept(phrase: str, organs: frozenset[str] = frozenset()) -> Concept | None:
    """The most specific diagnosis that one diagnosis phrase names, or none.

    A name whose words stand apart or in another order counts if it says more than any that stands
    together, or the same more precisely. Of several, the worst behaved; then one that is no
    umbrella word; then the longest named; then the first. Last, the diagnosis is taken at the site
    that the phrase names, or else at `organs`: adenocarcinoma in the colon is colorectal.
    """
    names = [name for statement in _statements(phrase, organs) for name in statement.names()]
    ids = {name.id for name in names}
    is_a = diagnosis_tree().is_a
    best = [name for name in names if not any(i != name.id and is_a(i, name.id) for i in ids)]
    if not best:
        return None
    chosen = max(best, key=_weight)
    sites_named = frozenset(match.id for match in find_sites(phrase)) or organs
    local = _called_here(phrase, chosen, sites_named) if sites_named else None
    return refine(concepts()[local or chosen.id], sites_named)


def _called_here(phrase: str, chosen: _Name, organs: frozenset[str]) -> str | None:
    """Name of the diagnosis of these sites, if that says more than what the words name alone.

    Ductal adenocarcinoma is one thing in the prostate and another in the pancreas.
    """
    content = _content(phrase)
    fitting = [
        name
        for word in sorted(content)
        for name in _local_names().get(word, ())
        if name.words <= content and _fits(concepts()[name.id], organs)
    ]
    if not fitting:
        return None
    longest = max(fitting, key=lambda name: (len(name.words), name.id))
    concept, chosen_concept = concepts()[longest.id], concepts()[chosen.id]
    if concept.behaviour != chosen_concept.behaviour or diagnosis_tree().is_a(
        chosen_concept.id, _METASTASIS
    ):
        return None
    astray = (
        bool(chosen_concept.organs)
        and not arises_in(chosen_concept, organs)
        and chosen.words != content
    )
    placed = not chosen_concept.organs and longest.words == chosen.words
    return longest.id if astray or placed or len(longest.words) > len(chosen.words) else None


@cache
def _local_names() -> dict[str, list[_Name]]:
    """Names of diagnoses of some organs without the words for these, each under its rarest word."""
    folded = set(table("diagnoses")["wording"]["inflammation"]["words"])

    def unfolded(name: str) -> str:  # gastritis is inflammation, of an organ that the site gives
        words = [word.plain for word in words_of(name)]
        return " ".join("inflammation" if word in folded else word for word in words)

    return _under_rarest_word(
        _Name(concept.id, words)
        for concept in concepts().values()
        if concept.organs
        for name in concept.names
        for words in {_content(_without_sites(name)), _content(unfolded(name))}
    )


class _Name(NamedTuple):
    id: str
    words: _Words


@dataclass(slots=True)
class _Statement:
    """A part of a phrase within which words belong together, and the diagnoses found in it."""

    words: list[str] = field(default_factory=list)
    found: list[_Name] = field(default_factory=list)

    def names(self) -> list[_Name]:
        """The diagnoses named here, less those whose words are only some of another's."""
        named = self.found + self._scattered()
        return [n for n in named if not any(n.words < longer.words for longer in named)]

    def _scattered(self) -> list[_Name]:
        """Those all of whose words stand here, if they say more than what was found."""
        longest = max((len(name.words) for name in self.found), default=0)
        content = _content_of(self.words).union(*(name.words for name in self.found))
        standing = [
            name
            for word in sorted(content)
            for name in _by_rarest_word().get(word, ())
            if name.words <= content
        ]
        return [n for n in standing if len(n.words) > longest or self._sharpens(n)]

    def _sharpens(self, name: _Name) -> bool:
        """True if a name says more precisely, by some word, what another one says."""
        return any(
            not name.words <= other.words and diagnosis_tree().is_a(name.id, other.id)
            for other in self.found
        )


def _statements(phrase: str, organs: frozenset[str]) -> list[_Statement]:
    wording = table("diagnoses")["wording"]
    matches = {match.start: match for match in find_diagnoses(phrase, organs)}
    parts, before, within = [_Statement()], "", 0
    for word in words_of(phrase):
        apart = word.plain in wording["apart"] and before not in wording["joining"]
        if apart and word.start >= within:
            parts.append(_Statement())
        if match := matches.get(word.start):
            parts[-1].found.append(_name(phrase, match, parts[-1].words[-2:]))
            within = match.end
        parts[-1].words.append(word.plain)
        before = word.plain
    return parts


def _name(phrase: str, match: NameMatch, before: Sequence[str]) -> _Name:
    """The name of a match; what does no harm is no longer that when it is called malignant."""
    text, concept = phrase[match.start : match.end], concepts()[match.id]
    if "malignant" in before and concept.behaviour in HARMLESS:
        return _Name(_MALIGNANCY, frozenset({"malignant"}) | _content(text))
    return _Name(match.id, _content(concept.name if is_cased(text) else text))


def _weight(name: _Name) -> tuple[int, bool, int]:
    """The rank of a diagnosis as the main one; dysplasia ranks no higher than a benign lesion.

    An adenoma with dysplasia is an adenoma.
    """
    concept = concepts()[name.id]
    unnamed = concept.generic and concept.behaviour is Behaviour.IN_SITU
    behaviour = Behaviour.BENIGN if unnamed else concept.behaviour
    return _SEVERITY[behaviour], not concept.generic, len(name.words)


def _content(name: str) -> _Words:
    return _content_of([word.plain for word in words_of(name)])


def _content_of(words: Sequence[str]) -> _Words:
    same = table("diagnoses")["wording"]["same"]
    return frozenset([same.get(word, word) for word in words]) - _empty()


@cache
def _empty() -> _Words:
    return frozenset(table("diagnoses")["wording"]["empty"])


@cache
def _by_rarest_word() -> dict[str, list[_Name]]:
    return _under_rarest_word(
        _Name(concept.id, words)
        for concept in concepts().values()
        for words in {_content(name): None for name in concept.names}
    )


def _under_rarest_word(names: Iterable[_Name]) -> dict[str, list[_Name]]:
    compound_names = [name for name in names if len(name.words) > 1]
    count: dict[str, int] = {}
    for word in (word for name in compound_names for word in name.words):
        count[word] = count.get(word, 0) + 1
    index: dict[str, list[_Name]] = {}
    for name in compound_names:
        index.setdefault(min(name.words, key=lambda w: (count[w], w)), []).append(name)
    return index


@lru_cache(maxsize=1 << 12)
def refine(concept: Concept, organs: frozenset[str]) -> Concept:
    """The same diagnosis as it is called at a site, if there is just one; else itself.

    Such a one is a kind of the diagnosis, arises at the site, and has the name of the
    diagnosis apart from the words of a site. What is metastatic stays as it is, since it lies where
    it did not arise.
    """
    if not organs or diagnosis_tree().is_a(concept.id, _METASTASIS):
        return concept
    at_sites = [c for c in _at_sites(concept.id) if _fits(concepts()[c], organs)]
    if not at_sites and concept.generic:
        at_sites = [c for c in _at_sites(concept.id) if arises_in(concepts()[c], organs)]
    organs_of_sites = {organ_of(organ) for organ in organs}
    nearest = [c for c in at_sites if set(map(organ_of, concepts()[c].organs)) <= organs_of_sites]
    nearest = nearest or at_sites
    most = [c for c in nearest if all(diagnosis_tree().is_a(c, relative) for relative in nearest)]
    return concepts()[most[0]] if most else concept


def _fits(concept: Concept, organs: frozenset[str]) -> bool:
    return any(site_tree().is_a(organ, own) for own in concept.organs for organ in organs)


@cache
def without_site(concept: Concept) -> Concept:
    """The diagnosis of which another one is only the name at a site; else itself."""
    above = diagnosis_tree().lineage(concept.id)[1:]
    return next((concepts()[id_] for id_ in above if concept.id in _at_sites(id_)), concept)


@cache
def _at_sites(id_: str) -> tuple[str, ...]:
    own = {_content(name) for name in concepts()[id_].names}
    return tuple(
        kind
        for kind in diagnosis_tree().descendants(id_)
        if not diagnosis_tree().is_a(kind, _METASTASIS)
        and concepts()[kind].behaviour == concepts()[id_].behaviour
        and concepts()[kind].organs != concepts()[id_].organs
        and any(_content(_without_sites(name)) in own for name in concepts()[kind].names)
    )


def _without_sites(name: str) -> str:
    for match in reversed(find_sites(name)):
        name = name[: match.start] + name[match.end :]
    return name

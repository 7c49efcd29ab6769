"""What a text says by the catalogues alone: to look up what a reader has missed in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from histoeval.extract.sentences import sentences
from histoeval.report import Entity
from histoeval.terms.findings import find_findings
from histoeval.terms.plain import words_of
from histoeval.terms.spelling import respelt
from histoeval.terms.values.grades import Grade, read_grade
from histoeval.terms.values.markers import find_markers

Value = TypeVar("Value")

_CLAUSES = re.compile(r"[,;()]")


@dataclass(frozen=True, slots=True)
class ValueMention(Generic[Value]):
    """A value with the entity that states it."""

    entity: Entity
    value: Value


@dataclass(frozen=True, slots=True)
class LexicalFacts:
    """What the sentences of a text say."""

    findings: frozenset[tuple[str, bool]]
    """Findings by id, each with whether it is denied."""
    sentences: tuple[frozenset[str], ...]
    """The words of each sentence."""
    markers: frozenset[str]
    grades: frozenset[Grade]
    text: str

    def has_words(self, phrase: str) -> bool:
        """Whether all words of a phrase stand in one sentence."""
        words = frozenset(word.plain for word in words_of(respelt(phrase)))
        return bool(words) and any(words <= sentence for sentence in self.sentences)

    def has_word_of(self, phrase: str) -> bool:
        """Whether every word of a phrase stands somewhere, small ones aside."""
        words = {word.plain for word in words_of(phrase)} - {"of", "the", "and", "or"}
        return words <= frozenset().union(*self.sentences)


@lru_cache(maxsize=1 << 10)
def stated_in(text: str) -> LexicalFacts:
    """Read a text without a reader."""
    said = [sentence.of(text) for sentence in sentences(text)]
    found = {(each.id, each.denied) for one in said for each in find_findings(one)}
    return LexicalFacts(
        frozenset(found),
        tuple(frozenset(word.plain for word in words_of(one)) for one in said),
        frozenset(marker for one in said for marker in find_markers(one)),
        frozenset(
            grade
            for one in said
            for clause in (one, *_CLAUSES.split(one))
            if (grade := read_grade(clause)) is not None
        ),
        text,
    )

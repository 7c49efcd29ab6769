"""Statements that stand with another specimen than in the reference, by their words.

They need no catalogue: the words of a clause are gone from one specimen of the candidate, and stand
with another, which has nothing like it in the reference.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from histoeval.concordance.evidence import Severity
from histoeval.concordance.specimens.content import Content, SpecimenContents
from histoeval.report import Assertion, Entity, EntityType
from histoeval.resources import load_toml
from histoeval.terms.plain import words_of

_CUT = re.compile(
    r"[.;,:()](?=\s|\Z)|[()\n|]|\s{2,}|\s[-\u2013\u2014]\s"
    r"|\s(?:and|with|but|while|whereas|showing|shows|contains)\s"
    r"|\s(?=(?:reaching|extending|involving|invading|infiltrating)\s)",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|non|without|negative|absent|free|uninvolved|neither|nor|none)\b", re.IGNORECASE
)
# A single word is too easily another way to say the same, but for those that weigh
_LEAST_WORDS = 2
# How much of a statement at most is left where it stood, and how much at least is elsewhere
_GONE, _THERE = 0.5, 0.75


@dataclass(frozen=True, slots=True)
class SpecimenStatement:
    """A few words between two commas."""

    entity: Entity
    words: frozenset[str]
    denied: bool

    @property
    def severity(self) -> Severity:
        """Severity of saying it of another specimen."""
        weighty = not self.denied and bool(self.words & _weighty())
        return Severity.MAJOR if weighty else Severity.MODERATE


def moved_statements(
    contents: SpecimenContents, at: int, others: Sequence[int]
) -> Iterator[tuple[SpecimenStatement, int, SpecimenStatement]]:
    """Statements of one specimen in the reference and of another in the candidate, with that one.

    Both must surely say so, and what may be said of the right one is not moved.
    """
    left = _words(contents.candidate[at].facts.report.text)
    own = _words(contents.matched.pairs[at].reference.heading)
    for statement in _statements(contents.reference_sure[at]):
        if statement.words <= own or _share(statement, left) > _GONE:
            continue
        for other in others:
            if _share(statement, _words(contents.reference[other].facts.report.text)) > _GONE:
                continue
            alike = (
                there
                for there in _statements(contents.candidate_sure[other])
                if there.denied == statement.denied and _share(statement, there.words) >= _THERE
            )
            if moved := next(alike, None):
                yield statement, other, moved
                break


def _statements(content: Content) -> Iterator[SpecimenStatement]:
    text = content.facts.report.text
    start = 0
    for cut in (*(match.span() for match in _CUT.finditer(text)), (len(text), len(text))):
        written = text[start : cut[0]]
        words = _words(written)
        if len(words) >= _LEAST_WORDS or words & _weighty():
            begin = start + len(written) - len(written.lstrip())
            shown = written.strip()
            entity = Entity(
                text=shown,
                start=begin,
                end=begin + len(shown),
                type=EntityType.FINDING,
                assertion=Assertion.PRESENT,
            )
            yield SpecimenStatement(entity, words, bool(_DENIED.search(written)))
        start = cut[1]


def _share(statement: SpecimenStatement, words: frozenset[str]) -> float:
    return len(statement.words & words) / len(statement.words)


def _words(text: str) -> frozenset[str]:
    words = [word.plain for word in words_of(text)]
    return frozenset(w for w in words if len(w) > 1 or w.isdigit()) - little_words()


@cache
def little_words() -> frozenset[str]:
    return frozenset(load_toml("facts/data/specimens.toml")["statements"]["little"])


@cache
def _weighty() -> frozenset[str]:
    return frozenset(
        word.plain
        for phrase in load_toml("facts/data/specimens.toml")["statements"]["weighty"]
        for word in words_of(phrase)
    )

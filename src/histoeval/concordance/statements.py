"""Reports statement by statement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention
from histoeval.facts.specimens.divide import label_places
from histoeval.reader.sections import PART, sections
from histoeval.reader.sentences import TextSpan, sentences
from histoeval.report import Entity, EntityType
from histoeval.terms.assertion import asserts_now
from histoeval.terms.plain import words_of

_DECISIVE_WEIGHT = 3.0
_LEAST_WORDS = 2
# Where one statement ends and the next begins inside of what the reader takes for a sentence
_BORDER = re.compile(r"\n[ \t]{0,8}(?=[A-Z0-9(*\u2022-])|;\s{1,3}")
_WEIGHTY = 4  # letters from which on a word has weight
# What an item of a list begins with
_BULLET = re.compile(r"[\s>#*_\u2022-]{0,40}(?:\(?\d{1,2}[.)]\s{1,9})?[\s*_]{0,9}")
# A form's gap that was never filled in: [Redacted]
_GAP = re.compile(r"[\[<{(][^\[\]<>{}()]{0,80}[\]>})]\.?")


@dataclass(frozen=True, slots=True)
class ReportStatement:
    """A sentence of a report, and how much it counts."""

    text: str
    asked: str  # as a model is asked about it: on one line, without labels of parts
    span: TextSpan
    words: tuple[str, ...]
    weighty: frozenset[str]
    decisive: bool  # it has a diagnosis, a grade, a stage or a marker

    def holds(self, entity: Entity | None) -> bool:
        return entity is not None and self.span.start <= entity.start < self.span.end

    @property
    def weight(self) -> float:
        return _DECISIVE_WEIGHT if self.decisive else 1.0

    @property
    def entity(self) -> Entity:
        return Entity(
            text=self.text, start=self.span.start, end=self.span.end, type=EntityType.FINDING
        )


@lru_cache(maxsize=1 << 10)
def _spans(text: str) -> tuple[tuple[TextSpan, str, tuple[str, ...]], ...]:
    """The sentences of a report, divided where a line or a clause of its own begins."""
    plain = _unlabelled(text)
    spans = (span for sentence in sentences(text) for span in _divided(sentence, text))
    asked = ((span, " ".join(span.of(plain).split())) for span in spans)
    return tuple(
        (span, statement, words)
        for span, statement in asked
        if len(words := tuple(word.plain for word in words_of(statement))) >= _LEAST_WORDS
    )


def _unlabelled(text: str) -> str:
    letters = list(text)
    for start, end in label_places(text):
        letters[start:end] = " " * (end - start)
    return "".join(letters)


def _divided(sentence: TextSpan, text: str) -> Iterator[TextSpan]:
    start = sentence.start
    for border in _BORDER.finditer(text, sentence.start, sentence.end):
        statement = text[start : border.start()].rstrip()
        if len(statement.split()) >= _LEAST_WORDS:
            yield TextSpan(start, start + len(statement))
            start = border.end()
    yield TextSpan(start, sentence.end)


def statements_of(facts: Facts) -> tuple[ReportStatement, ...]:
    """The sentences of a report that say something."""
    text = facts.stated.text
    values: list[ValueMention[Any]] = [*facts.grades, *facts.stages, *facts.markers.values()]
    decisive = [mention.entity.start for mention in values]
    decisive += [diagnosis.entity.start for diagnosis in (*facts.made, *facts.denied)]
    return tuple(
        ReportStatement(
            span.of(text),
            asked,
            span,
            words,
            _weighty(words),
            any(span.start <= at < span.end for at in decisive),
        )
        for span, asked, words in _spans(text)
    )


@lru_cache(maxsize=1 << 10)
def stated(text: str) -> tuple[ReportStatement, ...]:
    """Statements of a text, by lines and sentences, without its having been read.

    Headings are no statements, and neither is what tells of the past or only advises. A diagnosis
    of one word is one. All of them weigh the same.
    """
    plain = _unlabelled(text)
    bodies = {
        section.start: section.body_start for section in sections(text) if section.kind != PART
    }
    found = []
    for sentence in sentences(text):
        for span in _divided(sentence, text):
            begin = max(span.start, bodies.get(span.start, 0))
            begin = min(span.end, bullet.end() if (bullet := _BULLET.match(text, begin)) else begin)
            asked = " ".join(plain[begin : span.end].split()).rstrip("*_ ")
            words = tuple(word.plain for word in words_of(asked))
            weighty = _weighty(words)
            if weighty and asserts_now(asked) and not _GAP.fullmatch(asked):
                place = TextSpan(begin, span.end)
                shown = place.of(text).rstrip("*_ ")
                found.append(ReportStatement(shown, asked, place, words, weighty, decisive=False))
    return tuple(found)


def _weighty(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for word in words if len(word) >= _WEIGHTY or not word.isalpha())

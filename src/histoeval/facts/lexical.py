"""Finds of the catalogues in a text: facts of its words, and entities that the reader missed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from histoeval.facts.scope import TextScope, before, has_wording, stance_at
from histoeval.reader.sentences import sentences
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.catalogue import Behaviour, concepts
from histoeval.terms.findings import find_findings
from histoeval.terms.lexicon import Lexicon
from histoeval.terms.matching import is_cased
from histoeval.terms.naming import find_diagnoses, main_concept
from histoeval.terms.plain import words_of
from histoeval.terms.sites import find_sites
from histoeval.terms.spelling import respelt
from histoeval.terms.values.grades import Grade, read_grade
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.markers import find_markers
from histoeval.terms.values.stages import read_stage

Value = TypeVar("Value")

# What may be a word of a diagnosis that the reader missed: complete mole, placenta increta
_ATTRIBUTES = frozenset({EntityType.DESCRIPTOR, EntityType.GRADE, EntityType.SITE})
_CLAUSES = re.compile(r"[,;()]")
_CLAUSE_END = re.compile(
    r"[,;()\n]\s{0,3}(?:and|but|while|with|whereas)?\b|\.\s|\s(?:but|while|whereas)\s",
    re.IGNORECASE,
)
# A statement of several things at once
_OF_SEVERAL = re.compile(
    r"(?P<neither>\bneither\s)?"
    r"(?<![\w-])(?P<subjects>(?:[\w-]{1,40}[ /,]{1,3}){1,12}?(?:and|n?or)\s(?:[\w-]{1,40}\s){1,5}?)"
    r"(?P<verb>is|are|was|were)\s(?P<verdict>(?:not\s)?(?:also\s)?[\w-]{1,40})",
    re.IGNORECASE,
)
_ITEMS = re.compile(r"\s{0,3},\s{0,3}(?:(?:and|n?or)\s)?|\s(?:and|n?or)\s", re.IGNORECASE)
_STAIN = re.compile(r"stain|immuno|IHC|PCR|ISH\b", re.IGNORECASE)
_NUMBERED = re.compile(r"[A-Z]-\d")  # A grade, as in MF-1, and no diagnosis
_CODE_AFTER = re.compile(r"-?\d|::")  # what makes of initials a grade or a gene: MF-1, PML::RARA
_SCHEMES = Lexicon("terms/data/schemes.toml", before=r"\b", after=r"\b", literal=True, flags=0)
_BARE_RANK = re.compile(
    r"(?:type|grade|class|stage|category|level|score|pattern)\s*(?:[IVX]{1,4}|\d)[A-Ca-c]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ValueMention(Generic[Value]):
    """A value with the entity that states it."""

    entity: Entity
    value: Value


def distinct_values(mentions: Sequence[ValueMention[Value]]) -> list[ValueMention[Value]]:
    """Each value at its first mention."""
    return list({mention.value: mention for mention in reversed(mentions)}.values())[::-1]


@dataclass(frozen=True, slots=True)
class LexicalFacts:
    """Facts that the sentences of a text mention."""

    findings: frozenset[tuple[str, bool]]  # findings by id, each with whether it is denied
    sentences: tuple[frozenset[str], ...]  # the words of each sentence
    markers: frozenset[str]
    grades: frozenset[Grade]
    text: str

    def has_words(self, phrase: str) -> bool:
        words = frozenset(word.plain for word in words_of(respelt(phrase)))
        return bool(words) and any(words <= sentence for sentence in self.sentences)

    def has_word_of(self, phrase: str) -> bool:
        """True if every word of a phrase stands somewhere, small ones aside."""
        words = {word.plain for word in words_of(phrase)} - {"of", "the", "and", "or"}
        return words <= frozenset().union(*self.sentences)


@lru_cache(maxsize=1 << 7)
def lexical_facts(text: str) -> LexicalFacts:
    """The facts of a text without a reader."""
    texts = [sentence.of(text) for sentence in sentences(text)]
    clauses = (part for text_read in texts for part in (text_read, *_plain_clauses(text_read)))
    findings = {(finding.id, finding.denied) for part in clauses for finding in find_findings(part)}
    return LexicalFacts(
        frozenset(findings),
        tuple(frozenset(word.plain for word in words_of(text_read)) for text_read in texts),
        frozenset(marker for text_read in texts for marker in find_markers(text_read)),
        frozenset(
            grade
            for text_read in texts
            for clause in (text_read, *_CLAUSES.split(text_read))
            if (grade := read_grade(clause)) is not None
        ),
        text,
    )


def _plain_clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence in which a name may be put in other words; a heading as a subject.

    So "Rete testis: invaded" is read as the rete testis that is invaded, and "neither vessels nor
    nerves are invaded" as two statements.
    """
    for said in _OF_SEVERAL.finditer(sentence):
        denial = "not " if said["neither"] else ""
        for subject in _ITEMS.split(said["subjects"]):
            yield f"{subject} {said['verb']} {denial}{said['verdict']}"
    for clause in _CLAUSE_END.split(sentence):
        if clause != sentence:
            yield clause.replace(":", " ")


# --- what the reader missed or mistyped ----------------------------------------------------------


def recovered(report: Report, likely: frozenset[str], scope: TextScope) -> Iterator[Entity]:
    """Entities that the catalogues know and the reader missed, such as rare abbreviations."""
    taken = bytearray(len(report.text))
    for entity in report.entities:
        if entity.type not in _ATTRIBUTES:
            taken[entity.start : entity.end] = b"1" * (entity.end - entity.start)
    places = [entity for entity in report.entities if entity.type == EntityType.SITE]
    for sentence in sentences(report.text):
        words = sentence.of(report.text)
        entities = (*_known_diagnoses(words, likely), *_known_findings(words))
        for first, last, kind, denied in entities:
            start, end = sentence.start + first, sentence.start + last
            if (
                not scope.is_gap(start)
                and not any(taken[start:end])
                and not (
                    # Initials may be the beginning or the end of a grade or of a fusion of genes
                    is_cased(report.text[start:end])
                    and (
                        _CODE_AFTER.match(report.text, end)
                        or report.text[max(0, start - 2) : start] == "::"
                    )
                )
                and _is_more(start, end, places)
            ):
                taken[start:end] = b"1" * (end - start)
                absent = denied or stance_at(report.text, start, end) is False
                yield Entity(
                    text=report.text[start:end],
                    start=start,
                    end=end,
                    type=kind,
                    assertion=Assertion.ABSENT if absent else Assertion.PRESENT,
                    score=0.5,
                )


def _is_more(start: int, end: int, places: Iterable[Entity]) -> bool:
    """True if a stretch goes beyond each place that it meets, and cuts none."""
    return all(
        start <= span.start and span.end <= end and end - start > span.end - span.start
        for span in places
        if span.start < end and start < span.end
    )


def _known_diagnoses(
    sentence: str, likely: frozenset[str]
) -> Iterator[tuple[int, int, EntityType, bool]]:
    for match in find_diagnoses(sentence, likely):
        concept = concepts()[match.id]
        if not concept.generic and concept.behaviour != Behaviour.NORMAL:
            yield match.start, match.end, EntityType.DIAGNOSIS, False


def _known_findings(sentence: str) -> Iterator[tuple[int, int, EntityType, bool]]:
    """Findings by their abbreviations only: words are the reader's business."""
    for finding in find_findings(sentence):
        if is_cased(sentence[finding.start : finding.end]):
            yield finding.start, finding.end, EntityType.FINDING, finding.denied


def retyped(entity: Entity, linked: Iterable[Entity], text: str) -> Entity:
    """An entity with the type of its words, where the reader gave it another.

    An abbreviation that no marker has is the diagnosis or finding of that name, and its result, or
    the words before it, say whether it is there.
    """
    kind = _kind(entity)
    if kind == entity.type:
        return entity
    assertion = entity.assertion
    if entity.type == EntityType.MARKER:
        results = [
            read_result(neighbour.text)
            for neighbour in linked
            if neighbour.type == EntityType.RESULT
        ]
        absent = any(result is not None and result.polarity == "negative" for result in results)
        if absent or has_wording("denial", before(text, entity.start)):
            assertion = Assertion.ABSENT
    return entity.model_copy(update={"type": kind, "assertion": assertion})


def is_stain(phrase: str) -> bool:
    """True if a phrase names a stain or a test, and not what it looks for."""
    return bool(_STAIN.search(phrase))


def _names_no_site(phrase: str) -> bool:
    """True if what was read as a site is as a whole the name of a disease: placenta increta."""
    whole = [m for m in find_diagnoses(phrase) if m.end - m.start == len(phrase)]
    placed = any(m.end - m.start == len(phrase) for m in find_sites(phrase))
    return bool(whole) and not placed and not concepts()[whole[0].id].generic


def _kind(entity: Entity) -> EntityType:
    """The type that the words of an entity have."""
    is_known = main_concept(entity.text) is not None
    match entity.type:
        # A procedure or a site may be a disease, by its initials or by its whole name
        case EntityType.PROCEDURE if is_known and is_cased(entity.text):
            return EntityType.DIAGNOSIS
        case EntityType.SITE if _names_no_site(entity.text):
            return EntityType.DIAGNOSIS
        case EntityType.MARKER if not find_markers(entity.text):
            if is_known and not _NUMBERED.search(entity.text) and not is_stain(entity.text):
                return EntityType.DIAGNOSIS
            return EntityType.FINDING if find_findings(entity.text) else entity.type
        case EntityType.STAGE if is_known and read_stage(entity.text) is None:
            return EntityType.DIAGNOSIS
        case EntityType.DIAGNOSIS | EntityType.FINDING if not is_known:
            return _kind_of_unknown(entity)
    return entity.type


def _kind_of_unknown(entity: Entity) -> EntityType:
    """The type of a diagnosis or finding that is no diagnosis of the catalogue."""
    observed = bool(find_findings(entity.text))
    # A class of some scheme: Krenn type II, Clark V
    has_eponym = _SCHEMES.pattern("eponyms").search(entity.text)
    is_rank = has_eponym or _BARE_RANK.fullmatch(entity.text.strip(" ,.;"))
    if is_rank and not (observed and entity.type == EntityType.FINDING):
        return EntityType.GRADE
    return EntityType.FINDING if observed else entity.type

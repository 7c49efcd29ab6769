"""Reads the specimens of a report: its facts, sorted by the sentences that they stand in."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts, FindingFact, facts_of
from histoeval.facts.lexical import ValueMention
from histoeval.facts.markers import markers_of
from histoeval.facts.scope import TextScope, scope_of
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.places import is_place_of_denial
from histoeval.pathgls.logic.sentences import (
    Passages,
    ReportMention,
    ReportSentence,
    Value,
    passages_of,
)
from histoeval.pathgls.logic.specimen import Specimen
from histoeval.pathgls.results import ReportSpan
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval.terms.assertion import stance_at
from histoeval.terms.values.marker_results import Result

_SHORT = 4
_LACKS = re.compile(r"\b(?:lacks?|lacking|loss of|lost)(?: expression of)?\s*$", re.IGNORECASE)
_NEGATIVE = Result(polarity="negative")
_MAX_ENTITIES = 2_000
"""More of what a report names is not read."""


def specimens_of(report: Report) -> tuple[tuple[Specimen, ...], Passages]:
    """The specimens of a report, and the sentences that they were read from."""
    passages = passages_of(report.text)
    short = _up_to(report, passages)
    facts = facts_of(short)
    parts = dict.fromkeys(passage.part for passage in passages.all)
    reading = _Reading(short, passages, facts, scope_of(short.text))
    found = [reading.of(part) for part in parts]
    return tuple(found), passages


def _up_to(report: Report, passages: Passages) -> Report:
    """The report as far as it is read."""
    end = passages.all[-1].end if passages.all else 0
    if not passages.cut and len(report.entities) <= _MAX_ENTITIES:
        return report
    kept = [e for e in report.entities if e.end <= end][:_MAX_ENTITIES]
    places = {id(entity): place for place, entity in enumerate(kept)}
    relations = [
        Relation(head=places[id(head)], tail=places[id(tail)])
        for head, tail in _linked(report)
        if id(head) in places and id(tail) in places
    ]
    return Report(text=report.text[:end], entities=tuple(kept), relations=tuple(relations))


def _linked(report: Report) -> Iterator[tuple[Entity, Entity]]:
    for relation in report.relations:
        yield report.entities[relation.head], report.entities[relation.tail]


@dataclass(frozen=True, slots=True)
class _Reading:
    report: Report
    passages: Passages
    facts: Facts
    scope: TextScope

    def of(self, part: str) -> Specimen:
        """What is stated of one specimen."""
        facts, here = self.facts, [p for p in self.passages.all if p.part == part]
        return Specimen(
            text=self.report.text,
            passages=tuple(here),
            diagnoses=tuple(self._diagnoses(part)),
            findings=tuple(self._findings(facts.findings, part)),
            markers=tuple(self._markers(here)),
            grades=tuple(self._sited(facts.grades, part)),
            sides=tuple(self._sited(facts.sides, part)),
            stages=tuple(self._sited(facts.stages, part)),
            measurements=tuple(self._sited(facts.measurements, part)),
            entities=tuple(self._sited([ValueMention(e, e) for e in self.report.entities], part)),
            relations=tuple(_linked(self.report)),
        )

    def _passage(self, entity: Entity, part: str) -> ReportSentence | None:
        passage = self.passages.at(entity.start)
        return passage if passage and passage.part == part and entity.end <= passage.end else None

    def _sited(
        self, values: Iterable[ValueMention[Value]], part: str
    ) -> Iterator[ReportMention[Value]]:
        for each in sorted(values, key=lambda value: value.entity.start):
            if (passage := self._passage(each.entity, part)) is not None:
                yield ReportMention(each.value, _span(each.entity), passage)

    def _diagnoses(self, part: str) -> Iterator[ReportMention[Diagnosis]]:
        named = {(d.entity.start, d.entity.end): d for d in (*self.facts.made, *self.facts.denied)}
        for _, each in sorted(named.items()):
            denied = each.entity.assertion == Assertion.ABSENT
            passage = self._passage(each.entity, part)
            if not passage or _is_shouted(each.entity, passage):
                continue
            if denied and is_place_of_denial(self.report.text[passage.start : each.entity.start]):
                continue
            if each.concept and self._is_plain(each.entity, denied):
                yield ReportMention(each, _span(each.entity), passage, denied)

    def _findings(
        self, findings: Sequence[FindingFact], part: str
    ) -> Iterator[ReportMention[FindingFact]]:
        for each in sorted(findings, key=lambda fact: fact.entity.start):
            passage = self._passage(each.entity, part)
            if passage and each.id and self._is_plain(each.entity, each.denied):
                yield ReportMention(each, _span(each.entity), passage, each.denied)

    def _is_plain(self, entity: Entity, denied: bool) -> bool:
        """Whether nothing around an entity contradicts how it is read."""
        if entity.assertion == Assertion.UNCERTAIN:
            return False
        of_markers = pattern("triple_negative").match(self.report.text[entity.end :].lstrip(" ,"))
        return bool(of_markers) or (
            stance_at(self.report.text, entity.start, entity.end) is not denied
        )

    def _markers(
        self, here: Sequence[ReportSentence]
    ) -> Iterator[ReportMention[tuple[str, Result]]]:
        """Markers with their results, sentence by sentence."""
        tails: dict[int, list[Entity]] = {}
        for head, tail in _linked(self.report):
            tails.setdefault(head.start, []).append(tail)
        stained = [e for e in self.report.entities if e.type == EntityType.MARKER]
        for passage in here:
            yield from self._triple_negative(passage)
            kept = tuple(e for e in stained if passage.start <= e.start < passage.end)
            if not kept:
                continue
            alone = self.report.model_copy(update={"entities": kept, "relations": ()})
            linked = {place: tails.get(entity.start, []) for place, entity in enumerate(kept)}
            for key, sited in markers_of(alone, linked, self.scope).items():
                before = self.report.text[passage.start : sited.entity.start]
                result = _NEGATIVE if _LACKS.search(before) else sited.value
                if result is not None and result.tested:
                    yield ReportMention((key, result), _span(sited.entity), passage)

    def _triple_negative(
        self, passage: ReportSentence
    ) -> Iterator[ReportMention[tuple[str, Result]]]:
        for found in pattern("triple_negative").finditer(passage.text):
            for key in sorted(listed("triple")):
                yield ReportMention((key, _NEGATIVE), passage.found(found).span, passage)


def _is_shouted(entity: Entity, passage: ReportSentence) -> bool:
    """Whether a short word only looks like an abbreviation: the ALL of a text in capitals."""
    capitals = sum(letter.isupper() for letter in passage.text)
    small = sum(letter.islower() for letter in passage.text)
    return len(entity.text) <= _SHORT and capitals > 2 * small


def _span(entity: Entity) -> ReportSpan:
    return ReportSpan(text=entity.text, start=entity.start, end=entity.end)

"""Statements of a report on one specimen, in terms that can be compared.

Facts are sorted by the sentences that they stand in. A finding is affirmed or denied only where the
reader and the words around it agree on that; uncertain ones are not here at all. What rules ask of
a specimen as a whole is worked out once.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts, FindingFact, facts_of
from histoeval.facts.lexical import ValueMention
from histoeval.facts.markers import markers_of
from histoeval.facts.scope import TextScope, scope_of
from histoeval.pathgls.logic.lexicon import listed, pattern
from histoeval.pathgls.logic.mentions import DiagnosisMention, diagnosis_mentions
from histoeval.pathgls.logic.places import is_place_of_denial
from histoeval.pathgls.logic.sentences import (
    Passages,
    ReportMention,
    ReportSentence,
    Value,
    passages_of,
)
from histoeval.pathgls.results import ReportSpan
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from histoeval.terms.assertion import stance_at
from histoeval.terms.catalogue import Behaviour, Concept, diagnosis_tree
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.marker_results import Result
from histoeval.terms.values.measurements import Measurement
from histoeval.terms.values.stages import Stage

_PROSE = frozenset({"", "other"})
_HEADED = frozenset({"diagnosis", "microscopic", "comment", "immunohistochemistry"})
_SHORT = 12  # up to this many sentences under the headings of one specimen are still read as prose
_LISTED = re.compile(r"[^\w(]|\d{1,9}[.):]{1,9}\s|\(?[a-z\d]\)", re.IGNORECASE)
# Lesions of one disease
_ONE_DISEASE = re.compile(r"\b(?:lymphoepithelial|skip) lesions\b", re.IGNORECASE)
_DEGREE = re.compile(r"\b(?:mild|moderate|severe|(?:low|high)[- ]grade)$", re.IGNORECASE)
_SHORT_WORD = 4
_LACKS = re.compile(r"\b(?:lacks?|lacking|loss of|lost)(?: expression of)?\s*$", re.IGNORECASE)
_NEGATIVE = Result(polarity="negative")
_MAX_ENTITIES = 2_000  # more of what a report names is not read


@dataclass(frozen=True)
class Specimen:
    """All that is plainly stated of one specimen, in the order of the text."""

    text: str
    passages: tuple[ReportSentence, ...]
    diagnoses: tuple[ReportMention[Diagnosis], ...]
    findings: tuple[ReportMention[FindingFact], ...]
    markers: tuple[ReportMention[tuple[str, Result]], ...]
    grades: tuple[ReportMention[Grade], ...]
    stages: tuple[ReportMention[Stage], ...]
    measurements: tuple[ReportMention[Measurement], ...]
    entities: tuple[ReportMention[Entity], ...]
    relations: tuple[tuple[Entity, Entity], ...]

    def has(self, *lists: str) -> bool:
        return any(passage.has(*lists) for passage in self.passages)

    def passage_at(self, place: int) -> ReportSentence | None:
        return next(
            (passage for passage in self.passages if passage.start <= place < passage.end), None
        )

    @cached_property
    def made(self) -> tuple[ReportMention[Diagnosis], ...]:
        return tuple(diagnosis for diagnosis in self.diagnoses if not diagnosis.denied)

    def made_outside(self, passage: ReportSentence) -> tuple[ReportMention[Diagnosis], ...]:
        return tuple(e for e in self.made if e.passage != passage and not e.value.hedged)

    @cached_property
    def is_prose(self) -> bool:
        """True if it is written in sentences, without lists; a short one may have headings."""
        kinds = _PROSE if len(self.passages) > _SHORT else _PROSE | _HEADED
        return all(
            passage.kind in kinds and not passage.part and not _LISTED.match(passage.text)
            for passage in self.passages
        )

    @cached_property
    def is_of_one_lesion(self) -> bool:
        """True if it is prose, and has no word for more than one lesion."""
        return self.is_prose and not any(
            pattern("several_lesions").search(_ONE_DISEASE.sub("", passage.text))
            for passage in self.passages
        )

    @cached_property
    def is_of_one_kind(self) -> bool:
        return self.is_of_one_lesion and not self.has("of_two_kinds")

    @cached_property
    def has_several_tumours(self) -> bool:
        return self.has("tumours")

    @cached_property
    def is_of_one_tumour(self) -> bool:
        """True if the malignancies that are diagnosed are one in more or fewer words."""
        tumours = {
            concept.id
            for diagnosis in self.made
            if (concept := own_concept(diagnosis.value))
            and concept.behaviour == Behaviour.MALIGNANT
            and not concept.generic
        }
        return all(diagnosis_tree().are_kin(a, b) for a, b in combinations(sorted(tumours), 2))

    @cached_property
    def organs(self) -> frozenset[str]:
        everywhere = listed("tissues")
        return frozenset(
            organ
            for entity in self.entities
            if entity.value.type in (EntityType.SITE, EntityType.PROCEDURE)
            for match in find_sites(entity.value.text)
            if (organ := organ_of(match.id)) not in everywhere
        )

    @cached_property
    def sites_sent(self) -> frozenset[str]:
        text = self.passages[0].text if self.passages else ""
        return frozenset(match.id for match in (*find_sites(text), *find_operated(text)))

    @cached_property
    def names(self) -> tuple[DiagnosisMention, ...]:
        return tuple(diagnosis_mentions(self.passages, self.sites_sent))

    def is_of_a_grade(self, diagnosis: ReportMention[Diagnosis]) -> bool:
        """True if only one grade of it is denied: no high grade dysplasia."""
        graded = {grade.span.end for grade in self.grades if grade.passage == diagnosis.passage}
        before = self.text[: diagnosis.span.start].rstrip()
        return len(before) in graded or bool(_DEGREE.search(before))


def own_concept(diagnosis: Diagnosis) -> Concept | None:
    return diagnosis.concept_without_context or diagnosis.concept


def behaviour_of(diagnosis: ReportMention[Diagnosis]) -> Behaviour:
    concept = own_concept(diagnosis.value)
    return concept.behaviour if concept else Behaviour.UNSPECIFIED


# --- reading --------------------------------------------------------------------------------------


def specimens_of(report: Report) -> tuple[tuple[Specimen, ...], Passages]:
    passages = passages_of(report.text)
    short = _up_to(report, passages)
    facts = facts_of(short)
    parts = dict.fromkeys(passage.part for passage in passages.all)
    reading = _Reading(short, passages, facts, scope_of(short.text))
    return tuple(map(reading.of, parts)), passages


def _up_to(report: Report, passages: Passages) -> Report:
    end = passages.all[-1].end if passages.all else 0
    if not passages.cut and len(report.entities) <= _MAX_ENTITIES:
        return report
    entities = [e for e in report.entities if e.end <= end][:_MAX_ENTITIES]
    positions = {id(entity): position for position, entity in enumerate(entities)}
    relations = [
        Relation(head=positions[id(head)], tail=positions[id(tail)])
        for head, tail in _linked(report)
        if id(head) in positions and id(tail) in positions
    ]
    return Report(text=report.text[:end], entities=tuple(entities), relations=tuple(relations))


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
        facts, passages = self.facts, [p for p in self.passages.all if p.part == part]
        return Specimen(
            text=self.report.text,
            passages=tuple(passages),
            diagnoses=tuple(self._diagnoses(part)),
            findings=tuple(self._findings(part)),
            markers=tuple(self._markers(passages)),
            grades=tuple(self._sited(facts.grades, part)),
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
        for mention in sorted(values, key=lambda value: value.entity.start):
            if (passage := self._passage(mention.entity, part)) is not None:
                yield ReportMention(mention.value, _span(mention.entity), passage)

    def _diagnoses(self, part: str) -> Iterator[ReportMention[Diagnosis]]:
        named = {(d.entity.start, d.entity.end): d for d in (*self.facts.made, *self.facts.denied)}
        for _, diagnosis in sorted(named.items()):
            denied = diagnosis.entity.assertion == Assertion.ABSENT
            passage = self._passage(diagnosis.entity, part)
            if not passage:
                continue
            # A short word only looks like an abbreviation: the ALL of a text in capitals.
            capitals, small = (sum(map(case, passage.text)) for case in (str.isupper, str.islower))
            if len(diagnosis.entity.text) <= _SHORT_WORD and capitals > 2 * small:
                continue
            if denied and is_place_of_denial(
                self.report.text[passage.start : diagnosis.entity.start]
            ):
                continue
            if diagnosis.concept and self._is_plain(diagnosis.entity, denied):
                yield ReportMention(diagnosis, _span(diagnosis.entity), passage, denied)

    def _findings(self, part: str) -> Iterator[ReportMention[FindingFact]]:
        for finding in sorted(self.facts.findings, key=lambda fact: fact.entity.start):
            passage = self._passage(finding.entity, part)
            if passage and finding.id and self._is_plain(finding.entity, finding.denied):
                yield ReportMention(finding, _span(finding.entity), passage, finding.denied)

    def _is_plain(self, entity: Entity, denied: bool) -> bool:
        """False where something around an entity contradicts how it is read."""
        if entity.assertion == Assertion.UNCERTAIN:
            return False
        text = self.report.text
        of_markers = pattern("triple_negative").match(text[entity.end :].lstrip(" ,"))
        return bool(of_markers) or stance_at(text, entity.start, entity.end) is not denied

    def _markers(
        self, passages: Sequence[ReportSentence]
    ) -> Iterator[ReportMention[tuple[str, Result]]]:
        tails: dict[int, list[Entity]] = {}
        for head, tail in _linked(self.report):
            tails.setdefault(head.start, []).append(tail)
        stained = [e for e in self.report.entities if e.type == EntityType.MARKER]
        for passage in passages:
            for match in pattern("triple_negative").finditer(passage.text):
                for key in sorted(listed("triple")):
                    yield ReportMention((key, _NEGATIVE), passage.found(match).span, passage)
            entities = tuple(e for e in stained if passage.start <= e.start < passage.end)
            if not entities:
                continue
            marker_report = self.report.model_copy(update={"entities": entities, "relations": ()})
            linked = {
                position: tails.get(entity.start, []) for position, entity in enumerate(entities)
            }
            for key, sited in markers_of(marker_report, linked, self.scope).items():
                before = self.report.text[passage.start : sited.entity.start]
                result = _NEGATIVE if _LACKS.search(before) else sited.value
                if result is not None and result.tested:
                    yield ReportMention((key, result), _span(sited.entity), passage)


def _span(entity: Entity) -> ReportSpan:
    return ReportSpan(text=entity.text, start=entity.start, end=entity.end)

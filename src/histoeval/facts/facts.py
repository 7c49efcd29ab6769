"""Facts of a report, in terms that can be compared with those of another."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from histoeval.facts.diagnoses import (
    Diagnosis,
    concluded_of,
    homes_of,
    implied,
    is_deposit,
    is_feature,
    is_label,
    is_made,
    named_diagnoses,
    others_beside,
    ranked,
)
from histoeval.facts.lexical import LexicalFacts, ValueMention, lexical_facts, recovered, retyped
from histoeval.facts.markers import markers_of
from histoeval.facts.names import widened
from histoeval.facts.scope import TextScope, concluding_text, has_wording, scope_of
from histoeval.facts.spread import origins
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.assertion import (
    begins_anew,
    denies,
    denies_as_value,
    is_denied,
    is_of_test,
)
from histoeval.terms.doubt import falls_short, is_one_of_two
from histoeval.terms.findings import FoundFinding, find_findings
from histoeval.terms.plain import plain
from histoeval.terms.sites import find_operated, find_sites, organ_of
from histoeval.terms.spelling import respelt
from histoeval.terms.values.grades import Grade, read_grade
from histoeval.terms.values.laterality import Side, side_of
from histoeval.terms.values.marker_results import Result
from histoeval.terms.values.measurements import Measurement, read_measurement
from histoeval.terms.values.stages import Stage, read_stage

Value = TypeVar("Value")

# Sites that are everywhere, and say nothing of the organ
_TISSUES = frozenset(
    {"blood_vessel", "lymph_node", "lymphatic_vessel", "soft_tissue", "nerve", "connective_tissue"}
)

# Words by which a structure inside of any specimen is meant as often as an organ
_BARE_TISSUE = re.compile(r"nerves?", re.IGNORECASE)

_GAP = 8  # spaces over which a finding and its place still stand together

# Findings that are only a word, and say something by the place that they are of
BARE = frozenset({"invasion", "extension", "involvement", "penetration", "infiltration"})


_GROWTH = re.compile(
    r"(?:invad|infiltrat|extend|involv|penetrat)(?:e|es|ed|ing)|"
    r"invasion|extension|involvement|infiltration|penetration",
    re.IGNORECASE,
)
_TO_PLACE = re.compile(
    r"[ ]+(?:(?:of|into|through|to|beyond|in|by|the|adjacent|surrounding)[ ]+){0,3}"
)

_QUALITY = re.compile(
    r"intact|preserved|effaced|disrupted|distorted|maturation|proliferative|normal|unremarkable|"
    r"fragmented|lost|destroyed",
    re.IGNORECASE,
)

_SENTENCES = re.compile(r"[.;]\s")
_STATEMENT_END = re.compile(r"[.;]\s|\n")

_CONCLUSION = 3  # how many mentions a site counts for that stands with the diagnosis


@dataclass(frozen=True, slots=True)
class FindingFact:
    """A finding that a report affirms or denies."""

    entity: Entity
    id: str | None
    denied: bool
    place: str | None = None  # where it is, for what is only a word such as invasion
    called: str = ""  # its words with that place, where they do not have it: renal vein invasion

    @property
    def known(self) -> bool:
        """True if the catalogue has it."""
        return self.id is not None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that can be compared of one report."""

    diagnoses: tuple[Diagnosis, ...]  # what it concludes, each concept once
    others: tuple[Diagnosis, ...]  # what else it says is there, outside of its conclusion
    made: tuple[Diagnosis, ...]  # all that it says is there, or may be, wherever it says so
    denied: tuple[Diagnosis, ...]
    nothing_found: bool  # it makes no diagnosis, and says that there is nothing
    organs: Mapping[str, int]  # sites that it names, with the number of mentions
    homes: frozenset[str]  # where its leading diagnoses arise, if that tells the organ
    sites: tuple[ValueMention[str], ...]
    sides: tuple[ValueMention[Side], ...]
    # Those of the sites that the leading diagnoses are linked to
    leading_sides: tuple[ValueMention[Side], ...]
    grades: tuple[ValueMention[Grade], ...]
    stages: tuple[ValueMention[Stage], ...]
    markers: Mapping[str, ValueMention[Result | None]]
    findings: tuple[FindingFact, ...]
    # Findings again, with those that the report takes for a diagnosis
    mentioned: tuple[FindingFact, ...]
    measurements: tuple[ValueMention[Measurement], ...]
    origins: tuple[ValueMention[str], ...]  # organs from which it says that a tumour came
    stated: LexicalFacts  # what its words say by themselves, however it was read
    report: Report  # the reading that all this is from

    @property
    def leading(self) -> tuple[Diagnosis, ...]:
        """The diagnoses that matter most, and those that come next to them."""
        return ranked(self.diagnoses, 1.0)

    @property
    def first(self) -> tuple[Diagnosis, ...]:
        return ranked(self.diagnoses, 0.1)


def facts_of(report: Report) -> Facts:
    """Read a report's entities in terms of what they mean."""
    scope = scope_of(report.text)
    tails: dict[int, list[Entity]] = {}
    for relation in report.relations:
        tails.setdefault(relation.head, []).append(report.entities[relation.tail])
    organs = _organs(report.text, scope)
    most = max(organs.values(), default=0)
    likely = frozenset(site for site, count in organs.items() if count == most)
    read = [
        retyped(entity, tails.get(index, ()), report.text)
        for index, entity in enumerate(report.entities)
    ]
    typed = [widened(entity, read, report.text, likely) for entity in read]
    entities = [
        entity
        for entity, original in zip(typed, report.entities, strict=True)
        if not scope.is_gap(original.start)
    ]
    entities = [*entities, *recovered(report, likely, scope)]
    entities = [reconsidered(entity, report.text) for entity in entities]
    details = {typed[head].start: linked for head, linked in tails.items()}
    diagnoses_named = list(named_diagnoses(entities, likely, details, scope, report.text))
    made = [diagnosis for diagnosis in diagnoses_named if is_made(diagnosis, report.text)]
    made = [diagnosis for diagnosis in made if not is_label(diagnosis, made)]
    if not diagnoses_named:
        made = list(implied(report.text))
    nothing = has_wording("nothing_found", concluding_text(report.text, scope))
    concluded = concluded_of(made, scope, nothing)
    signs = [diagnosis for diagnosis in made if is_feature(diagnosis, concluded)]
    concluded = tuple(d for d in concluded if not is_deposit(d, concluded) and d not in signs)
    deposits = [d.entity for d in diagnoses_named if is_deposit(d, concluded)]
    return Facts(
        diagnoses=concluded,
        others=tuple(others_beside([e for e in made if e not in signs], concluded)),
        made=tuple(made),
        denied=tuple(d for d in diagnoses_named if d.entity.assertion == Assertion.ABSENT),
        nothing_found=nothing and not concluded,
        organs=organs,
        homes=homes_of(ranked(concluded, 1.0)),
        sites=tuple(_sites(entities)),
        sides=tuple(_valued(_of(entities, EntityType.SITE, EntityType.PROCEDURE), _side)),
        leading_sides=tuple(_valued(_linked_sites(ranked(concluded, 0.1), details), side_of)),
        grades=(
            *_valued(_of(entities, EntityType.GRADE), read_grade),
            *_grades_in_names(concluded),
        ),
        stages=tuple(_valued(_of(entities, EntityType.STAGE), read_stage)),
        markers=markers_of(report, tails, scope),
        findings=(
            *_observed(_of(entities, EntityType.FINDING), report, details),
            *_observed(deposits, report, details),
            *_observed(_of((d.entity for d in signs), EntityType.DIAGNOSIS), report, details),
        ),
        mentioned=tuple(
            _observed(_of(entities, EntityType.FINDING, EntityType.DIAGNOSIS), report, details)
        ),
        measurements=tuple(_valued(_of(entities, EntityType.MEASUREMENT), read_measurement)),
        origins=tuple(ValueMention(entity, organ) for entity, organ in origins(report.text)),
        stated=lexical_facts(report.text),
        report=report,
    )


def _linked_sites(
    diagnoses: Iterable[Diagnosis], details: Mapping[int, Sequence[Entity]]
) -> list[Entity]:
    """The sites that are linked to diagnoses."""
    return [
        site
        for diagnosis in diagnoses
        for site in details.get(diagnosis.entity.start, ())
        if site.type == EntityType.SITE
    ]


def _of(entities: Iterable[Entity], *types: EntityType) -> list[Entity]:
    return [entity for entity in entities if entity.type in types]


def _valued(
    entities: Iterable[Entity], read: Callable[[str], Value | None]
) -> Iterator[ValueMention[Value]]:
    for entity in entities:
        if (value := read(respelt(entity.text))) is not None:
            yield ValueMention(entity, value)


def _side(phrase: str) -> Side | None:
    """The side that a phrase names; of two sentences, the one that names the site counts."""
    parts = _SENTENCES.split(phrase)
    if len(parts) > 1:
        phrase = " ".join(part for part in parts if find_sites(part))
    return side_of(phrase)


def _organs(text: str, scope: TextScope) -> dict[str, int]:
    """The sites that are named anywhere; those of the conclusion count more."""
    organs: Counter[str] = Counter()
    for match in (*find_sites(text), *find_operated(text)):
        if _BARE_TISSUE.fullmatch(text, match.start, match.end):
            continue
        if not scope.is_gap(match.start) and organ_of(match.id) not in _TISSUES:
            organs[match.id] += _CONCLUSION if scope.concludes(match.start) else 1
    return dict(organs)


def _grades_in_names(diagnoses: Iterable[Diagnosis]) -> Iterator[ValueMention[Grade]]:
    for diagnosis in diagnoses:
        if diagnosis.concept and (grade := read_grade(diagnosis.concept.name)) is not None:
            yield ValueMention(diagnosis.entity, grade)


def _sites(entities: Iterable[Entity]) -> Iterator[ValueMention[str]]:
    for entity in _of(entities, EntityType.SITE):
        for match in find_sites(respelt(entity.text)):
            yield ValueMention(entity, match.id)


def _observed(
    entities: Iterable[Entity], report: Report, details: Mapping[int, Sequence[Entity]]
) -> Iterator[FindingFact]:
    """Findings by what they mean; one whose meaning is not known stands for itself."""
    places = {e.end: e.start for e in report.entities if e.type == EntityType.SITE}
    for entity in entities:
        absent = entity.assertion == Assertion.ABSENT
        if _QUALITY.fullmatch(entity.text):
            continue
        called = _with_place(entity, places, report.text)
        observed = [
            finding
            for finding in find_findings(respelt(called))
            if not _is_quality(finding, called)
        ]
        if not observed:
            yield FindingFact(entity, None, absent)
        linked = [
            e.text
            for e in details.get(entity.start, ())
            if e.type == EntityType.SITE
            and not _STATEMENT_END.search(
                report.text, min(e.end, entity.end), max(e.start, entity.start)
            )
        ]
        if called == entity.text:
            called = f"{called} ({linked[0]})" if linked and plain(called) in BARE else ""
        for finding in observed:
            place = plain(linked[0]) if linked and finding.id in BARE else None
            yield FindingFact(entity, finding.id, absent or finding.denied, place, called)


def _is_quality(finding: FoundFinding, phrase: str) -> bool:
    """True if only a word was recognised that is said of anything: intact, effaced, disrupted."""
    return _QUALITY.fullmatch(respelt(phrase)[finding.start : finding.end]) is not None


def _with_place(entity: Entity, places: Mapping[int, int], text: str) -> str:
    """The words of a finding, with the place that stands right before it: pleural invasion.

    A word for growth has its place after it: invading the lamina propria.
    """
    before = text[max(0, entity.start - _GAP) : entity.start]
    start = places.get(entity.start - len(before) + len(before.rstrip()))
    if not _GROWTH.fullmatch(entity.text):
        return entity.text if start is None else text[start : entity.end]
    reached = _TO_PLACE.match(text, entity.end)
    ends = {first: last for last, first in places.items()}
    if reached and (end := ends.get(reached.end())) is not None:
        phrase = text[entity.start : end]
        if any(finding.id not in BARE for finding in find_findings(respelt(phrase))):
            return phrase
    return entity.text if start is None else text[start : entity.end]


_FIELD_BEGINS = re.compile(r"(?:\A|\n)[ \t]*(?:[-*\u2022][ \t]*)?[\w ,/-]{0,30}\Z")
# What stands around a heading of one line, and the value after its colon
_FIELD = re.compile(r"[\w ,/-]{0,30}(?:\([^()\n]{1,40}\))?[ \t]*:[ \t]+(?P<value>[^\n]*\S)")
_AFFIRMED_VALUE = re.compile(
    r"(?:yes|present|positive|identified|seen|\+|\d+[ ]?%|\d[\d./]*[ ]?(?:/|per|mm|cm)|mild|"
    r"moderate|severe|marked|extensive|numerous|sparse|focal|patchy|diffuse|few|scattered|occasional|rare|"
    r"many|non-?brisk|brisk|normal|unremarkable|intact|preserved|low|high|grade|type|stage)\b",
    re.IGNORECASE,
)
# What is denied by a distance or a count as well: its value tells only with words
_JUDGED = re.compile(r"margin|edge|clearance|node|resection|\bends?\b", re.IGNORECASE)


def reconsidered(entity: Entity, text: str) -> Entity:
    """Correct what was read as denied or made, where the words around it say something else."""
    assertion: Assertion | None = None
    if entity.type in (EntityType.DIAGNOSIS, EntityType.FINDING):
        assertion = _as_field(entity, text)
    if assertion is None and entity.type == EntityType.DIAGNOSIS:
        assertion = _reconsidered(entity, text)
    return entity if assertion is None else entity.model_copy(update={"assertion": assertion})


def _as_field(entity: Entity, text: str) -> Assertion | None:
    """Assertion of a heading by the value of its line, if an entity is one."""
    field = _FIELD.match(text, entity.end)
    if field is None or not _FIELD_BEGINS.search(text[max(0, entity.start - 60) : entity.start]):
        return None
    value = field["value"]
    if denies_as_value(value):
        return Assertion.ABSENT
    if _JUDGED.search(entity.text) or entity.assertion != Assertion.ABSENT:
        return None
    affirmed = _AFFIRMED_VALUE.match(value) and not denies(value)
    return Assertion.PRESENT if affirmed else None


def _reconsidered(entity: Entity, text: str) -> Assertion | None:
    if entity.assertion == Assertion.PRESENT:
        if is_denied(text, entity.start, entity.end):
            return Assertion.ABSENT
        return Assertion.UNCERTAIN if is_one_of_two(text, entity.start, entity.end) else None
    if entity.assertion != Assertion.ABSENT:
        return None
    if is_of_test(text, entity.start):
        return Assertion.PRESENT
    if falls_short(text, entity.start):
        return Assertion.UNCERTAIN
    return Assertion.PRESENT if begins_anew(text, entity.start, entity.end) else None

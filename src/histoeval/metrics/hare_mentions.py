"""What HARE compares in graded mode: what a report mentions, as far as the catalogues know it."""

from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from histoeval.facts.scope import scope_of
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.resources import load_toml
from histoeval.terms.catalogue import Concept, closeness
from histoeval.terms.findings import finding_closeness, finding_of, findings
from histoeval.terms.naming import main_concept
from histoeval.terms.sites import find_sites, site_closeness
from histoeval.terms.values import grades, marker_results, measurements, stages
from histoeval.terms.values.laterality import Side, side_of
from histoeval.terms.values.markers import find_markers

SETTINGS = "metrics/data/hare.toml"

_MOST_SITES = 3
"""With more sites than these, none says what a diagnosis of the report is called."""

_USUAL_IMPORTANCE = 2

Link = tuple[int, int]


def settings() -> dict[str, dict[str, float]]:
    """The weights and factors of graded mode."""
    return load_toml(SETTINGS)


@dataclass(frozen=True, slots=True)
class WeightedMention:
    """An entity with its weight, and what its words mean by the catalogue of its type, if known."""

    entity: Entity
    weight: float
    meaning: Any
    denied: bool
    side: Side | None

    @property
    def type(self) -> EntityType:
        """What kind of thing it is."""
        return self.entity.type

    @property
    def plain(self) -> str:
        """Its words, whatever their case and spacing."""
        return " ".join(self.entity.text.casefold().split())


@dataclass(frozen=True, slots=True)
class ReportMentions:
    """All that a report mentions, each thing once, and which two belong together."""

    items: tuple[WeightedMention, ...]
    links: tuple[Link, ...]

    def linked(self) -> list[tuple[WeightedMention, WeightedMention]]:
        """Both ends of every relation."""
        return [(self.items[head], self.items[tail]) for head, tail in self.links]


@dataclass(frozen=True, slots=True)
class _FindingMeaning:
    id: str
    denied: bool


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """How a phrase of one type is understood, and how alike two meanings are, from 0 to 1."""

    read: Callable[[str], Any]
    closeness: Callable[[Any, Any], float | None]


def mentions_of(report: Report, counting: Set[int]) -> ReportMentions:
    """These entities of a report and their relations; what is said twice counts once."""
    organs = _organs(report)
    scope = scope_of(report.text)
    concluded = {i for i in counting if scope.concludes(report.entities[i].start)}
    items: list[WeightedMention] = []
    place: dict[int, int] = {}
    known: dict[Any, int] = {}
    for i in sorted(counting):
        elsewhere = bool(concluded) and i not in concluded
        mention = _mention(report.entities[i], organs, elsewhere)
        at = known.setdefault(_key(mention), len(items))
        if at == len(items):
            items.append(mention)
        elif mention.weight > items[at].weight:
            items[at] = mention
        place[i] = at
    links = {
        (place[relation.head], place[relation.tail]): None
        for relation in report.relations
        if relation.head in place and relation.tail in place
    }
    return ReportMentions(tuple(items), tuple(links))


def agreement(one: WeightedMention, other: WeightedMention) -> float | None:
    """How alike two things of one type are by their catalogue; nothing where it knows not both."""
    if one.type != other.type or not one.meaning or not other.meaning:
        return None
    return _catalogues()[one.type].closeness(one.meaning, other.meaning)


def _mention(entity: Entity, organs: frozenset[str], elsewhere: bool) -> WeightedMention:
    given, factors = settings()["weights"], settings()["factors"]
    meaning = _meaning(entity, organs)
    finding = meaning if isinstance(meaning, _FindingMeaning) else None
    denied = entity.assertion == Assertion.ABSENT or bool(finding and finding.denied)
    weight = given[entity.type]
    if finding and entity.type == EntityType.FINDING:
        weight *= findings()[finding.id].importance / _USUAL_IMPORTANCE
    weight *= factors["denied"] if denied else 1.0
    weight *= factors["elsewhere"] if elsewhere else 1.0
    return WeightedMention(entity, weight, meaning, denied, side_of(entity.text))


def _meaning(entity: Entity, organs: frozenset[str]) -> Any:
    if entity.type == EntityType.DIAGNOSIS:
        return main_concept(entity.text, organs)
    catalogue = _catalogues().get(entity.type)
    return catalogue.read(entity.text) if catalogue else None


def _organs(report: Report) -> frozenset[str]:
    """The sites that a report is of, as far as they say what its diagnosis is called."""
    named = (
        match.id
        for entity in report.entities
        if entity.type in (EntityType.SITE, EntityType.PROCEDURE)
        and entity.assertion != Assertion.ABSENT
        for match in find_sites(entity.text)
    )
    organs = frozenset(named)
    return organs if len(organs) <= _MOST_SITES else frozenset()


def _key(mention: WeightedMention) -> Any:
    """What two mentions of one thing share. Results and sizes are of what they stand beside."""
    by_words = mention.type in _VALUES or not mention.meaning
    what = mention.plain if by_words else mention.meaning
    alone = mention.entity.start if mention.type in CONTEXTUAL else None
    return mention.type, mention.entity.assertion, mention.side, what, alone


CONTEXTUAL = frozenset({EntityType.RESULT, EntityType.MEASUREMENT})
"""What means nothing without the thing that it belongs to."""

_VALUES = frozenset({*CONTEXTUAL, EntityType.GRADE, EntityType.STAGE})


@cache
def _catalogues() -> dict[EntityType, _Catalogue]:
    named = _Catalogue(_finding, _finding_closeness)
    return {
        EntityType.DIAGNOSIS: _Catalogue(main_concept, _diagnosis_closeness),
        EntityType.SITE: _Catalogue(_sites, _nearest_sites),
        EntityType.FINDING: named,
        EntityType.DESCRIPTOR: named,
        EntityType.MARKER: _Catalogue(_markers, _shared_markers),
        EntityType.GRADE: _Catalogue(grades.read_grade, grades.agreement),
        EntityType.RESULT: _Catalogue(marker_results.read_result, marker_results.agreement),
        EntityType.STAGE: _Catalogue(stages.read_stage, stages.agreement),
        EntityType.MEASUREMENT: _Catalogue(measurements.read_measurement, measurements.agreement),
    }


def _diagnosis_closeness(one: Concept, other: Concept) -> float:
    return closeness(one, other)


def _sites(phrase: str) -> frozenset[str]:
    return frozenset(match.id for match in find_sites(phrase))


def _nearest_sites(ones: Set[str], others: Set[str]) -> float:
    return max(site_closeness(one, other) for one in ones for other in others)


def _finding(phrase: str) -> _FindingMeaning | None:
    found = finding_of(phrase)
    return _FindingMeaning(found.id, found.denied) if found else None


def _finding_closeness(one: _FindingMeaning, other: _FindingMeaning) -> float:
    return finding_closeness(one.id, other.id)


def _markers(phrase: str) -> frozenset[str]:
    return frozenset(find_markers(phrase))


def _shared_markers(ones: Set[str], others: Set[str]) -> float:
    return len(ones & others) / min(len(ones), len(others))

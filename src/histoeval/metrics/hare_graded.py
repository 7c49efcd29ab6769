"""HARE in graded mode: how far two reports agree on what they mention, and where they contradict.

Every entity finds the one most like it in the other report, by the catalogues where they know both
and by the aligner elsewhere: 1 for the same thing under any name, less for its kind, little for a
sibling, nothing for what is denied there. Relations are compared alike, end by end. Precision and
recall are weighted means of these over entities and relations together.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.facts.scope import scope_of
from histoeval.metrics.hare_f1 import PrecisionRecall, harmonic_mean, rounded_cosines
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.resources import load_toml
from histoeval.terms.catalogue import closeness
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
    if entity.type == EntityType.DIAGNOSIS:
        meaning: Any = main_concept(entity.text, organs)
    else:
        catalogue = _catalogues().get(entity.type)
        meaning = catalogue.read(entity.text) if catalogue else None
    finding = meaning if isinstance(meaning, _FindingMeaning) else None
    denied = entity.assertion == Assertion.ABSENT or bool(finding and finding.denied)
    weight = given[entity.type]
    if finding and entity.type == EntityType.FINDING:
        weight *= findings()[finding.id].importance / _USUAL_IMPORTANCE
    weight *= factors["denied"] if denied else 1.0
    weight *= factors["elsewhere"] if elsewhere else 1.0
    return WeightedMention(entity, weight, meaning, denied, side_of(entity.text))


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
        EntityType.DIAGNOSIS: _Catalogue(main_concept, closeness),
        EntityType.SITE: _Catalogue(_sites, _nearest_sites),
        EntityType.FINDING: named,
        EntityType.DESCRIPTOR: named,
        EntityType.MARKER: _Catalogue(_markers, _shared_markers),
        EntityType.GRADE: _Catalogue(grades.read_grade, grades.agreement),
        EntityType.RESULT: _Catalogue(marker_results.read_result, marker_results.agreement),
        EntityType.STAGE: _Catalogue(stages.read_stage, stages.agreement),
        EntityType.MEASUREMENT: _Catalogue(measurements.read_measurement, measurements.agreement),
    }


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


Matrix = NDArray[np.float64]

_FREE_TYPES = frozenset(
    {EntityType.RESULT, EntityType.MEASUREMENT, EntityType.GRADE, EntityType.STAGE}
)
"""Of these a thing has one: another one contradicts it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One entity or relation: its weight, how far the other report agrees, and with what."""

    weight: float
    value: float
    nearest: int | None
    contradicted: bool

    @property
    def agreed(self) -> bool:
        """Whether the other report says the same, more or less."""
        return not _differs(self.value)


@dataclass(frozen=True, slots=True)
class JudgedReport:
    """One report judged by the other."""

    entities: tuple[Judged, ...]
    links: tuple[Judged, ...]

    def share(self, *kinds: Sequence[Judged]) -> float | None:
        """The weighted mean of how far the other agrees; nothing where there is nothing."""
        judged = [each for kind in kinds or (self.entities, self.links) for each in kind]
        total = sum(each.weight for each in judged)
        return sum(each.weight * each.value for each in judged) / total if total else None


@dataclass(frozen=True, slots=True)
class GradedComparison:
    """Two reports, each judged by the other."""

    reference: JudgedReport
    candidate: JudgedReport

    @property
    def whole(self) -> PrecisionRecall:
        """Over entities and relations together."""
        return _f1(self.candidate.share(), self.reference.share())

    @property
    def entities(self) -> PrecisionRecall:
        """Over entities alone."""
        reference, candidate = self.reference, self.candidate
        return _f1(candidate.share(candidate.entities), reference.share(reference.entities))

    @property
    def relations(self) -> PrecisionRecall | None:
        """Over relations alone; nothing where neither report has any."""
        reference, candidate = self.reference, self.candidate
        if not reference.links and not candidate.links:
            return None
        return _f1(candidate.share(candidate.links), reference.share(reference.links))


def _f1(precision: float | None, recall: float | None) -> PrecisionRecall:
    """F1; nothing to compare on both sides is full agreement, on one side none."""
    if precision is None and recall is None:
        return PrecisionRecall(1.0, 1.0, 1.0)
    precision, recall = precision or 0.0, recall or 0.0
    return PrecisionRecall(precision, recall, harmonic_mean(precision, recall))


def compare(
    reference: ReportMentions, candidate: ReportMentions, reference_rows: Any, candidate_rows: Any
) -> GradedComparison:
    """Judge two reports by each other; the rows are the vectors of their mentions."""
    cosines = rounded_cosines(reference_rows, candidate_rows)
    named = np.zeros(cosines.shape)
    agreed = np.zeros(cosines.shape)
    for i, one in enumerate(reference.items):
        for j, other in enumerate(candidate.items):
            named[i, j] = likeness(one, other, float(cosines[i, j]))
            agreed[i, j] = named[i, j] * _stance(one, other) if named[i, j] else 0.0
    return GradedComparison(
        _judged(reference, candidate, named, agreed),
        _judged(candidate, reference, named.T, agreed.T),
    )


def likeness(one: WeightedMention, other: WeightedMention, cosine: float) -> float:
    """How alike two things are that are named, from 0 to 1, whatever is said of them."""
    if one.plain == other.plain:
        return 1.0
    given = settings()["similarity"]
    strange, alike = given["strange"], given["alike"]
    by_vector = min(1.0, max(0.0, (cosine - strange) / (alike - strange)))
    known = agreement(one, other)
    if known is None:
        return by_vector
    if one.type in (EntityType.FINDING, EntityType.DESCRIPTOR):
        return max(known, settings()["factors"]["other_finding"] * by_vector)
    return known


def _stance(one: WeightedMention, other: WeightedMention) -> float:
    """What is left of a likeness where one is denied or in doubt, or on the other side."""
    if one.denied != other.denied or (one.side and other.side and one.side != other.side):
        return 0.0
    doubted = (one.entity.assertion == Assertion.UNCERTAIN) != (
        other.entity.assertion == Assertion.UNCERTAIN
    )
    return settings()["factors"]["doubt"] if doubted else 1.0


def _judged(
    own: ReportMentions, other: ReportMentions, named: Matrix, agreed: Matrix
) -> JudgedReport:
    linked = {tail for _, tail in own.links}
    entities = []
    for i, mention in enumerate(own.items):
        counts = not (mention.type in CONTEXTUAL and i in linked)
        value = float(agreed[i].max(initial=0.0))
        contradicted = _differs(value) and bool(named[i].max(initial=0.0) >= _same())
        entities.append(
            Judged(
                _weight(mention.weight, contradicted) if counts else 0.0,
                value,
                int(agreed[i].argmax()) if value else None,
                contradicted,
            )
        )
    links = tuple(_judged_links(own, other, named, agreed))
    return JudgedReport(tuple(entities), links)


def _judged_links(
    own: ReportMentions, other: ReportMentions, named: Matrix, agreed: Matrix
) -> Iterator[Judged]:
    factor = settings()["factors"]["relation"]
    for head, tail in own.links:
        second = own.items[tail]
        rivals = [
            (agreed[head, h] * agreed[tail, t], k, bool(named[head, h] >= _same()))
            for k, (h, t) in enumerate(other.links)
            if other.items[t].type == second.type
        ]
        value, nearest, _ = max(rivals, key=lambda rival: rival[0], default=(0.0, None, False))
        rivalled = any(same for _, _, same in rivals)
        contradicted = _differs(value) and rivalled and second.type in _FREE_TYPES
        weight = second.weight * (1.0 if second.type in CONTEXTUAL else factor)
        yield Judged(_weight(weight, contradicted), float(value), nearest, contradicted)


def _same() -> float:
    return settings()["similarity"]["same"]


def _differs(value: float) -> bool:
    return value < settings()["similarity"]["agreed"]


def _weight(weight: float, contradicted: bool) -> float:
    return weight * settings()["factors"]["contradiction"] if contradicted else weight

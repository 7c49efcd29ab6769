"""HARE in graded mode: how far two reports agree on what they mention, and where they contradict.

Every entity finds the one most like it in the other report, by the catalogues where they know both
and by the aligner elsewhere: 1 for the same thing under any name, less for its kind, little for a
sibling, nothing for what is denied there. Relations are compared alike, end by end. Precision and
recall are weighted means of these over entities and relations together.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.facts.scope import scope_of
from histoeval.metrics.hare_f1 import FULL, PrecisionRecall, harmonic_mean, rounded_cosines
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
_MOST_SITES = 3  # with more sites than these, none says what a diagnosis of the report is called
_USUAL_IMPORTANCE = 2

# means nothing without the thing that it belongs to
CONTEXTUAL = frozenset({EntityType.RESULT, EntityType.MEASUREMENT})
_VALUES = frozenset({*CONTEXTUAL, EntityType.GRADE, EntityType.STAGE})  # another one contradicts

Link = tuple[int, int]
Matrix = NDArray[np.float64]


def settings() -> dict[str, dict[str, float]]:
    return load_toml(SETTINGS)


@dataclass(frozen=True, slots=True)
class WeightedMention:
    """An entity with its weight and its meaning by the catalogue of its type, if it has one."""

    entity: Entity
    weight: float
    meaning: Any
    denied: bool
    side: Side | None

    @property
    def type(self) -> EntityType:
        return self.entity.type

    @property
    def plain(self) -> str:
        return " ".join(self.entity.text.casefold().split())

    @property
    def key(self) -> Any:
        """A key that mentions of one thing share; of a result or size its position is part."""
        is_by_words = self.type in _VALUES or not self.meaning
        start = self.entity.start if self.type in CONTEXTUAL else None
        meaning = self.plain if is_by_words else self.meaning
        return self.type, self.entity.assertion, self.side, meaning, start


class ReportMentions(NamedTuple):
    """The distinct mentions of a report, and the pairs of them that are related."""

    items: tuple[WeightedMention, ...]
    links: tuple[Link, ...]


class _FindingMeaning(NamedTuple):
    id: str
    denied: bool


def mentions_of(report: Report, counting: Set[int]) -> ReportMentions:
    """Return these entities of a report and their relations; repetitions count once."""
    organs = _organs(report)
    scope = scope_of(report.text)
    concluded = {index for index in counting if scope.concludes(report.entities[index].start)}
    items: list[WeightedMention] = []
    item_of: dict[int, int] = {}
    positions: dict[Any, int] = {}
    for index in sorted(counting):
        is_elsewhere = bool(concluded) and index not in concluded
        mention = _mention(report.entities[index], organs, is_elsewhere)
        item = positions.setdefault(mention.key, len(items))
        if item == len(items):
            items.append(mention)
        elif mention.weight > items[item].weight:
            items[item] = mention
        item_of[index] = item
    links = dict.fromkeys(
        (item_of[relation.head], item_of[relation.tail])
        for relation in report.relations
        if relation.head in item_of and relation.tail in item_of
    )
    return ReportMentions(tuple(items), tuple(links))


def _mention(entity: Entity, organs: frozenset[str], is_elsewhere: bool) -> WeightedMention:
    weights, factors = settings()["weights"], settings()["factors"]
    if entity.type == EntityType.DIAGNOSIS:
        meaning: Any = main_concept(entity.text, organs)
    else:
        read_meaning, _ = _catalogues().get(entity.type, (None, None))
        meaning = read_meaning(entity.text) if read_meaning else None
    finding = meaning if isinstance(meaning, _FindingMeaning) else None
    is_denied = entity.assertion == Assertion.ABSENT or bool(finding and finding.denied)
    weight = weights[entity.type]
    if finding and entity.type == EntityType.FINDING:
        weight *= findings()[finding.id].importance / _USUAL_IMPORTANCE
    weight *= factors["denied"] if is_denied else 1.0
    weight *= factors["elsewhere"] if is_elsewhere else 1.0
    return WeightedMention(entity, weight, meaning, is_denied, side_of(entity.text))


def _organs(report: Report) -> frozenset[str]:
    """Return the sites of a report, as long as they are few enough to name its diagnosis."""
    organs = frozenset(
        match.id
        for entity in report.entities
        if entity.type in (EntityType.SITE, EntityType.PROCEDURE)
        and entity.assertion != Assertion.ABSENT
        for match in find_sites(entity.text)
    )
    return organs if len(organs) <= _MOST_SITES else frozenset()


Reading = Callable[[str], Any]
Likeness = Callable[[Any, Any], float | None]


@cache
def _catalogues() -> dict[EntityType, tuple[Reading, Likeness]]:
    """The meaning of a phrase of each type, and the closeness of two meanings, from 0 to 1."""

    def finding(phrase: str) -> _FindingMeaning | None:
        match = finding_of(phrase)
        return _FindingMeaning(match.id, match.denied) if match else None

    def nearest_sites(sites: Set[str], opposites: Set[str]) -> float:
        return max(site_closeness(site, second) for site in sites for second in opposites)

    def shared_markers(markers: Set[str], opposites: Set[str]) -> float:
        return len(markers & opposites) / min(len(markers), len(opposites))

    of_findings = finding, lambda first, second: finding_closeness(first.id, second.id)
    return {
        EntityType.DIAGNOSIS: (main_concept, closeness),
        EntityType.SITE: (
            lambda phrase: frozenset(match.id for match in find_sites(phrase)),
            nearest_sites,
        ),
        EntityType.FINDING: of_findings,
        EntityType.DESCRIPTOR: of_findings,
        EntityType.MARKER: (lambda phrase: frozenset(find_markers(phrase)), shared_markers),
        EntityType.GRADE: (grades.read_grade, grades.agreement),
        EntityType.RESULT: (marker_results.read_result, marker_results.agreement),
        EntityType.STAGE: (stages.read_stage, stages.agreement),
        EntityType.MEASUREMENT: (measurements.read_measurement, measurements.agreement),
    }


class Judged(NamedTuple):
    """One entity or relation: weight, and agreement with its nearest in the other report."""

    weight: float
    value: float
    nearest: int | None
    contradicted: bool

    @property
    def agreed(self) -> bool:
        return not _differs(self.value)


class JudgedReport(NamedTuple):
    entities: tuple[Judged, ...]
    links: tuple[Judged, ...]


def weighted_agreement(reference: Sequence[Judged], candidate: Sequence[Judged]) -> PrecisionRecall:
    """Precision, recall and F1 by weight; nothing on both sides is full agreement, on one none."""
    totals = [sum(judgement.weight for judgement in side) for side in (candidate, reference)]
    if not any(totals):
        return FULL
    precision, recall = (
        sum(judgement.weight * judgement.value for judgement in side) / total if total else 0.0
        for side, total in zip((candidate, reference), totals, strict=True)
    )
    return PrecisionRecall(precision, recall, harmonic_mean(precision, recall))


def compare(
    reference: ReportMentions, candidate: ReportMentions, reference_rows: Any, candidate_rows: Any
) -> tuple[JudgedReport, JudgedReport]:
    """Judge two reports by each other; the rows are the vectors of their mentions."""
    cosines = rounded_cosines(reference_rows, candidate_rows)
    alike = np.zeros(cosines.shape)
    agreed = np.zeros(cosines.shape)
    for i, mention in enumerate(reference.items):
        for j, opposite in enumerate(candidate.items):
            alike[i, j] = likeness(mention, opposite, float(cosines[i, j]))
            agreed[i, j] = alike[i, j] * _stance(mention, opposite) if alike[i, j] else 0.0
    return (
        _judge_report(reference, candidate, alike, agreed),
        _judge_report(candidate, reference, alike.T, agreed.T),
    )


def likeness(one: WeightedMention, other: WeightedMention, cosine: float) -> float:
    """Likeness of two named things, from 0 to 1, denied or not."""
    if one.plain == other.plain:
        return 1.0
    similarity = settings()["similarity"]
    strange, alike = similarity["strange"], similarity["alike"]
    by_vector = min(1.0, max(0.0, (cosine - strange) / (alike - strange)))
    closeness_known = None
    if one.type == other.type and one.meaning and other.meaning:
        _, closeness_of = _catalogues()[one.type]
        closeness_known = closeness_of(one.meaning, other.meaning)
    if closeness_known is None:
        return by_vector
    if one.type in (EntityType.FINDING, EntityType.DESCRIPTOR):
        return max(closeness_known, settings()["factors"]["other_finding"] * by_vector)
    return closeness_known


def _stance(first: WeightedMention, second: WeightedMention) -> float:
    """The factor for a likeness when only one is denied or in doubt, or their sides differ."""
    if first.denied != second.denied or (first.side and second.side and first.side != second.side):
        return 0.0
    is_doubt_different = (first.entity.assertion == Assertion.UNCERTAIN) != (
        second.entity.assertion == Assertion.UNCERTAIN
    )
    return settings()["factors"]["doubt"] if is_doubt_different else 1.0


def _judge_report(
    report: ReportMentions, opposite: ReportMentions, alike: Matrix, agreed: Matrix
) -> JudgedReport:
    linked_tails = {tail for _, tail in report.links}
    entities = []
    for i, mention in enumerate(report.items):
        value = float(agreed[i].max(initial=0.0))
        is_contradicted = _differs(value) and bool(alike[i].max(initial=0.0) >= _same_threshold())
        weight = 0.0 if mention.type in CONTEXTUAL and i in linked_tails else mention.weight
        nearest = int(agreed[i].argmax()) if value else None
        entities.append(Judged(_charge(weight, is_contradicted), value, nearest, is_contradicted))
    links = tuple(_judge_links(report, opposite, alike, agreed))
    return JudgedReport(tuple(entities), links)


def _judge_links(
    report: ReportMentions, opposite: ReportMentions, alike: Matrix, agreed: Matrix
) -> Iterator[Judged]:
    factor = settings()["factors"]["relation"]
    for head, tail in report.links:
        target = report.items[tail]
        rivals = [
            (agreed[head, h] * agreed[tail, t], k, bool(alike[head, h] >= _same_threshold()))
            for k, (h, t) in enumerate(opposite.links)
            if opposite.items[t].type == target.type
        ]
        value, nearest, _ = max(rivals, key=lambda rival: rival[0], default=(0.0, None, False))
        has_rival = any(is_same for _, _, is_same in rivals)
        is_contradicted = _differs(value) and has_rival and target.type in _VALUES
        weight = target.weight * (1.0 if target.type in CONTEXTUAL else factor)
        yield Judged(_charge(weight, is_contradicted), float(value), nearest, is_contradicted)


def _same_threshold() -> float:
    return settings()["similarity"]["same"]


def _differs(value: float) -> bool:
    return value < settings()["similarity"]["agreed"]


def _charge(weight: float, is_contradicted: bool) -> float:
    return weight * settings()["factors"]["contradiction"] if is_contradicted else weight

"""What a reader got wrong, passage by passage, human-readable."""

from collections.abc import Callable, Iterable, Iterator

from histoeval.report import Entity, Noun, Report
from histoeval_research.evaluate.matches import (
    ASSERTED,
    entity_keys,
    key_of,
    link_of,
    relation_keys,
)
from histoeval_research.evaluate.reader import PredictedPassage

_PLACE = ("id", "source", "report", "text")
"""The fields that say where mistakes are, and are none."""


class Confusion(Noun):
    """What is there, and what the reader took it for."""

    gold: Entity
    found: Entity


class RelatedEntities(Noun):
    """Two entities with a relation."""

    head: Entity
    tail: Entity


class Mistakes(Noun):
    """All mistakes in a passage; each entity that is not right stands in one place only.

    `mistyped` has the right span and another type, `misplaced` the right type and a span that
    only overlaps; the rest is `missing` or `invented`. Assertions and relations are looked at
    between entities that were found.
    """

    id: str
    source: str
    report: str
    text: str
    missing: tuple[Entity, ...]
    invented: tuple[Entity, ...]
    mistyped: tuple[Confusion, ...]
    misplaced: tuple[Confusion, ...]
    misasserted: tuple[Confusion, ...]
    missing_relations: tuple[RelatedEntities, ...]
    invented_relations: tuple[RelatedEntities, ...]


def mistakes(readings: Iterable[PredictedPassage]) -> Iterator[Mistakes]:
    """The passages in which a reader was wrong."""
    for reading in readings:
        found = _mistakes(reading)
        if any(getattr(found, name) for name in Mistakes.model_fields if name not in _PLACE):
            yield found


def _mistakes(reading: PredictedPassage) -> Mistakes:
    passage, gold, found = reading.passage, reading.passage.content, reading.found
    missing, invented = _only_in(gold, found), _only_in(found, gold)
    mistyped = _pair_off(missing, invented, _same_span)
    misplaced = _pair_off(missing, invented, _same_type_overlapping)
    return Mistakes(
        id=passage.id,
        source=passage.source,
        report=passage.report_id,
        text=passage.text,
        missing=tuple(missing),
        invented=tuple(invented),
        mistyped=mistyped,
        misplaced=misplaced,
        misasserted=_misasserted(gold, found),
        missing_relations=_relations_only_in(gold, found),
        invented_relations=_relations_only_in(found, gold),
    )


def _only_in(one: Report, other: Report) -> list[Entity]:
    there = entity_keys(other)
    return [entity for entity in one.entities if key_of(entity) not in there]


def _pair_off(
    missing: list[Entity], invented: list[Entity], alike: Callable[[Entity, Entity], bool]
) -> tuple[Confusion, ...]:
    """Take out of both lists the entities that are alike, each with the first one left for it."""
    pairs: list[Confusion] = []
    for gold in list(missing):
        found = next((entity for entity in invented if alike(gold, entity)), None)
        if found is not None:
            missing.remove(gold)
            invented.remove(found)
            pairs.append(Confusion(gold=gold, found=found))
    return tuple(pairs)


def _same_span(one: Entity, other: Entity) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def _same_type_overlapping(one: Entity, other: Entity) -> bool:
    return one.type == other.type and one.start < other.end and other.start < one.end


def _misasserted(gold: Report, found: Report) -> tuple[Confusion, ...]:
    there = {key_of(entity): entity for entity in found.entities if entity.type in ASSERTED}
    pairs = [(entity, there.get(key_of(entity))) for entity in gold.entities]
    return tuple(
        Confusion(gold=one, found=other)
        for one, other in pairs
        if other is not None and one.assertion != other.assertion
    )


def _relations_only_in(one: Report, other: Report) -> tuple[RelatedEntities, ...]:
    """Relations of one side alone, of entities that both have."""
    shared, there = entity_keys(one) & entity_keys(other), relation_keys(other)
    return tuple(
        RelatedEntities(head=one.entities[relation.head], tail=one.entities[relation.tail])
        for relation in one.relations
        for link in [link_of(one, relation)]
        if link not in there and shared.issuperset(link)
    )

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


class Confusion(Noun):
    gold: Entity
    found: Entity


class RelatedEntities(Noun):
    head: Entity
    tail: Entity


class Mistakes(Noun):
    """All mistakes in a passage; each entity that is not right stands in one place only."""

    # `mistyped` has the right span and another type, `misplaced` the right type and a span that
    # only overlaps; the rest is `missing` or `invented`. Assertions and relations are looked at
    # between entities that were found.

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
        passage, gold, found = reading.passage, reading.passage.content, reading.found
        shared = entity_keys(gold) & entity_keys(found)
        missing, invented = (
            [entity for entity in report.entities if key_of(entity) not in shared]
            for report in (gold, found)
        )
        by_key = {key_of(entity): entity for entity in found.entities if entity.type in ASSERTED}
        known = [(entity, by_key.get(key_of(entity))) for entity in gold.entities]
        wrong = {
            "mistyped": _pair_off(
                missing,
                invented,
                lambda one, other: (one.start, one.end) == (other.start, other.end),
            ),
            "misplaced": _pair_off(
                missing,
                invented,
                lambda one, other: (
                    one.type == other.type and one.start < other.end and other.start < one.end
                ),
            ),
            "misasserted": [
                Confusion(gold=entity, found=other)
                for entity, other in known
                if other is not None and entity.assertion != other.assertion
            ],
            "missing_relations": _relations_only_in(gold, found),
            "invented_relations": _relations_only_in(found, gold),
            "missing": missing,
            "invented": invented,
        }
        if any(wrong.values()):
            place = {"id": passage.id, "source": passage.source}
            place |= {"report": passage.report_id, "text": passage.text}
            yield Mistakes.model_validate(place | wrong)


def _pair_off(
    missing: list[Entity], invented: list[Entity], alike: Callable[[Entity, Entity], bool]
) -> list[Confusion]:
    pairs = []
    for gold in list(missing):
        found = next((entity for entity in invented if alike(gold, entity)), None)
        if found is not None:
            missing.remove(gold)
            invented.remove(found)
            pairs.append(Confusion(gold=gold, found=found))
    return pairs


def _relations_only_in(one: Report, other: Report) -> list[RelatedEntities]:
    shared, known = entity_keys(one) & entity_keys(other), relation_keys(other)
    return [
        RelatedEntities(head=one.entities[relation.head], tail=one.entities[relation.tail])
        for relation in one.relations
        if link_of(one, relation) not in known and shared.issuperset(link_of(one, relation))
    ]

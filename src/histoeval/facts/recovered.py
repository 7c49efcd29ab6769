"""What the reader has overlooked or taken for something else, put right by the catalogues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from histoeval.extract.sentences import sentences
from histoeval.facts.scope import TextScope, before, has_wording
from histoeval.report import Assertion, Entity, EntityType, Report
from histoeval.terms.catalogue import Behaviour, concepts
from histoeval.terms.findings import find_findings
from histoeval.terms.matching import is_cased
from histoeval.terms.naming import find_diagnoses, main_concept
from histoeval.terms.values.marker_results import read_result
from histoeval.terms.values.markers import find_markers
from histoeval.terms.values.stages import read_stage

_NUMBERED = re.compile(r"[A-Z]-\d")
"""A grade, as in MF-1, and no diagnosis."""


def overlooked(report: Report, likely: frozenset[str], scope: TextScope) -> Iterator[Entity]:
    """What the catalogues know and the reader has left, such as rare abbreviations."""
    taken = bytearray(len(report.text))
    for entity in report.entities:
        taken[entity.start : entity.end] = b"1" * (entity.end - entity.start)
    for sentence in sentences(report.text):
        said = report.text[sentence.start : sentence.end]
        for first, last, kind, denied in (*_known_diagnoses(said, likely), *_known_findings(said)):
            start, end = sentence.start + first, sentence.start + last
            if not scope.is_gap(start) and not any(taken[start:end]):
                taken[start:end] = b"1" * (end - start)
                yield Entity(
                    text=report.text[start:end],
                    start=start,
                    end=end,
                    type=kind,
                    assertion=Assertion.ABSENT if denied else Assertion.PRESENT,
                    score=0.5,
                )


def _known_diagnoses(
    said: str, likely: frozenset[str]
) -> Iterator[tuple[int, int, EntityType, bool]]:
    for match in find_diagnoses(said, likely):
        concept = concepts()[match.id]
        if not concept.generic and concept.behaviour != Behaviour.NORMAL:
            yield match.start, match.end, EntityType.DIAGNOSIS, has_wording("denial", said)


def _known_findings(said: str) -> Iterator[tuple[int, int, EntityType, bool]]:
    """Only what matters much, and only by its abbreviation: words are the reader's business."""
    for found in find_findings(said):
        if is_cased(said[found.start : found.end]):
            denied = found.denied or has_wording("denial", said)
            yield found.start, found.end, EntityType.FINDING, denied


def retyped(entity: Entity, linked: Iterable[Entity], text: str) -> Entity:
    """An entity that was taken for another type than its words have, as what it is.

    An abbreviation that no marker has is the diagnosis or finding of that name, and its result, or
    what stands before it, says whether it is there.
    """
    kind = _kind(entity)
    if kind == entity.type:
        return entity
    assertion = entity.assertion
    if entity.type == EntityType.MARKER:
        results = [read_result(each.text) for each in linked if each.type == EntityType.RESULT]
        absent = any(result is not None and result.polarity == "negative" for result in results)
        if absent or has_wording("denial", before(text, entity.start)):
            assertion = Assertion.ABSENT
    return entity.model_copy(update={"type": kind, "assertion": assertion})


def _kind(entity: Entity) -> EntityType:
    """The type that the words of an entity have."""
    known = main_concept(entity.text) is not None
    match entity.type:
        case EntityType.MARKER if not find_markers(entity.text):
            if known and not _NUMBERED.search(entity.text):
                return EntityType.DIAGNOSIS
            return EntityType.FINDING if find_findings(entity.text) else entity.type
        case EntityType.STAGE if known and read_stage(entity.text) is None:
            return EntityType.DIAGNOSIS
        case EntityType.DIAGNOSIS if not known and find_findings(entity.text):
            return EntityType.FINDING
    return entity.type

"""Reports with their entities marked by hand: `{diagnosis:carcinoma} of the {site:left breast}`.

A `-` before the words says that it is denied, a `?` that the report is not sure. A result belongs
to the last marker before it, a grade or descriptor to the last diagnosis before it.
"""

import re
from collections.abc import Sequence

from histoeval.align.aligner import LexicalAligner
from histoeval.concordance.compare import compare
from histoeval.concordance.evidence import ComparedPart, ErrorKind, ReportError
from histoeval.facts.facts import Facts, facts_of
from histoeval.metrics.concordance import PhraseSimilarity
from histoeval.report import Assertion, Entity, EntityType, Relation, Report

_MARKED = re.compile(r"\{(\w+):([-?]?)([^{}]+)\}")
_ASSERTIONS = {"": Assertion.PRESENT, "-": Assertion.ABSENT, "?": Assertion.UNCERTAIN}
_HEADS = {
    EntityType.RESULT: EntityType.MARKER,
    EntityType.GRADE: EntityType.DIAGNOSIS,
    EntityType.DESCRIPTOR: EntityType.DIAGNOSIS,
}

alike = PhraseSimilarity(LexicalAligner()).likeness
"""How alike phrases are by their letters."""


def report(marked: str) -> Report:
    pieces: list[str] = []
    entities: list[Entity] = []
    relations: list[Relation] = []
    last: dict[EntityType, int] = {}
    at = length = 0
    for found in _MARKED.finditer(marked):
        pieces += [marked[at : found.start()], found[3]]
        length += len(pieces[-2])
        kind = EntityType(found[1])
        end = length + len(found[3])
        entity = Entity(
            text=found[3], start=length, end=end, type=kind, assertion=_ASSERTIONS[found[2]]
        )
        head = last.get(_HEADS[kind]) if kind in _HEADS else None
        if head is not None:
            relations.append(Relation(head=head, tail=len(entities)))
        last[kind] = len(entities)
        entities.append(entity)
        at, length = found.end(), end
    text = "".join([*pieces, marked[at:]])
    return Report(text=text, entities=tuple(entities), relations=tuple(relations))


def facts(marked: str) -> Facts:
    return facts_of(report(marked))


def parts_of(reference: str, candidate: str) -> dict[str, ComparedPart]:
    return dict(compare(facts(reference), facts(candidate), alike))


def value_of(part: str, reference: str, candidate: str) -> float:
    value = parts_of(reference, candidate)[part].value
    assert value is not None, f"neither speaks of {part}"
    return value


def mistakes_of(reference: str, candidate: str) -> list[ReportError]:
    return [each for part in parts_of(reference, candidate).values() for each in part.mistakes]


def kinds_of(reference: str, candidate: str) -> set[ErrorKind]:
    return {mistake.kind for mistake in mistakes_of(reference, candidate)}


class MarkedReader:
    """Reads marked texts, remembering how each was marked."""

    identity = "marked by hand"
    reads_relations = True

    def __init__(self, marked: Sequence[str]) -> None:
        self._known = {each.text: each for each in map(report, marked)}

    def read(self, texts: Sequence[str]) -> list[Report]:
        return [self._known.get(text) or Report(text=text) for text in texts]

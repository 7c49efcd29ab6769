"""Reports of our own, read by hand: what is marked in the text is an entity."""

from __future__ import annotations

from collections.abc import Sequence

from histoeval.report import Assertion, Entity, EntityType, Relation, Report

MALIGNANT = (
    "Sections of the left lung show sheets of atypical cells with keratin pearls and marked "
    "nuclear pleomorphism. Mitotic figures are easily found. There is no evidence of vascular "
    "invasion. The tumour measures 3.5 cm and is moderately differentiated. The tumour cells are "
    "positive for p40. The diagnosis is squamous cell carcinoma, moderately differentiated."
)
BENIGN = "Colon, biopsy. Tubular adenoma with low-grade dysplasia."

_MARKED: Sequence[tuple[str, EntityType, Assertion]] = (
    ("lung", EntityType.SITE, Assertion.PRESENT),
    ("keratin pearls", EntityType.FINDING, Assertion.PRESENT),
    ("nuclear pleomorphism", EntityType.FINDING, Assertion.PRESENT),
    ("Mitotic figures", EntityType.FINDING, Assertion.PRESENT),
    ("vascular invasion", EntityType.FINDING, Assertion.ABSENT),
    ("3.5 cm", EntityType.MEASUREMENT, Assertion.PRESENT),
    ("moderately differentiated", EntityType.GRADE, Assertion.PRESENT),
    ("positive", EntityType.RESULT, Assertion.PRESENT),
    ("p40", EntityType.MARKER, Assertion.PRESENT),
    ("squamous cell carcinoma", EntityType.DIAGNOSIS, Assertion.PRESENT),
    ("Colon", EntityType.SITE, Assertion.PRESENT),
    ("Tubular adenoma", EntityType.DIAGNOSIS, Assertion.PRESENT),
)


def read(text: str) -> Report:
    """A report in which every marked phrase is found wherever it stands."""
    found = []
    for words, kind, assertion in _MARKED:
        at = text.find(words)
        while at >= 0:
            end = at + len(words)
            found.append(Entity(text=words, start=at, end=end, type=kind, assertion=assertion))
            at = text.find(words, end)
    found.sort(key=lambda entity: entity.start)
    return Report(text=text, entities=tuple(found), relations=tuple(_linked(found)))


def _linked(entities: Sequence[Entity]) -> list[Relation]:
    """Every marker with the result before it."""
    places = {kind: [i for i, e in enumerate(entities) if e.type is kind] for kind in EntityType}
    return [
        Relation(head=marker, tail=result)
        for marker, result in zip(places[EntityType.MARKER], places[EntityType.RESULT], strict=True)
    ]


class HandReader:
    """Reads by the list above."""

    identity = "by hand"
    reads_relations = True

    def __init__(self) -> None:
        self.seen = 0

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.seen += len(texts)
        return [read(text) for text in texts]

"""A reader that knows six words, for tests of everything around readers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from histoeval.report import RELATION_TYPES, Assertion, Entity, EntityType, Relation, Report

KNOWN = {
    "carcinoma": EntityType.DIAGNOSIS,
    "sarcoma": EntityType.DIAGNOSIS,
    "breast": EntityType.SITE,
    "HER2": EntityType.MARKER,
    "negative": EntityType.RESULT,
    "invasion": EntityType.FINDING,
}
ASSERTIONS = {"no": Assertion.ABSENT, "possible": Assertion.UNCERTAIN, None: Assertion.PRESENT}
WORDS = re.compile(rf"\b(?:(no|possible) )?({'|'.join(KNOWN)})\b")


def read_words(text: str) -> Report:
    """The known words; each is related to the next one if it can be."""
    entities = tuple(
        Entity(
            text=found[2],
            start=found.start(2),
            end=found.end(2),
            type=KNOWN[found[2]],
            assertion=ASSERTIONS[found[1]],
            score=0.9,
        )
        for found in WORDS.finditer(text)
    )
    relations = tuple(
        Relation(head=n, tail=n + 1, score=0.97)
        for n in range(len(entities) - 1)
        if (entities[n].type, entities[n + 1].type) in RELATION_TYPES
    )
    return Report(text=text, entities=entities, relations=relations)


@dataclass
class WordReader:
    """Records the batches it was given, and raises on texts that hold a certain word."""

    identity: str = "words@1"
    stumbles_over: str = "\0"
    reads_relations: bool = True
    asked: list[list[str]] = field(default_factory=list)

    def read(self, texts: Sequence[str]) -> list[Report]:
        self.asked.append(list(texts))
        for text in texts:
            if self.stumbles_over in text:
                raise ZeroDivisionError(f"stumbled over {self.stumbles_over!r}")
        return [read_words(text) for text in texts]

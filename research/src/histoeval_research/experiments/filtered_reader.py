"""Readers around another one: filtered by confidence, or cached.

The HARE paper's table 7 asks what becomes of a metric that is given all that was read, only what
the reader is sure of, or only what it is not sure of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from histoeval.reader.reader import Reader
from histoeval.report import Entity, Report
from histoeval.runtime.memo import Memory

Kept = Literal["all", "sure", "unsure"]
"""Everything, what is above the threshold, or what is not."""


@dataclass(frozen=True)
class SureReader:
    """What `reader` finds, less the entities and relations that are not wanted.

    A relation goes with either of its entities. Confidence is of words, as in the paper: of a
    reader that is sure of whole phrases, the mean over words is compared, as HARE does.
    """

    reader: Reader
    threshold: float = 0.7
    entities: Kept = "sure"
    relations: Kept = "sure"

    @property
    def identity(self) -> str:
        """The other reader, and what is kept of what it finds."""
        return (
            f"{self.reader.identity}+entities:{self.entities}+relations:{self.relations}"
            f"+threshold:{self.threshold:g}"
        )

    @property
    def reads_relations(self) -> bool:
        """As the other reader does."""
        return self.reader.reads_relations

    def read(self, texts: Sequence[str]) -> list[Report]:
        """One report per text, in the order of the texts."""
        return [self._kept(report) for report in self.reader.read(texts)]

    def _kept(self, report: Report) -> Report:
        places = [
            at
            for at, entity in enumerate(report.entities)
            if self._wanted(self._sure(entity), self.entities)
        ]
        new = {old: at for at, old in enumerate(places)}
        return report.model_copy(
            update={
                "entities": tuple(report.entities[at] for at in places),
                "relations": tuple(
                    relation.model_copy(
                        update={"head": new[relation.head], "tail": new[relation.tail]}
                    )
                    for relation in report.relations
                    if relation.head in new
                    and relation.tail in new
                    and self._wanted(relation.score, self.relations)
                ),
            }
        )

    def _sure(self, entity: Entity) -> float:
        words = len(entity.text.split()) if sure_of_phrases(self.reader) else 1
        return float(entity.score ** (1 / max(1, words)))

    def _wanted(self, score: float, kept: Kept) -> bool:
        return kept == "all" or (score > self.threshold) == (kept == "sure")


def sure_of_phrases(reader: Reader) -> bool:
    """Whether the scores of a reader are of whole phrases, and not of words."""
    return bool(getattr(reader, "sure_of_phrases", False))


class CachingReader:
    """A reader that reads no text twice."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._memory: Memory[str, Report] = Memory(reader.read, most=200_000)

    @property
    def identity(self) -> str:
        """That of the reader itself."""
        return self._reader.identity

    @property
    def reads_relations(self) -> bool:
        """As the reader itself."""
        return self._reader.reads_relations

    @property
    def sure_of_phrases(self) -> bool:
        """As the reader itself."""
        return sure_of_phrases(self._reader)

    def read(self, texts: Sequence[str]) -> list[Report]:
        """One report per text, in the order of the texts."""
        return self._memory(texts)

"""A reader that passes on only what another reader is sure of, or only what it is not.

The HARE paper's table 7 asks what becomes of a metric that is given all that was read, only what
the reader is sure of, or only what it is not sure of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from histoeval.extract.memory import Memory
from histoeval.extract.reader import Reader
from histoeval.report import Entity, Relation, Report

Kept = Literal["all", "sure", "unsure"]
"""Everything, what is above the threshold, or what is not."""


@dataclass(frozen=True)
class SureReader:
    """What `reader` finds, less the entities and relations that are not wanted.

    A relation goes with either of its entities.
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
        places = [at for at, e in enumerate(report.entities) if self._wanted(e, self.entities)]
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
                    and self._wanted(relation, self.relations)
                ),
            }
        )

    def _wanted(self, found: Entity | Relation, kept: Kept) -> bool:
        return kept == "all" or (found.score > self.threshold) == (kept == "sure")


class RememberingReader:
    """A reader that reads no text twice, for those who ask about the same texts again and again."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._memory: Memory[Report] = Memory(reader.read, most=200_000)

    @property
    def identity(self) -> str:
        """That of the reader itself."""
        return self._reader.identity

    @property
    def reads_relations(self) -> bool:
        """As the reader itself."""
        return self._reader.reads_relations

    def read(self, texts: Sequence[str]) -> list[Report]:
        """One report per text, in the order of the texts."""
        return self._memory(texts)

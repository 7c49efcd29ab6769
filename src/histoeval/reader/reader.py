"""The interface of readers, which turn texts into reports with entities and relations."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from histoeval.report import Report


@runtime_checkable
class Reader(Protocol):
    """Reads what reports say. The answer for a text never depends on the texts beside it."""

    @property
    def identity(self) -> str:
        """The model, down to its weights, for the signature."""

    @property
    def reads_relations(self) -> bool:
        """True if it looks for relations at all; finding none is then an answer."""

    def read(self, texts: Sequence[str]) -> list[Report]:
        """One report per text, in the order of the texts."""


@runtime_checkable
class Completer(Protocol):
    """A reader that can also go on from entities that somebody else has marked."""

    def complete(self, reports: Sequence[Report]) -> list[Report]:
        """The same reports with assertions and relations as this reader sees them.

        Texts, and types and spans of entities, come back as they were and in their order; the
        assertions and relations that were given are not looked at.
        """

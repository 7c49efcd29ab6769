"""A text with some stretches in other words, and the way back to where these stood."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from histoeval.report import Entity


@dataclass(frozen=True, slots=True)
class RewrittenText:
    """A text in which stretches of the original are replaced."""

    text: str
    original: str
    # Start and end in the new text, start and end in the original, from left to right
    changes: tuple[tuple[int, int, int, int], ...] = ()

    @classmethod
    def of(cls, text: str, replacements: Iterable[tuple[int, int, str]]) -> Self:
        """Put words in the place of stretches; of two that overlap, the first is replaced."""
        pieces: list[str] = []
        changes: list[tuple[int, int, int, int]] = []
        at = length = 0
        for start, end, words in sorted(replacements):
            if start < at:
                continue
            pieces += [text[at:start], words]
            length += start - at
            changes.append((length, length + len(words), start, end))
            length, at = length + len(words), end
        return cls("".join([*pieces, text[at:]]), text, tuple(changes))

    def place(self, place: int, *, end: bool = False) -> int:
        """Place in the original; within a stretch that was changed, where that began or ended."""
        at = bisect_right(self.changes, place - end, key=lambda change: change[0]) - 1
        if at < 0:
            return place
        _, new_end, start, old_end = self.changes[at]
        if place - end < new_end:
            return old_end if end else start
        return place - new_end + old_end

    def restored(self, entity: Entity) -> Entity:
        """An entity of the new text as the stretch of the original that it was read from."""
        if not self.changes:
            return entity
        start, end = self.place(entity.start), self.place(entity.end, end=True)
        return entity.model_copy(
            update={"text": self.original[start:end], "start": start, "end": end}
        )

"""Not doing the same work twice, within bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")


class Memory(Generic[Key, T]):
    """Answers for texts, or for whatever can be a key, remembering those used last.

    References return in many pairs and entities in many reports. What is not remembered is
    answered in one go, so that batches stay full. Texts are kept up to `most`, each counted as
    `size` says, so that memory stays flat on files of any length.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Key]], Sequence[T]],
        most: int = 20_000,
        size: Callable[[Key], int] = lambda text: 1,  # noqa: ARG005
    ) -> None:
        self._answer = answer
        self._most = most
        self._size = size
        self._held = 0
        self._known: OrderedDict[Key, T] = OrderedDict()

    def __call__(self, texts: Sequence[Key]) -> list[T]:
        """One answer per text, in the order of the texts."""
        distinct = dict.fromkeys(texts)
        unknown = [text for text in distinct if text not in self._known]
        found = {text: self._known[text] for text in distinct if text in self._known}
        if unknown:
            found |= dict(zip(unknown, self._answer(unknown), strict=True))
        for text in distinct:
            if text not in self._known:
                self._held += self._size(text)
            self._known[text] = found[text]
            self._known.move_to_end(text)
        while self._held > self._most:
            forgotten, _ = self._known.popitem(last=False)
            self._held -= self._size(forgotten)
        return [found[text] for text in texts]

"""Metrics that wait for others, as judges do, are shown pairs before they have to score them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self, runtime_checkable

from histoeval.io.pairs import PairRow
from histoeval.metric import Metric
from histoeval.report import Pair

MOST_CHARACTERS = 8_000_000
"""Texts that are held in advance, so that memory stays flat where reports are long."""

AT_FIRST = 8
"""Chunks that are held when the first is scored; with each that is scored there is one more."""


@runtime_checkable
class Prefetching(Protocol):
    """A metric that begins with pairs before they have to be scored."""

    @property
    def ahead(self) -> int:
        """How many pairs before."""

    def expect(self, pairs: Sequence[Pair]) -> None:
        """Begin with these."""

    def expect_no_more(self) -> None:
        """Stop what was begun."""


class Prefetch:
    """Shows chunks of rows to metrics that expect them, some time before they come."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = [metric for metric in metrics if isinstance(metric, Prefetching)]

    def of(self, chunks: Iterable[list[PairRow]]) -> Iterator[list[PairRow]]:
        """The same chunks; at first a few are read in advance, and then more and more."""
        held: deque[list[PairRow]] = deque()
        rows = characters = 0
        most = AT_FIRST if self._metrics else 0
        ahead = max([metric.ahead for metric in self._metrics], default=0)
        for chunk in chunks:
            self._show(chunk)
            held.append(chunk)
            rows, characters = rows + len(chunk), characters + _characters(chunk)
            while len(held) > most or rows > ahead or characters > MOST_CHARACTERS:
                first = held.popleft()
                rows, characters = rows - len(first), characters - _characters(first)
                yield first
                most += bool(most)
        yield from held

    def _show(self, chunk: Sequence[PairRow]) -> None:
        pairs = [row.pair for row in chunk if row.pair is not None]
        for metric in self._metrics:
            if pairs:
                metric.expect(pairs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for metric in self._metrics:
            metric.expect_no_more()


def _characters(chunk: Iterable[PairRow]) -> int:
    pairs = [row.pair for row in chunk if row.pair is not None]
    return sum(len(pair.reference) + len(pair.candidate) for pair in pairs)

"""Prefetching: lets slow metrics (LLM judges) start on upcoming pairs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self, runtime_checkable

from histoeval.io.pairs import PairRow
from histoeval.metric import Metric
from histoeval.report import Pair

MAX_CHARACTERS = 8_000_000
"""Texts that are read ahead, so that memory stays flat where reports are long."""


@runtime_checkable
class Prefetching(Protocol):
    """A metric that can start on pairs before they are scored."""

    @property
    def ahead(self) -> int:
        """How many pairs it wants to know in advance."""

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        """Start on these."""

    def stop_prefetch(self) -> None:
        """Stop what was started."""


class Prefetch:
    """Reads chunks of rows ahead, and shows them to the metrics that prefetch."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = [metric for metric in metrics if isinstance(metric, Prefetching)]

    def of(self, chunks: Iterable[list[PairRow]]) -> Iterator[list[PairRow]]:
        """The same chunks, each some time after the metrics have seen it."""
        held: deque[tuple[list[PairRow], int]] = deque()
        rows = characters = 0
        ahead = max([metric.ahead for metric in self._metrics], default=0)
        for chunk in chunks:
            pairs = [row.pair for row in chunk if row.pair is not None]
            for metric in self._metrics:
                metric.prefetch(pairs)
            size = sum(len(pair.reference) + len(pair.candidate) for pair in pairs)
            held.append((chunk, size))
            rows, characters = rows + len(chunk), characters + size
            while held and (rows > ahead or characters > MAX_CHARACTERS):
                first, size = held.popleft()
                rows, characters = rows - len(first), characters - size
                yield first
        yield from (chunk for chunk, _ in held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for metric in self._metrics:
            metric.stop_prefetch()

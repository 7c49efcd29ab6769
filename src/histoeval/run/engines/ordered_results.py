"""Results that come in any order, put into the order of the input."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from histoeval.errors import HistoEvalError
from histoeval.io.store import RowStore
from histoeval.io.writing import writing_to
from histoeval.run.engines.engine import Finished, Out
from histoeval.run.engines.spool import Spool

T = TypeVar("T")


class Counted(Iterator[T]):
    """An iterator that knows how many items it has given."""

    def __init__(self, items: Iterable[T]) -> None:
        self.count = 0
        self._items = iter(items)

    def __next__(self) -> T:
        item = next(self._items)
        self.count += 1
        return item

    def skip_to(self, place: int) -> None:
        """Leave out the items before a place, counted from 0."""
        for _ in islice(self, max(0, place - self.count)):
            pass


class OrderedResults(Generic[Out]):
    """The rows of a run: in memory, or in a store, where early blocks wait in a spool.

    Args:
        add: called with each new row, in the order of the input.
        store: where rows are written, if anywhere.
        spool: where blocks wait for their turn if there is a store.
        done: how many rows of the input have results in the store already.
    """

    def __init__(
        self,
        add: Callable[[Out], None],
        store: RowStore[Out] | None = None,
        spool: Spool | None = None,
        done: int = 0,
    ) -> None:
        self._add = add
        self._store = store
        self.spool = spool
        self._next = done
        self._memory: list[Out] = []
        self._early: dict[int, Finished[Out]] = {}
        self.spooled = [] if spool is None else spool.blocks(done)
        for block in self.spooled:
            self._early[max(done, block.start)] = Finished(block.start, len(block), None)
        self.arrived = done + sum(block.stop - max(done, block.start) for block in self.spooled)
        self.finished = [range(done), *self.spooled]
        self._write_early()

    @property
    def rows(self) -> Iterable[Out]:
        """All rows, in the order of the input."""
        return self._memory if self._store is None else self._store

    def take(self, block: Finished[Out]) -> None:
        """Write the results of a block, or keep them until those before it have come."""
        self.arrived += block.length
        if block.start == self._next and block.rows is not None:
            self._write(block)
        else:
            self._early[block.start] = self._kept(block)
        self._write_early()

    def close(self) -> None:
        """All rows have come."""
        if self._early:
            raise HistoEvalError(
                f"the results of row {self._next + 1:,} never came; run the same command again"
            )
        if self.spool is not None:
            self.spool.clear()

    def _kept(self, block: Finished[Out]) -> Finished[Out]:
        if self.spool is None or self._store is None or block.rows is None:
            return block
        with writing_to(self._store.home):
            self.spool.put(block.start, block.rows)
        return block._replace(rows=None)

    def _write_early(self) -> None:
        while (block := self._early.pop(self._next, None)) is not None:
            if block.rows is None:
                self._write_spooled(range(block.start, block.start + block.length))
            else:
                self._write(block)

    def _write(self, block: Finished[Out]) -> None:
        assert block.rows is not None
        if self._store is None:
            self._memory.extend(block.rows)
        else:
            self._store.write(block.rows)
        self._next += block.length
        for row in block.rows:
            self._add(row)

    def _write_spooled(self, block: range) -> None:
        """Write a block from the spool; of one that was being written by a killed run, the rest."""
        assert self._store is not None
        assert self.spool is not None
        with writing_to(self._store.home):
            lines = self.spool.lines(block)[self._next - block.start :]
        rows = [self._store.read(line) for line in lines]
        self._store.write_lines(lines)
        self._next = block.stop
        for row in rows:
            self._add(row)
        self.spool.drop(block)

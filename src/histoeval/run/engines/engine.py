"""The nouns of engines: a task that may run anywhere, blocks of rows, and who runs them.

Whatever the engine, its number of workers, the size of blocks and the order in which they are
finished, the results of a job are the same bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from histoeval.errors import Problem, SettingError
from histoeval.io.store import StoredRow

if TYPE_CHECKING:
    from histoeval.run.engines.spool import Spool

In = TypeVar("In")
In_co = TypeVar("In_co", covariant=True)
Out = TypeVar("Out", bound=StoredRow)

BLOCK_CHARACTERS = 1_000_000
"""A block is closed early when its texts grow past this, so that memory stays flat."""


class RowSource(Protocol[In_co]):
    """Where the rows of a run come from."""

    def rows(self) -> Iterator[In_co]:
        """Every row, from the start."""

    def identity(self) -> dict[str, Any]:
        """What makes two inputs the same."""

    def description(self) -> Any:
        """The input as a summary shows it."""


class Task(ABC, Generic[In, Out]):
    """What a job does with rows. It is pickled to run elsewhere, and loads its models there."""

    parallel = True
    """Whether several processes may do it: not where a server is asked, which has limits."""

    on_gpu = False
    """Whether its models are on a GPU."""

    shares_gpu = False
    """Whether its workers can all ask the process that has started them for what the GPU does."""

    name = "work"
    """What a dashboard calls it."""

    small = 32
    """An input of at most so many rows is not worth a second process."""

    @abstractmethod
    def work(self, rows: Sequence[In]) -> Sequence[Out]:
        """The results of some rows, in their order; it depends on nothing but the task and them."""

    @abstractmethod
    def failed(self, row: In, problem: Problem) -> Out:
        """The result of a row that has killed the process that worked on it."""

    def examples(self) -> Sequence[In]:
        """Made-up rows that anybody may work on to load what rows need; none where that may cost.

        Worker processes are forked of one that has done so. Without them each loads its own.
        """
        return ()

    def ahead(self, blocks: Iterable[Block[In]]) -> AbstractContextManager[Iterable[Block[In]]]:
        """The blocks; where something can be begun with before its turn, they are read ahead."""
        return nullcontext(blocks)

    def take_usage(self) -> Any:
        """What was spent since this was last called, for `Job.charge`; mostly nothing."""
        return None


def gpu_use(models: Iterable[Any]) -> tuple[bool, bool]:
    """Whether any of these models is on a GPU, and whether all that are can be asked for it."""
    there = [model for model in models if getattr(model, "on_gpu", False)]
    return bool(there), all(getattr(model, "shares_gpu", False) for model in there)


class Block(NamedTuple, Generic[In]):
    """Rows that follow each other in the input, the first of them `start`, counted from 0."""

    start: int
    rows: list[In]

    @property
    def position(self) -> int:
        """How many bytes of the input have been read, for progress."""
        return getattr(self.rows[-1], "position", 0)


@dataclass
class BlockSize:
    """How many rows a block has at most. An engine may change `rows` while it runs."""

    rows: int
    characters: int = BLOCK_CHARACTERS
    fixed: bool = False
    """Whether the user has chosen the number of rows."""

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SettingError(f"blocks of {self.rows} rows are no blocks: give 1 or more")


@dataclass
class Blocks(Generic[In]):
    """The rows of a source that are still to be worked on; iterated, in blocks."""

    source: RowSource[In]
    size: BlockSize
    finished: Sequence[range] = ()
    """Rows that have results, in order."""

    def __iter__(self) -> Iterator[Block[In]]:
        finished = iter(self.finished)
        done = next(finished, None)
        rows: list[In] = []
        characters = 0
        for number, row in enumerate(self.source.rows()):
            while done is not None and number >= done.stop:
                done = next(finished, None)
            if done is not None and number >= done.start:
                if rows:
                    yield Block(number - len(rows), rows)
                    rows, characters = [], 0
                continue
            rows.append(row)
            characters += getattr(row, "characters", 0)
            if len(rows) >= self.size.rows or characters >= self.size.characters:
                yield Block(number + 1 - len(rows), rows)
                rows, characters = [], 0
        if rows:
            yield Block(number + 1 - len(rows), rows)


class Finished(NamedTuple, Generic[Out]):
    """The results of a block; `rows` is None where they lie in the spool already."""

    start: int
    length: int
    rows: Sequence[Out] | None
    position: int = 0
    usage: Sequence[Any] = ()
    """What each part of it has cost that was worked on by itself."""


class Engine(ABC):
    """Who works on blocks."""

    name: str

    @abstractmethod
    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: Spool | None
    ) -> Iterator[Finished[Out]]:
        """The results of all blocks, in any order.

        An engine whose workers reach the spool may leave rows there.
        """


def demand_workers(workers: int) -> int:
    """A number of workers that can do something."""
    if workers < 1:
        raise SettingError(f"{workers} workers cannot do anything: give 1 or more")
    return workers


class InlineEngine(Engine):
    """Works in this process, block after block: for small inputs, notebooks and servers."""

    name = "inline"

    def run(
        self,
        task: Task[In, Out],
        blocks: Blocks[In],
        spool: Spool | None,  # noqa: ARG002
    ) -> Iterator[Finished[Out]]:
        """The results in the order of the input."""
        with task.ahead(blocks) as ready:
            for block in ready:
                found = task.work(block.rows)
                usage = [task.take_usage()]
                yield Finished(block.start, len(block.rows), found, block.position, usage)


INLINE = InlineEngine()

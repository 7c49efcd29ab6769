"""Interface of engines: a task that may run anywhere, blocks of rows, and the engines.

Whatever the engine, its number of workers, the size of blocks and the order in which they are
finished, the results of a job are the same bytes.
"""

from __future__ import annotations

import glob
import hashlib
import json
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from histoeval.errors import Problem, SettingError
from histoeval.io.store import StoredRow
from histoeval.io.writing import make_folder, write_whole
from histoeval.metric import Metric
from histoeval.metrics.base import ModelMetric, PairMetric
from histoeval.report import Pair

In = TypeVar("In")
In_co = TypeVar("In_co", covariant=True)
Out = TypeVar("Out", bound=StoredRow)

_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")
FIRST_ROWS = 8  # the first blocks have at most so many, until it is known how long they take
# a block is closed early when its texts grow past this, so that memory stays flat
BLOCK_CHARACTERS = 1_000_000


class RowSource(Protocol[In_co]):
    def rows(self) -> Iterator[In_co]:
        """Iterate over all rows from the start."""

    def identity(self) -> dict[str, Any]:
        """Return a value that is equal for equal inputs."""

    def description(self) -> Any:
        """Describe the input for the summary."""


class Task(ABC, Generic[In, Out]):
    """The work of a job; it is pickled to run elsewhere, and loads its models there."""

    # Several processes may do it, but not where a server is asked, which has limits.
    parallel = True

    on_gpu = False  # whether its models are on a GPU

    # True if its workers can all ask the process that has started them for what the GPU does.
    shares_gpu = False

    name = "work"  # what a dashboard calls it
    small = 32  # an input of at most so many rows is not worth a second process

    @abstractmethod
    def work(self, rows: Sequence[In]) -> Sequence[Out]:
        """Return the results of some rows, in order; they depend only on the task and the rows."""

    @abstractmethod
    def failed(self, row: In, problem: Problem) -> Out:
        """Return the result of a row that killed the process working on it."""

    def examples(self) -> Sequence[In]:
        """Return made-up rows that load all models when worked on; none if that might cost money.

        Worker processes are forked of one that has done so. Without them each loads its own.
        """
        return ()

    def ahead(self, blocks: Iterable[Block[In]]) -> AbstractContextManager[Iterable[Block[In]]]:
        """Return the blocks, read ahead if work on some can begin before their turn."""
        return nullcontext(blocks)

    def take_usage(self) -> Any:
        """Return the cost since the last call, for `Job.charge`; mostly nothing."""
        return None


# written by a language model so that every shipped model is asked: no catalogue has whorls
EXAMPLE = Pair(
    id="example",
    reference="Left breast, core biopsy: invasive carcinoma, grade 2. ER positive, 14 mm, no "
    "necrosis. There are waxy perivascular whorls.",
    candidate="Right breast, core biopsy: benign tissue with necrosis. ER negative, 9 mm. Foamy "
    "clefts are seen.",
)


def example_pairs(metrics: Iterable[Metric]) -> Sequence[Pair]:
    """Return the example if all metrics only compute: others may ask a server or download."""
    is_computed = all(isinstance(metric, PairMetric | ModelMetric) for metric in metrics)
    return [EXAMPLE] if is_computed else []


def gpu_use(models: Iterable[Any]) -> tuple[bool, bool]:
    """Tell if any model is on a GPU, and if processes can share all of those."""
    on_gpu = [model for model in models if getattr(model, "on_gpu", False)]
    return bool(on_gpu), all(getattr(model, "shares_gpu", False) for model in on_gpu)


def models_of(metrics: Iterable[Metric]) -> Iterator[Any]:
    for metric in metrics:
        for name in getattr(metric, "models", ()):
            yield getattr(metric, name, None)


class Block(NamedTuple, Generic[In]):
    start: int
    rows: list[In]

    @property
    def position(self) -> int:
        return getattr(self.rows[-1], "position", 0)


@dataclass
class Blocks(Generic[In]):
    source: RowSource[In]
    rows: int  # how many rows a block has at most. An engine may change this while it runs
    is_fixed: bool = False  # whether the user has chosen the number of rows
    finished: Sequence[range] = ()  # rows that have results, in order
    characters: int = BLOCK_CHARACTERS

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SettingError(f"blocks of {self.rows} rows are no blocks: give 1 or more")

    def __iter__(self) -> Iterator[Block[In]]:
        finished = iter(self.finished)
        done_rows = next(finished, None)
        rows: list[In] = []
        characters = 0
        for number, row in enumerate(self.source.rows()):
            while done_rows is not None and number >= done_rows.stop:
                done_rows = next(finished, None)
            if done_rows is not None and number >= done_rows.start:
                if rows:
                    yield Block(number - len(rows), rows)
                    rows, characters = [], 0
                continue
            rows.append(row)
            characters += getattr(row, "characters", 0)
            if len(rows) >= self.rows or characters >= self.characters:
                yield Block(number + 1 - len(rows), rows)
                rows, characters = [], 0
        if rows:
            yield Block(number + 1 - len(rows), rows)


class Finished(NamedTuple, Generic[Out]):
    """The results of a block; `rows` is None if they are in the spool already."""

    start: int
    length: int
    rows: Sequence[Out] | None
    position: int = 0
    usage: Sequence[Any] = ()  # what each part of it has cost that was worked on by itself


class BlockSpool:
    """A folder of finished blocks that wait for their turn in the rows of a run.

    `.ROWS.blocks-HASH/START-COUNT.jsonl`, beside the file of rows, holds the rows of one block,
    written whole or not at all. The hash is of the request, that is of the input's own hash, the
    version and all signatures: blocks of another run are never taken for this one's.
    """

    def __init__(self, rows: Path, request: Mapping[str, Any]) -> None:
        content = json.dumps(request, sort_keys=True, default=str).encode()
        self._prefix = f".{rows.name}.blocks-"
        name = f"{self._prefix}{hashlib.sha256(content).hexdigest()[:16]}"
        self.folder = rows.parent / name

    def put(self, start: int, rows: Sequence[StoredRow]) -> None:
        """Store a block durably: once this returns, killing the process cannot lose it."""
        make_folder(self.folder)
        content = b"".join(row.line() for row in rows)
        write_whole(self.file(range(start, start + len(rows))), content)

    def file(self, block: range) -> Path:
        return self.folder / f"{block.start:012}-{len(block)}.jsonl"

    def blocks(self, first: int) -> list[range]:
        """List the stored blocks with rows from `first` on, in order and without overlap."""
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        matches = [match for path in paths if (match := _NAME.fullmatch(path.name))]
        blocks: list[range] = []
        for start, count in sorted((int(match[1]), int(match[2])) for match in matches):
            if start + count > first and (not blocks or start >= blocks[-1].stop):
                blocks.append(range(start, start + count))
        return blocks

    def lines(self, block: range) -> list[bytes]:
        return self.file(block).read_bytes().splitlines(keepends=True)

    def clear(self) -> None:
        """Delete all blocks, also those of other requests for the same file of rows."""
        for folder in self.folder.parent.glob(f"{glob.escape(self._prefix)}*"):
            shutil.rmtree(folder, ignore_errors=True)


class Engine(ABC):
    name: str

    @abstractmethod
    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: BlockSpool | None
    ) -> Iterator[Finished[Out]]:
        """Yield the results of all blocks, in any order."""


def demand_workers(workers: int) -> int:
    if workers < 1:
        raise SettingError(f"{workers} workers cannot do anything: give 1 or more")
    return workers


class InlineEngine(Engine):
    name = "inline"

    def run(
        self,
        task: Task[In, Out],
        blocks: Iterable[Block[In]],
        spool: BlockSpool | None = None,  # noqa: ARG002
    ) -> Iterator[Finished[Out]]:
        with task.ahead(blocks) as ready:
            for block in ready:
                rows = task.work(block.rows)
                usage = [task.take_usage()]
                yield Finished(block.start, len(block.rows), rows, block.position, usage)


INLINE = InlineEngine()

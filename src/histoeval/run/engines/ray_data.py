"""Many machines: Ray Data reads blocks, an actor pool works on them, and this process merges.

One task of Ray reads the input on this machine, in order, and waits while the actors have enough to
do. Each actor has a worker process of its own, which loads the models once; it writes the rows of a
block to the spool of finished blocks, on storage that all machines share. An actor that is killed
is started again, and so is its block.
"""

import os
import pickle
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import HistoEvalError, OutputError, Problem, SettingError
from histoeval.io.writing import make_folder, writing_to
from histoeval.run.engines.engine import Blocks, Engine, Finished, In, Out, Task, demand_workers
from histoeval.run.engines.local import FIRST_ROWS, Seat
from histoeval.run.engines.ray_cluster import ActorShare, connected, in_words, share_of, shows_logs
from histoeval.run.engines.spool import Spool
from histoeval.run.engines.worker import packed, spawn
from histoeval.runtime.recipe import portable
from histoeval.version import __version__

AHEAD = 3
"""Blocks that an actor has at a time: one that it works on, and those that wait beside it."""

BLOCK_BYTES = 8 * 2**20
"""What a block of long texts may take; more of them are not read ahead than these make."""


class RayEngine(Engine):
    """Actors of Ray, as many as the cluster has cores, or GPUs, if no number is given."""

    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._workers = None if workers is None else demand_workers(workers)
        self._address = address

    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: Spool | None
    ) -> Iterator[Finished[Out]]:
        """The results in the order in which they are finished."""
        if next(iter(blocks), None) is None:
            return
        package = packed(task)
        if spool is not None:
            with writing_to(spool.folder.parent):
                make_folder(spool.folder)
        with connected(self._address) as ray:
            share = share_of(ray.cluster_resources(), self._workers, task)
            station = Station.here(package, spool)
            try:
                for row in _stream(ray, _sent(blocks, share.actors), station, task.name, share):
                    yield row.finished()
            except ray.exceptions.RayError as error:
                raise in_words(error) from error


class BlockRow(NamedTuple):
    """A block as Ray sees it: one row of a table, with a pickle as its content."""

    start: int
    length: int
    position: int
    content: bytes

    def finished(self) -> Finished[Any]:
        """What an actor has made of it; an error that it has met is raised."""
        content = pickle.loads(self.content)
        if isinstance(content, Exception):
            raise content
        rows, usage = content
        return Finished(self.start, self.length, rows, self.position, usage)


def _sent(blocks: Blocks[Any], actors: int) -> bytes:
    """The input as the task that reads it gets it."""
    try:
        return pickle.dumps((str(Path.cwd()), blocks, actors))
    except Exception as error:  # pickle raises whatever the objects do
        raise SettingError(
            f"this input cannot be sent to another process: {error}; use --engine inline"
        ) from error


def read(package: bytes) -> Iterator[BlockRow]:
    """The blocks of the input, each small beside what came before, so that no actor ends late."""
    home, blocks, actors = pickle.loads(package)
    _go_to(home)
    limit, grows = blocks.size.rows, not blocks.size.fixed
    if grows:
        blocks.size.rows = min(FIRST_ROWS, limit)
    try:
        for start, rows in blocks:
            position = getattr(rows[-1], "position", 0)
            yield BlockRow(start, len(rows), position, pickle.dumps(rows))
            if grows:
                fair = (start + len(rows)) // (3 * actors)
                blocks.size.rows = min(max(fair, FIRST_ROWS), limit)
    except HistoEvalError as error:
        yield BlockRow(0, 0, 0, pickle.dumps(error))


def _go_to(home: str) -> None:
    """Let relative paths lead where they lead on the machine of the user, if this one has it."""
    with suppress(OSError):
        os.chdir(home)


@dataclass(frozen=True)
class Station:
    """What an actor needs to work as this process would: the task, the spool, the surroundings."""

    package: bytes
    spool: Spool | None
    home: str
    environment: Mapping[str, str]
    version: str

    @classmethod
    def here(cls, package: bytes, spool: Spool | None) -> "Station":
        """As this process has it."""
        ours = {name: text for name, text in os.environ.items() if name.startswith("HISTOEVAL_")}
        return cls(package, spool, str(Path.cwd()), ours, __version__)

    def open(self) -> Seat[Any, Any]:
        """Go there; an error where the work would come to nothing."""
        host = socket.gethostname()
        if self.version != __version__:
            raise SettingError(
                f"this is histoeval {self.version}, and {host} has {__version__}: install the same "
                "version on all machines of the cluster"
            )
        os.environ.update(self.environment)
        _go_to(self.home)
        if self.spool is not None and not self.spool.folder.is_dir():
            raise OutputError(
                f"{host} does not see {self.spool.folder.parent}: give an --output on storage that "
                "all machines of the cluster share"
            )
        _, caller, content = pickle.loads(self.package)
        package = pickle.dumps((list(sys.path), caller, content))
        return Seat(_PackedTask(content), partial(spawn, package))


class _PackedTask(Task[Any, Any]):
    """A task that is unpacked only when a row has killed its worker process."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def work(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Work is done in the worker process."""
        raise NotImplementedError

    def failed(self, row: Any, problem: Problem) -> Any:
        """As the task has it."""
        return pickle.loads(self._content).failed(row, problem)


class BlockWorker:
    """One of the pool: called with a block, it answers when the rows of that are finished."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._seat: Seat[Any, Any] | None = None

    def __call__(self, table: Any) -> Any:
        """The same row, its content replaced by results or by the error that ends the run."""
        return _table([self._done(BlockRow(**row)) for row in table.to_pylist()])

    def _done(self, block: BlockRow) -> BlockRow:
        try:
            content: Any = self._results(block)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where rows arrive
            content = portable(error)
        return block._replace(content=pickle.dumps(content))

    def _results(self, block: BlockRow) -> Any:
        """The rows, or None where they are in the spool, and what they cost."""
        rows, spool = pickle.loads(block.content), self._station.spool
        if isinstance(rows, Exception):
            raise rows
        if self._seat is None:
            self._seat = self._station.open()
        if spool is None:
            answer = self._seat.work(rows)
            return answer.rows, answer.usage
        if spool.has(range(block.start, block.start + block.length)):
            return None, ()  # finished by an actor that was killed before it could say so
        answer = self._seat.work(rows)
        with writing_to(spool.folder.parent):
            spool.put(block.start, answer.rows)
        return None, answer.usage


def _stream(
    ray: Any, package: bytes, station: Station, name: str, share: ActorShare
) -> Iterator[BlockRow]:
    """Read, work, and hand over what is finished, all at the same time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray warns of its own settings
        stages = _stages(ray.data, package, station, name, share)
    for table in stages.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from (BlockRow(**row) for row in table.to_pylist())


def _stages(data: Any, package: bytes, station: Station, name: str, share: ActorShare) -> Any:
    """The input, and the actors that work on it; nothing is begun yet."""
    with data.DataContext.current(_settings(data, share)):
        blocks = data.read_datasource(_source(data, package), num_cpus=0, override_num_blocks=1)
        return blocks.map_batches(
            type(name, (BlockWorker,), {}),  # a stage is called like its class
            fn_constructor_args=(station,),
            batch_size=1,
            batch_format="pyarrow",
            compute=data.ActorPoolStrategy(size=share.actors, max_tasks_in_flight_per_actor=AHEAD),
            num_cpus=share.cpus,
            num_gpus=share.gpus or None,
        )


def _settings(data: Any, share: ActorShare) -> Any:
    """One row of ours is one block of Ray's; a block may take as long as it takes.

    By itself Ray would read ahead until a good part of the shared memory is full.
    """
    context = data.DataContext.get_current().copy()
    context.target_max_block_size = 1
    context.execution_options.resource_limits = data.ExecutionResources.for_limits(
        object_store_memory=(share.actors + 4) * AHEAD * BLOCK_BYTES
    )
    context.execution_no_progress_timeout_s = -1
    context.enable_progress_bars = context.print_on_execution_start = shows_logs()
    context.enable_auto_log_stats = shows_logs()
    return context


def _source(data: Any, package: bytes) -> Any:
    """One task that reads, on this machine, and yields a block of Ray's for each of ours."""

    class Input(data.Datasource):  # type: ignore[misc]
        """Rows of the input, in order."""

        def get_name(self) -> str:
            return " input"

        def estimate_inmemory_data_size(self) -> None:
            return None

        @property
        def supports_distributed_reads(self) -> bool:
            return False

        def get_read_tasks(self, *_: Any, **__: Any) -> list[Any]:
            unknown = data.block.BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [data.ReadTask(lambda: map(_one_row, read(package)), unknown)]

    return Input()


def _one_row(block: BlockRow) -> Any:
    return _table([block])


def _table(blocks: Iterable[BlockRow]) -> Any:
    import pyarrow as pa

    columns = dict(zip(BlockRow._fields, zip(*blocks, strict=True), strict=False))
    types = {"content": pa.large_binary()}
    return pa.table(
        {name: pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()}
    )

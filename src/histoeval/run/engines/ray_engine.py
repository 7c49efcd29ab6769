"""Many machines: Ray Data reads blocks, an actor pool works on them, and this process merges.

One task of Ray reads the input on this machine, in order, and waits while the actors have enough to
do. Each actor has a worker process of its own, which loads the models once; it writes the rows of a
block to the spool of finished blocks, on storage that all machines share. An actor that is killed
is started again, and so is its block.
"""

import logging
import os
import pickle
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import (
    EndpointError,
    HistoEvalError,
    MissingDependency,
    OutputError,
    SettingError,
    pip_install,
)
from histoeval.io.writing import make_folder, writing_to
from histoeval.run.engines.engine import (
    FIRST_ROWS,
    Blocks,
    BlockSpool,
    Engine,
    Finished,
    In,
    Out,
    Task,
    demand_workers,
)
from histoeval.run.engines.worker import WorkerSlot, packed, spawn
from histoeval.runtime.memo import portable
from histoeval.runtime.threads import cores
from histoeval.version import __version__

LOGS = "HISTOEVAL_RAY_LOGS"
"""Set this in the environment to see what Ray itself logs, and its progress bars."""

ANSWER_S = 5.0
"""How long the head of a cluster may take to answer."""

LONGEST_FOLDER = 20
"""Ray makes sockets some folders further down, and the path of a socket must be short."""

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
        self, task: Task[In, Out], blocks: Blocks[In], spool: BlockSpool | None
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
            try:
                reader = pickle.dumps((str(Path.cwd()), blocks, share.actors))
            except Exception as error:  # pickle raises whatever the objects do
                raise SettingError(
                    f"this input cannot be sent to another process: {error}; use --engine inline"
                ) from error
            context = RayContext.here(package, spool)
            try:
                for row in _stream(ray, reader, context, task.name, share):
                    yield row.finished()
            except ray.exceptions.RayError as error:
                raise in_words(error) from error


class ActorShare(NamedTuple):
    """How many actors there are, and what each of them takes of the cluster."""

    actors: int
    cpus: float
    gpus: float


def share_of(resources: dict[str, float], workers: int | None, task: Any) -> ActorShare:
    """One actor for each core or GPU; what a server does needs one, if no number is given."""
    cpus, gpus = resources.get("CPU", 0), resources.get("GPU", 0)
    if task.on_gpu and gpus < 1:
        raise SettingError("the Ray cluster has no GPU: leave --device out")
    usual = int(gpus) if task.on_gpu else int(cpus) if task.parallel else 1
    actors = workers or usual or 1

    def share(count: float) -> float:
        """What an actor can have at most, if each is to find a place on some machine."""
        return 1 / ceil(actors / max(count, 1))

    return ActorShare(actors, share(cpus), share(gpus) if task.on_gpu else 0)


# --- blocks on their way -------------------------------------------------------------------------


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

    def table(self) -> Any:
        """A table of this row."""
        import pyarrow as pa

        numbers = {name: pa.array([getattr(self, name)], pa.int64()) for name in self._fields[:3]}
        return pa.table(numbers | {"content": pa.array([self.content], pa.large_binary())})


def read(package: bytes) -> Iterator[BlockRow]:
    """The blocks of the input, each small beside what came before, so that no actor ends late."""
    folder, blocks, actors = pickle.loads(package)
    _go_to(folder)
    limit = blocks.rows
    if not blocks.is_fixed:
        blocks.rows = min(FIRST_ROWS, limit)
    try:
        for block in blocks:
            count = len(block.rows)
            yield BlockRow(block.start, count, block.position, pickle.dumps(block.rows))
            if not blocks.is_fixed:
                fair = (block.start + count) // (3 * actors)
                blocks.rows = min(max(fair, FIRST_ROWS), limit)
    except HistoEvalError as error:
        yield BlockRow(0, 0, 0, pickle.dumps(error))


def _go_to(folder: str) -> None:
    """Let relative paths lead where they lead on the machine of the user, if this one has it."""
    with suppress(OSError):
        os.chdir(folder)


@dataclass(frozen=True)
class RayContext:
    """What an actor needs to work as this process would: the task, the spool, the surroundings."""

    package: bytes
    spool: BlockSpool | None
    folder: str
    environment: Mapping[str, str]
    version: str

    @classmethod
    def here(cls, package: bytes, spool: BlockSpool | None) -> "RayContext":
        """As this process has it."""
        ours = {name: text for name, text in os.environ.items() if name.startswith("HISTOEVAL_")}
        return cls(package, spool, str(Path.cwd()), ours, __version__)

    def open(self) -> WorkerSlot[Any, Any]:
        """A worker in these surroundings; an error where the work would come to nothing."""
        host = socket.gethostname()
        if self.version != __version__:
            raise SettingError(
                f"this is histoeval {self.version}, and {host} has {__version__}: install the same "
                "version on all machines of the cluster"
            )
        os.environ.update(self.environment)
        _go_to(self.folder)
        if self.spool is not None and not self.spool.folder.is_dir():
            raise OutputError(
                f"{host} does not see {self.spool.folder.parent}: give an --output on storage that "
                "all machines of the cluster share"
            )
        _, caller, task = pickle.loads(self.package)
        package = pickle.dumps((list(sys.path), caller, task))
        return WorkerSlot(
            lambda row, problem: pickle.loads(task).failed(row, problem), partial(spawn, package)
        )


class BlockActor:
    """One of the pool: called with a block, it answers when the rows of that are finished."""

    def __init__(self, context: RayContext) -> None:
        self._context = context
        self._slot: WorkerSlot[Any, Any] | None = None

    def __call__(self, table: Any) -> Any:
        """The same row, its content replaced by results or by the error that ends the run."""
        (values,) = table.to_pylist()
        row = BlockRow(**values)
        try:
            content: Any = self._results(row)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where rows arrive
            content = portable(error)
        return row._replace(content=pickle.dumps(content)).table()

    def _results(self, block: BlockRow) -> Any:
        """The rows, or None where they are in the spool, and what they cost."""
        rows, spool = pickle.loads(block.content), self._context.spool
        if isinstance(rows, Exception):
            raise rows
        if self._slot is None:
            self._slot = self._context.open()
        if spool is None:
            answer = self._slot.work(rows)
            return answer.rows, answer.usage
        if spool.file(range(block.start, block.start + block.length)).exists():
            return None, ()  # finished by an actor that was killed before it could say so
        answer = self._slot.work(rows)
        with writing_to(spool.folder.parent):
            spool.put(block.start, answer.rows)
        return None, answer.usage


def _stream(
    ray: Any, package: bytes, context: RayContext, name: str, share: ActorShare
) -> Iterator[BlockRow]:
    """Read, work, and hand over what is finished, all at the same time."""

    def read_blocks(_: Any) -> Iterator[Any]:
        for block in read(package):
            yield block.table()

    data = ray.data
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    with (
        warnings.catch_warnings(action="ignore"),  # Ray warns of its own settings
        data.DataContext.current(_settings(data, share)),
    ):
        tables = (
            data.range(1, override_num_blocks=1)
            .map_batches(read_blocks, batch_format="pyarrow", num_cpus=0, scheduling_strategy=here)
            .map_batches(
                type(name, (BlockActor,), {}),  # a stage is called like its class
                fn_constructor_args=(context,),
                batch_size=1,
                batch_format="pyarrow",
                compute=data.ActorPoolStrategy(
                    size=share.actors, max_tasks_in_flight_per_actor=AHEAD
                ),
                num_cpus=share.cpus,
                num_gpus=share.gpus or None,
            )
        )
    for table in tables.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from (BlockRow(**values) for values in table.to_pylist())


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


# --- the cluster ---------------------------------------------------------------------------------


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster; one that is started here is stopped at the end."""
    ray = _imported()
    if ray.is_initialized():
        yield ray
        return
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    _demand_answer(place)
    usual = tempfile.gettempdir()
    short = usual if len(usual) <= LONGEST_FOLDER else "/tmp"
    # the folder that Ray makes is open to all, and what it writes there holds report texts
    with tempfile.TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True) as own:
        _start(ray, place, Path(own))
        try:
            yield ray
        finally:
            ray.shutdown()


def _imported() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingDependency(f"--engine ray needs Ray: {pip_install('ray')}") from error
    if not shows_logs():
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    return ray


def _demand_answer(place: str) -> None:
    """Refuse an address where nobody answers at once: Ray itself would wait for minutes."""
    host, colon, port = place.rpartition(":")
    if "://" in place:
        raise EndpointError(
            f"{place} is an address of Ray Client, which is not supported: run the command on a "
            "machine of the cluster with --address auto, or by `ray job submit`"
        )
    if colon:
        try:
            socket.create_connection((host, int(port)), timeout=ANSWER_S).close()
        except (OSError, ValueError) as error:
            raise _no_cluster(place, error) from error


def _start(ray: Any, place: str, folder: Path) -> None:
    settings: dict[str, Any] = {
        "address": place,
        "logging_level": logging.INFO if shows_logs() else logging.CRITICAL,
        "log_to_driver": shows_logs(),
    }
    if place == "local":
        own = {"num_cpus": cores(), "include_dashboard": False, "_temp_dir": str(folder / "r")}
        settings |= own
    try:
        with _quiet():
            ray.init(**settings)
    except (ConnectionError, ValueError, OSError) as error:
        raise _no_cluster(place, error) from error
    except RuntimeError as error:
        raise EndpointError(
            f"the Ray cluster at {place} does not fit this installation: {error}"
        ) from error


def _no_cluster(place: str, error: Exception) -> EndpointError:
    return EndpointError(
        f"there is no Ray cluster at {place}: {_first_line(error)}; start one with `ray start "
        "--head`, or leave --address out"
    )


def shows_logs() -> bool:
    """Whether Ray may write to the terminal."""
    return os.environ.get(LOGS, "") not in ("", "0")


def in_words(error: Exception) -> EndpointError:
    """What Ray says of a run that has failed, in short."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, ModuleNotFoundError) or "No module named 'histoeval" in str(error):
        return EndpointError(
            "the machines of the Ray cluster have no histoeval, or another version of it: install "
            "this one there"
        )
    return EndpointError(
        f"Ray has stopped: {type(cause).__name__}: {_first_line(cause)} ({LOGS}=1 shows more); "
        "finished blocks are kept: run the same command again"
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray's own notes and warnings are kept off the terminal while it starts; no usage reports."""
    ours = {"RAY_USAGE_STATS_ENABLED": "0"}
    if not shows_logs():
        ours["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    added = {name: text for name, text in ours.items() if name not in os.environ}
    os.environ.update(added)
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        if not shows_logs():  # whoever writes to standard error
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        for name in added:
            os.environ.pop(name, None)

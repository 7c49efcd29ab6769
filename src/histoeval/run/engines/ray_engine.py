"""Many machines: Ray Data reads blocks, an actor pool works on them, and this process merges.

One task of Ray reads the input on this machine, in order, and waits while the actors have enough to
do. Each actor has a worker process of its own, which loads the models once; it writes the rows of a
block to the spool of finished blocks, on storage that all machines share. An actor that is killed
is started again, and so is its block. A block is one row of Ray's, and so one block of Ray's.
"""

import logging
import os
import pickle
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from math import ceil
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
    Block,
    Blocks,
    BlockSpool,
    Engine,
    Finished,
    In,
    Out,
    Task,
    demand_workers,
)
from histoeval.run.engines.local import WorkerSlot, packed, spawn
from histoeval.runtime.memo import portable
from histoeval.runtime.threads import cores
from histoeval.version import __version__

# set this in the environment to see what Ray itself logs, and its progress bars
LOGS = "HISTOEVAL_RAY_LOGS"
ANSWER_S = 5.0  # how long the head of a cluster may take to answer
# Ray makes sockets some folders further down, and the path of a socket must be short
LONGEST_FOLDER = 20
AHEAD = 3  # blocks that an actor has at a time: one that it works on, and those that wait beside it
# what a block of long texts may take; more of them are not read ahead than these make
BLOCK_BYTES = 8 * 2**20


class RayEngine(Engine):
    name = "ray"

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self._workers = None if workers is None else demand_workers(workers)
        self._address = address

    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: BlockSpool | None
    ) -> Iterator[Finished[Out]]:
        if next(iter(blocks), None) is None:
            return
        context = RayContext(packed(task), spool)
        if spool is not None:
            with writing_to(spool.folder.parent):
                make_folder(spool.folder)
        with connected(self._address) as ray:
            share = share_of(ray.cluster_resources(), self._workers, task)
            try:
                reader = pickle.dumps((context.folder, blocks, share.actors))
            except Exception as error:  # pickle raises whatever the objects do
                raise SettingError(
                    f"this input cannot be sent to another process: {error}; use --engine inline"
                ) from error
            try:
                yield from _stream(ray, reader, context, task.name, share)
            except ray.exceptions.RayError as error:
                raise in_words(error) from error


class ActorShare(NamedTuple):
    actors: int
    cpus: float
    gpus: float


def share_of(resources: dict[str, float], workers: int | None, task: Any) -> ActorShare:
    """Plan one actor per core or GPU; one alone if a server does the work and no number is given.

    None takes more than it can have if each is to find a place on some machine.
    """
    cpus, gpus = resources.get("CPU", 0), resources.get("GPU", 0)
    if task.on_gpu and gpus < 1:
        raise SettingError("the Ray cluster has no GPU: leave --device out")
    default_actors = int(gpus) if task.on_gpu else int(cpus) if task.parallel else 1
    actors = workers or default_actors or 1
    share = [1 / ceil(actors / max(count, 1)) for count in (cpus, gpus)]
    return ActorShare(actors, share[0], share[1] if task.on_gpu else 0)


def _stream(
    ray: Any, reader: bytes, context: "RayContext", name: str, share: ActorShare
) -> Iterator[Finished[Any]]:
    data = ray.data
    local_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    with warnings.catch_warnings(action="ignore"):  # Ray warns of its own settings
        settings = data.DataContext.get_current().copy()
        settings.target_max_block_size = 1
        settings.execution_options.resource_limits = data.ExecutionResources.for_limits(
            # by itself Ray would read ahead until a good part of the shared memory is full
            object_store_memory=(share.actors + 4) * AHEAD * BLOCK_BYTES
        )
        settings.execution_no_progress_timeout_s = -1  # a block may take as long as it takes
        settings.enable_progress_bars = settings.print_on_execution_start = shows_logs()
        settings.enable_auto_log_stats = shows_logs()
        with data.DataContext.current(settings):
            rows = (
                data.from_items([reader], override_num_blocks=1)
                .flat_map(read, num_cpus=0, scheduling_strategy=local_node)
                .map(
                    type(name, (BlockActor,), {}),  # a stage is called like its class
                    fn_constructor_args=(context,),
                    compute=data.ActorPoolStrategy(
                        size=share.actors, max_tasks_in_flight_per_actor=AHEAD
                    ),
                    num_cpus=share.cpus,
                    num_gpus=share.gpus or None,
                )
            )
    for row in rows.iter_rows():
        block = pickle.loads(row["content"])
        if isinstance(block, Exception):
            raise block
        yield block


def read(row: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield blocks that are small beside what came before, so that no actor ends late."""
    folder, blocks, actors = pickle.loads(row["item"])
    _go_to(folder)
    limit = blocks.rows
    if not blocks.is_fixed:
        blocks.rows = min(FIRST_ROWS, limit)
    try:
        for block in blocks:
            yield {"content": pickle.dumps(block)}
            if not blocks.is_fixed:
                fair_rows = (block.start + len(block.rows)) // (3 * actors)
                blocks.rows = min(max(fair_rows, FIRST_ROWS), limit)
    except HistoEvalError as error:
        yield {"content": pickle.dumps(error)}


def _go_to(folder: str) -> None:
    """Resolve relative paths as on the machine of the user, if this one has the folder."""
    with suppress(OSError):
        os.chdir(folder)


@dataclass(frozen=True)
class RayContext:
    package: bytes
    spool: BlockSpool | None
    folder: str = field(default_factory=os.getcwd)
    environment: dict[str, str] = field(
        default_factory=lambda: {
            name: text for name, text in os.environ.items() if name.startswith("HISTOEVAL_")
        }
    )
    version: str = __version__

    def open(self) -> WorkerSlot[Any, Any]:
        """Open a worker in this environment; raise an error if its work could not be used."""
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
    def __init__(self, context: RayContext) -> None:
        self._context = context
        self._slot: WorkerSlot[Any, Any] | None = None

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        block: Any = pickle.loads(row["content"])
        try:
            content = block if isinstance(block, Exception) else self._finished(block)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where rows arrive
            content = portable(error)
        return {"content": pickle.dumps(content)}

    def _finished(self, block: Block[Any]) -> Finished[Any]:
        self._slot = self._slot or self._context.open()
        spool, end = self._context.spool, block.start + len(block.rows)
        if spool is not None and spool.file(range(block.start, end)).exists():
            # by an actor that was killed before it could say so
            return Finished(block.start, len(block.rows), None, block.position)
        answer = self._slot.work(block.rows)
        if spool is not None:
            with writing_to(spool.folder.parent):
                spool.put(block.start, answer.rows)
        rows = answer.rows if spool is None else None
        return Finished(block.start, len(block.rows), rows, block.position, answer.usage)


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect Ray to a cluster; one that is started here is stopped at the end."""
    ray = _imported()
    if ray.is_initialized():
        yield ray
        return
    cluster = address or os.environ.get("RAY_ADDRESS") or "local"
    if "://" in cluster:
        raise EndpointError(
            f"{cluster} is an address of Ray Client, which is not supported: run the command on a "
            "machine of the cluster with --address auto, or by `ray job submit`"
        )
    temporary_folder = tempfile.gettempdir()
    short_folder = temporary_folder if len(temporary_folder) <= LONGEST_FOLDER else "/tmp"
    # the folder that Ray makes is open to all, and what it writes there holds report texts
    with tempfile.TemporaryDirectory(
        prefix="ray-", dir=short_folder, ignore_cleanup_errors=True
    ) as ray_folder:
        settings: dict[str, Any] = {
            "address": cluster,
            "logging_level": logging.INFO if shows_logs() else logging.CRITICAL,
            "log_to_driver": shows_logs(),
        }
        if cluster == "local":
            settings |= {
                "num_cpus": cores(),
                "include_dashboard": False,
                "_temp_dir": f"{ray_folder}/r",
            }
        host, separator, port = cluster.rpartition(":")
        try:
            if separator:  # where nobody answers at once, Ray itself would wait for minutes
                socket.create_connection((host, int(port)), timeout=ANSWER_S).close()
            with _quiet():
                ray.init(**settings)
        except (ConnectionError, ValueError, OSError) as error:
            raise EndpointError(
                f"there is no Ray cluster at {cluster}: {_first_line(error)}; start one with "
                "`ray start --head`, or leave --address out"
            ) from error
        except RuntimeError as error:
            raise EndpointError(
                f"the Ray cluster at {cluster} does not fit this installation: {error}"
            ) from error
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


def shows_logs() -> bool:
    return os.environ.get(LOGS, "") not in ("", "0")


def in_words(error: Exception) -> EndpointError:
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
    """Keep Ray's notes and warnings off the terminal while it starts; send no usage reports."""
    settings = {"RAY_USAGE_STATS_ENABLED": "0"}
    if not shows_logs():
        settings["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    added = {name: text for name, text in settings.items() if name not in os.environ}
    os.environ.update(added)
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        if not shows_logs():  # whoever writes to standard error
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 2)
            os.close(devnull)
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        for name in added:
            os.environ.pop(name, None)

"""Workers of odd tasks, forked or not, and workers that are closed, killed or interrupted."""

import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import histoeval
from histoeval.errors import EndpointError, HistoEvalError, Problem
from histoeval.report import Pair
from histoeval.run.engines.engine import Block
from histoeval.run.engines.local import ForkServer, StoppedError, WorkerDied, WorkerPool, packed
from histoeval.run.parallel_metric import MetricTask, ParallelMetric
from histoeval.runtime.onnx import Session
from tests.run.fatal_metric import FatalMetric
from tests.support.engine_jobs import Doubled, DoublingTask, ForkingTask, Item, gone, stat, worked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")


class Unreadable:
    """Can be pickled, but not unpickled in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _only_in, (os.getpid(),)


def _only_in(process: int) -> Unreadable:
    if os.getpid() != process:
        raise ValueError("this cannot be read here")
    return Unreadable()


class OddTask(DoublingTask):
    """What a text says happens."""

    def work(self, rows: Sequence[Item]) -> list[Any]:
        match rows[0].text:
            case "reads":
                return [Doubled(row.id, f"{sys.stdin.read()}nothing") for row in rows]
            case "slow":
                time.sleep(0.4)
            case "unpicklable":
                return [lambda: None]
            case "unreadable":
                return [Unreadable(), "x" * 3_000_000]
        return super().work(rows)


class ForkedTask(OddTask, ForkingTask):
    """Its workers are forked."""


class ConnectedTask(ForkedTask):
    """Opens a socket, as a metric of the user may that asks a server."""

    def work(self, rows: Sequence[Item]) -> list[Any]:
        self.sockets = socket.socketpair()
        return super().work(rows)


class ShortMetric(FatalMetric):
    """Answers for one pair too few."""

    def score(self, pairs: Sequence[Pair]) -> list[Any]:
        return super().score(pairs[1:])


def pool_of(task: DoublingTask, workers: int = 1) -> WorkerPool[Item, Doubled]:
    return WorkerPool(task, packed(task), workers)


def asked(pool: WorkerPool[Item, Doubled], *texts: str) -> list[Any]:
    """The results of rows with these texts, each in a block of its own."""
    blocks = [Block(at, [Item(str(at), text)]) for at, text in enumerate(texts)]
    found = {block.start: answer.rows[0] for block, answer in pool.work(blocks)}
    return [found[start] for start in sorted(found)]


def test_whoever_waits_for_a_pool_that_is_closed_is_told(tmp_path: Path) -> None:
    pool = pool_of(DoublingTask(tmp_path), 2)
    asked(pool, "a")
    ended: list[type[BaseException]] = []

    def ask() -> None:
        try:
            asked(pool, *["late"] * 400)
        except StoppedError as error:
            ended.append(type(error))

    threads = [Thread(target=ask, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    pool.close()
    for thread in threads:
        thread.join(10)
    assert ended == [StoppedError] * 8


def test_standard_input_is_empty(tmp_path: Path) -> None:
    with pool_of(OddTask(tmp_path)) as pool:
        assert asked(pool, "reads") == [Doubled("0", "nothing")]


@pytest.mark.parametrize(
    ("text", "reason"), [("unreadable", "cannot be read here"), ("unpicklable", "pickle")]
)
def test_an_answer_that_cannot_travel(text: str, reason: str, tmp_path: Path) -> None:
    with pool_of(OddTask(tmp_path)) as pool:
        lost, *others = asked(pool, text, "a" * 200_000, "poison", "b")
    assert (lost.error, reason in lost.text) == ("answer_lost", True)
    assert [row.error for row in others] == [None, "worker_died", None]
    assert others[0].text == "a" * 400_000


def test_after_an_error_nothing_more_is_begun(tmp_path: Path) -> None:
    with pool_of(OddTask(tmp_path), 2) as pool:
        asked(pool, "slow", "slow")
        with pytest.raises(EndpointError):
            asked(pool, "gone", "slow", "slow", "slow")
        time.sleep(1.5)
    assert len((tmp_path / "worked.txt").read_text().split()) < 5


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_forgotten_workers_end(tmp_path: Path) -> None:
    pool = pool_of(DoublingTask(tmp_path))
    pid = int(asked(pool, "pid")[0].text)
    del pool
    gc.collect()
    assert gone([pid])


def test_a_process_with_a_socket_is_not_forked(tmp_path: Path) -> None:
    with pool_of(ConnectedTask(tmp_path)) as pool:
        assert int(stat(int(asked(pool, "pid")[0].text))[1]) == os.getpid()


def test_a_row_that_kills_is_lost_where_sigchld_is_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pool_of(ForkedTask(tmp_path), 2) as pool:
            found = asked(pool, *["slow", "poison"] * 3)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert [row.error for row in found] == [None, "worker_died"] * 3


def test_a_folder_of_modules_may_be_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])
    with pool_of(DoublingTask(tmp_path)) as pool:
        assert asked(pool, "a") == [Doubled("0", "aa")]


def test_answers_that_are_too_few_are_no_answers_of_other_pairs() -> None:
    pairs = [Pair(id=str(n), reference="a", candidate="b") for n in range(3)]
    with ParallelMetric(ShortMetric(), 1) as several:
        found = several.score(pairs)
    assert [isinstance(each, Problem) for each in found] == [True] * 3


class ThreadedTask(ForkingTask):
    """Leaves a thread behind."""

    def work(self, rows: Sequence[Item]) -> list[Doubled]:
        Thread(target=time.sleep, args=(60,), daemon=True).start()
        return super().work(rows)


class ArrowTask(ForkingTask):
    """Imports pyarrow, as nltk does where scikit-learn and pandas are installed."""

    def work(self, rows: Sequence[Item]) -> list[Doubled]:
        import_module("pyarrow")
        return super().work(rows)


class Deadly(ForkingTask):
    """Dies of its own example."""

    def examples(self) -> list[Item]:
        return [Item("example", "poison")]


def parents(task: DoublingTask, workers: int = 3) -> tuple[set[int], set[int]]:
    """Who the workers are, and whose children."""
    pool = WorkerPool(task, packed(task), workers)
    with pool:
        pids = {int(slot.work([Item("r", "pid")]).rows[0].text) for slot in pool.slots}
        return pids, {parent(pid) for pid in pids}


def parent(pid: int) -> int:
    return int(stat(pid)[1])


def test_workers_are_forked_of_one_process_and_end_with_the_run(tmp_path: Path) -> None:
    pids, servers = parents(ForkingTask(tmp_path))
    assert len(pids) == 3
    assert len(servers) == 1
    assert os.getpid() not in servers
    assert gone([*pids, *servers])


@pytest.mark.heavy
def test_the_thread_of_arrows_allocator_hinders_no_fork(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    servers = parents(ArrowTask(tmp_path))[1]
    assert len(servers) == 1
    assert os.getpid() not in servers


@pytest.mark.parametrize("kind", [DoublingTask, ThreadedTask, Deadly])
def test_what_cannot_be_forked_is_started(kind: type[DoublingTask], tmp_path: Path) -> None:
    assert parents(kind(tmp_path), 2)[1] == {os.getpid()}


def test_a_gpu_is_never_forked(tmp_path: Path) -> None:
    task = ForkingTask(tmp_path)
    task.on_gpu = True
    assert parents(task, 2)[1] == {os.getpid()}


def test_a_killed_server_is_started_again_and_costs_no_row(tmp_path: Path) -> None:
    task = ForkingTask(tmp_path)
    with WorkerPool(task, packed(task), 1) as pool:
        (slot,) = pool.slots
        before = int(slot.work([Item("r", "pid")]).rows[0].text)
        server = parent(before)
        os.kill(server, signal.SIGKILL)
        assert gone([before, server])
        after = int(slot.work([Item("r", "pid")]).rows[0].text)
        assert parent(after) not in {server, os.getpid()}


def test_how_a_worker_has_ended_is_known(tmp_path: Path) -> None:
    server = ForkServer(packed(ForkingTask(tmp_path)), 2)
    assert server.process.begin()
    worker = server.fork()
    with pytest.raises(WorkerDied, match="killed by SIGKILL"):
        worker.work([Item("r", "poison")])
    other = server.fork()
    number = int(other.work([Item("r", "pid")]).rows[0].text)
    server.end()
    assert gone([number])
    with pytest.raises(WorkerDied, match="the process that it was forked of has ended"):
        other.work([Item("r", "a")])
    with pytest.raises(WorkerDied):
        server.fork()


def test_a_killed_run_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from pathlib import Path\n"
        "from histoeval.run.engines.local import LocalEngine\n"
        "from tests.support.engine_jobs import ForkingTask, doubled\n"
        f"doubled(['late'] * 4000, Path({str(tmp_path)!r}), LocalEngine(2), kind=ForkingTask)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)])
    while not (tmp_path / "worked.txt").exists() or not worked(tmp_path):
        assert process.poll() is None, "it ended before it was killed"
        time.sleep(0.02)
    (server,) = _children(process.pid)
    workers = _children(server)
    assert len(workers) == 2
    process.kill()
    process.wait()
    assert gone([server, *workers])


def _children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for found in lists for child in found.read_text().split()]


def test_a_run_that_is_stopped_while_models_load_ends_at_once(tmp_path: Path) -> None:
    task = ForkingTask(tmp_path)
    pool = WorkerPool(task, packed(task), 2)
    failed: list[BaseException] = []

    def start() -> None:
        try:
            pool.start()
        except HistoEvalError as error:
            failed.append(error)

    thread = Thread(target=start)
    thread.start()
    while pool._server is None:
        time.sleep(0.001)
    pool.close()
    thread.join(10)
    assert "was stopped" in str(failed[0])


@pytest.mark.parametrize("name", ["concordance", "hare"])
def test_the_example_opens_every_model(name: str) -> None:
    """What it leaves closed would be opened by each worker for itself."""
    task = pickle.loads(pickle.dumps(MetricTask(histoeval.load(name))))
    task.work(task.examples())
    metric = task.metric
    for model in (getattr(metric, each) for each in metric.models):
        found = list(_sessions(model))
        assert found
        assert all(session._session is not None for session in found)


def _sessions(thing: object, depth: int = 4) -> list[Session]:
    if isinstance(thing, Session):
        return [thing]
    parts = vars(thing).values() if depth and hasattr(thing, "__dict__") else ()
    return [session for part in parts for session in _sessions(part, depth - 1)]

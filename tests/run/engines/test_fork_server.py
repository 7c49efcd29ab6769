"""Workers that are forked of one process: the same rows, whatever happens to either."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread

import pytest

import histoeval
from histoeval.errors import HistoEvalError
from histoeval.report import Pair
from histoeval.run.engines.local import ForkServer, WorkerDied, WorkerPool, packed
from histoeval.run.parallel_metric import MetricTask
from histoeval.runtime.onnx import Session
from tests.support.engine_jobs import (
    Doubled,
    DoublingTask,
    ForkingTask,
    Item,
    gone,
    stat,
    worked,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")


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
def test_what_cannot_be_forked_is_started_by_itself(
    kind: type[DoublingTask], tmp_path: Path
) -> None:
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


def test_metrics_of_others_have_no_example() -> None:
    class Own:
        name = "own"

        def score(self, pairs: Sequence[Pair]) -> list[float]:
            return [0.0] * len(pairs)

    from histoeval.metrics.base import as_metric

    assert not MetricTask(as_metric(Own())).examples()
    assert MetricTask(histoeval.load("bleu")).examples()

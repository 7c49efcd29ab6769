"""Workers of odd tasks, and workers that are closed, forgotten or interrupted."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from histoeval.errors import EndpointError, Problem
from histoeval.report import Pair
from histoeval.run.engines.engine import Block
from histoeval.run.engines.local import StoppedError, WorkerPool, packed
from histoeval.run.parallel_metric import ParallelMetric
from tests.run.fatal_metric import FatalMetric
from tests.support.engine_jobs import Doubled, DoublingTask, ForkingTask, Item, gone, stat

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
def test_an_answer_that_cannot_travel_costs_its_row_and_no_other(
    text: str, reason: str, tmp_path: Path
) -> None:
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


def test_only_the_row_that_kills_is_lost_where_the_end_of_children_is_ignored(
    tmp_path: Path,
) -> None:
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

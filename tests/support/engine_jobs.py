"""Jobs for tests of engines: their task notes each row that it works on, and may die of one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import EndpointError, Problem
from histoeval.io.store import RowStore
from histoeval.run.engines.engine import Engine, Task
from histoeval.run.pipeline import Job, RunResult


class Item(NamedTuple):
    id: str
    text: str
    characters: int = 1
    position: int = 0


@dataclass(frozen=True)
class Doubled:
    id: str
    text: str
    error: str | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        return () if self.error is None else (Problem(self.error, self.text),)

    def line(self) -> bytes:
        return json.dumps(vars(self)).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> Doubled:
        return cls(**json.loads(line))


class DoublingTask(Task[Item, Doubled]):
    """Doubles texts. What a text says may also happen: poison, once, late, gone; pid asks who."""

    name = "double"
    small = 4

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        self.used = 0

    def work(self, rows: Sequence[Item]) -> list[Doubled]:
        return [self._doubled(row) for row in rows]

    def take_usage(self) -> int:
        used, self.used = self.used, 0
        return used

    def failed(self, row: Item, problem: Problem) -> Doubled:
        return Doubled(row.id, problem.message, problem.code)

    def _doubled(self, row: Item) -> Doubled:
        if row.text == "poison" or (row.text == "once" and self._is_first(row)):
            os.kill(os.getpid(), signal.SIGKILL)
        if row.text == "gone":
            raise EndpointError("the server is gone")
        if row.text == "pid":
            return Doubled(row.id, str(os.getpid()))
        time.sleep(0.03 if row.text == "late" else 0)
        with (self.notes / "worked.txt").open("a") as file:
            file.write(f"{row.id}\n")
        self.used += 1
        return Doubled(row.id, row.text * 2)

    def _is_first(self, row: Item) -> bool:
        try:
            (self.notes / f"{row.id}.died").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class ForkingTask(DoublingTask):
    """Doubles texts in forked workers; its example is not noted."""

    def examples(self) -> list[Item]:
        return [Item("example", "pid")]


class Items:
    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def rows(self) -> Iterator[Item]:
        return (Item(f"r{n}", text, 1, n + 1) for n, text in enumerate(self.texts))

    def identity(self) -> dict[str, Any]:
        return {"texts": len(self.texts)}

    def description(self) -> str:
        return "texts"


class DoublingJob(Job[Item, Doubled]):
    def __init__(self, texts: Sequence[str], notes: Path, block_rows: int | None = None) -> None:
        super().__init__(Items(texts), block_rows)
        self.task = DoublingTask(notes)
        self.charged = 0

    def charge(self, usage: int) -> None:
        self.charged += usage


def doubled(
    texts: Sequence[str],
    folder: Path,
    engine: Engine,
    block_rows: int | None = None,
    kind: type[DoublingTask] = DoublingTask,
) -> RunResult[Doubled]:
    """The job run into `folder/out.jsonl`; which rows were worked on is in `folder/worked.txt`."""
    folder.mkdir(exist_ok=True)
    store = RowStore(folder / "out.jsonl", Doubled.of_line)
    job = DoublingJob(texts, folder, block_rows)
    job.task = kind(folder)
    return job.run(store, engine=engine)


def worked(folder: Path) -> list[str]:
    return (folder / "worked.txt").read_text().split()


def stat(pid: int) -> list[str]:
    """State, parent and so on of a process of Linux; nothing where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def gone(pids: Iterable[int]) -> bool:
    """Whether processes have all ended, after a while; one that is not waited for is a zombie."""
    for _ in range(100):
        if all(stat(pid)[:1] in ([], ["Z"]) for pid in pids):
            return True
        time.sleep(0.05)
    return False

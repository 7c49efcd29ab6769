"""A task whose results have no word of a report in them, wherever it runs: `--no-texts`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from histoeval.errors import Problem
from histoeval.io.finished_run import without_texts
from histoeval.run.engines.engine import Block, Task


class TextlessTask(Task[Any, Any]):
    """Another task, with the words taken out of its results before anybody else sees them."""

    def __init__(self, task: Task[Any, Any]) -> None:
        self.task = task
        self.parallel = task.parallel
        self.on_gpu, self.shares_gpu = task.on_gpu, task.shares_gpu
        self.name, self.small = task.name, task.small

    def work(self, rows: Sequence[Any]) -> Sequence[Any]:
        """The results of the task, without texts."""
        return [without_texts(row) for row in self.task.work(rows)]

    def failed(self, row: Any, problem: Problem) -> Any:
        """The result of the task, without texts."""
        return without_texts(self.task.failed(row, problem))

    def examples(self) -> Sequence[Any]:
        """Those of the task."""
        return self.task.examples()

    def ahead(self, blocks: Iterable[Block[Any]]) -> AbstractContextManager[Iterable[Block[Any]]]:
        """As the task does."""
        return self.task.ahead(blocks)

    def take_usage(self) -> Any:
        """As the task does."""
        return self.task.take_usage()

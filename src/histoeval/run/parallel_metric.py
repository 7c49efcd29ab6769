"""A metric on all cores of this machine, for scoring batch after batch, as rewards do."""

import os
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from histoeval.errors import Problem
from histoeval.metric import Metric, Score
from histoeval.metrics.base import AdaptedMetric, one_each
from histoeval.report import Pair
from histoeval.run.engines.engine import (
    Block,
    Task,
    demand_workers,
    example_pairs,
    gpu_use,
    models_of,
)
from histoeval.run.engines.local import WorkerPool, packed
from histoeval.run.pipeline import answers

# Blocks for each worker, so that none waits long for the last one of another; where a GPU answers
# all of them, one, so that its batches are as full as they can be.
SHARES = 4


class MetricTask(Task[Pair, Any]):
    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.name = f"score with {metric.name}"
        self.on_gpu, self.shares_gpu = gpu_use(models_of([metric]))

    def work(self, rows: Sequence[Pair]) -> list[Score | Problem]:
        return answers(lambda batch: one_each(self.metric.score(batch), batch), rows, self._problem)

    def failed(self, row: Pair, problem: Problem) -> Problem:  # noqa: ARG002 - as all tasks
        return self._problem(problem.message)

    def examples(self) -> Sequence[Pair]:
        return example_pairs([self.metric])

    def _problem(self, message: str) -> Problem:
        return Problem(code="metric_failed", metric=self.metric.name, message=message)


class ParallelMetric(AdaptedMetric):
    """A metric whose batches are divided among processes, which stay until it is closed.

    Several threads may call it. A process that was forked has workers of its own, and so has a
    copy that was pickled. The scores are those of the metric itself, bit for bit.
    """

    def __init__(self, metric: Metric, workers: int) -> None:
        super().__init__(metric)
        self.workers = demand_workers(workers)
        self._shares_gpu = all(gpu_use(models_of([metric])))
        self._start()

    def _start(self) -> None:
        self._pool: WorkerPool[Pair, Any] | None = None
        self._home = os.getpid()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return ParallelMetric, (self._metric, self.workers)

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        answers_at: dict[int, Sequence[Score | Problem]] = {}
        try:
            for block, answer in self._running_pool().work(self._blocks(pairs)):
                answers_at[block.start] = answer.rows
        except KeyboardInterrupt:  # a worker may hang
            self.close()
            raise
        return [score for start in sorted(answers_at) for score in answers_at[start]]

    def _blocks(self, pairs: Sequence[Pair]) -> Iterator[Block[Pair]]:
        shares = 1 if self._shares_gpu else SHARES
        block_size = -(-len(pairs) // (shares * self.workers)) or 1
        return (
            Block(start, list(pairs[start : start + block_size]))
            for start in range(0, len(pairs), block_size)
        )

    def _running_pool(self) -> WorkerPool[Pair, Any]:
        if os.getpid() != self._home:  # the workers of the process that was forked are not ours
            self._start()
        with self._lock:
            if self._pool is None:
                task = MetricTask(self._metric)
                self._pool = WorkerPool(task, packed(task), self.workers)
            return self._pool

    def close(self) -> None:
        """End the processes; they start again with the next batch."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and os.getpid() == self._home:
            pool.close()

    def __enter__(self) -> "ParallelMetric":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

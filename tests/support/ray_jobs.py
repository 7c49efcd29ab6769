"""Jobs for tests of the Ray engine, and a small cluster for them."""

import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from histoeval.io.store import RowStore
from histoeval.run.engines.engine import Engine
from histoeval.run.pipeline import RunResult
from tests.support.engine_jobs import Doubled, DoublingJob, DoublingTask, Item


@contextmanager
def small_cluster() -> Iterator[Any]:
    """Ray on this machine, with little memory; its own warnings are not ours."""
    import ray

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            num_cpus=4,
            num_gpus=1,  # in name
            object_store_memory=150_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="CRITICAL",
        )
    try:
        yield ray
    finally:
        ray.shutdown()


class FellingTask(DoublingTask):
    """A text `fell` kills the actor of the worker process, the first time that it is met."""

    def _doubled(self, row: Item) -> Doubled:
        if row.text == "fell" and self._is_first(row):
            os.kill(os.getppid(), signal.SIGKILL)
        return super()._doubled(row)


class GpuTask(DoublingTask):
    on_gpu = True

    def _doubled(self, row: Item) -> Doubled:
        return Doubled(row.id, os.environ["CUDA_VISIBLE_DEVICES"])


def felled(texts: Sequence[str], folder: Path, engine: Engine, rows: int) -> RunResult[Doubled]:
    job = DoublingJob(texts, folder, rows)
    job.task = FellingTask(folder)
    return job.run(RowStore(folder / "out.jsonl", Doubled.of_line), engine=engine)

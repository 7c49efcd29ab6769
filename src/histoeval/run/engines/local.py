"""All cores of this machine: worker processes of one thread each, fed with blocks."""

import os
from collections.abc import Iterator
from itertools import chain
from typing import Literal

from histoeval.errors import SettingError
from histoeval.run.engines.engine import (
    FIRST_ROWS,
    INLINE,
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
from histoeval.run.engines.worker import WorkerPool, packed
from histoeval.runtime.threads import cores

EngineName = Literal["local", "ray", "inline"]

ENGINE_ENV = "HISTOEVAL_ENGINE"

BLOCK_S = 0.5  # how long a block should take: long beside sending it, short beside the whole run

FEW_ROWS, FEW_ROWS_S = 4, 2.0
"""A block may take so long for the sake of so many rows: neighbours share texts, and models are
faster on several."""


class LocalEngine(Engine):
    name = "local"

    def __init__(self, workers: int | None = None, *, demanded: bool = True) -> None:
        self._workers = None if workers is None else demand_workers(workers)
        self._demanded = demanded

    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: BlockSpool | None
    ) -> Iterator[Finished[Out]]:
        """The results in the order in which they are finished.

        What more processes would not speed up is done in this one: small inputs, what a server
        does and, if no number of workers is given, what a GPU does that they cannot share. So is
        what cannot be sent to another process, unless this engine was asked for.
        """
        keeps_gpu = task.on_gpu and not task.shares_gpu
        is_alone = self._workers is None and (keeps_gpu or cores() == 1)
        if not task.parallel or is_alone:
            yield from INLINE.run(task, blocks, spool)
            return
        limit = blocks.rows
        if not blocks.is_fixed:
            blocks.rows = min(limit, FIRST_ROWS)
        rest = iter(blocks)
        first: list[Block[In]] = []
        while sum(len(block.rows) for block in first) <= task.small and (block := next(rest, None)):
            first.append(block)
        is_small = sum(len(block.rows) for block in first) <= task.small
        package = None
        try:
            if self._demanded or not is_small:
                package = packed(task)
        except SettingError:
            if self._demanded:
                raise
        if package is None:
            blocks.rows = limit
            yield from INLINE.run(task, chain(first, rest))
            return
        with WorkerPool(task, package, self._workers or cores()) as pool:
            for block, answer in pool.work(chain(first, rest)):
                if not blocks.is_fixed:
                    blocks.rows = next_rows(len(block.rows), answer.seconds, limit)
                yield Finished(
                    block.start, len(block.rows), answer.rows, block.position, answer.usage
                )


def next_rows(rows: int, seconds: float, limit: int) -> int:
    """The rows of a block that takes as long as it should, at most twice or half of now."""
    speed = rows / max(seconds, 1e-6)
    wanted = max(speed * BLOCK_S, min(FEW_ROWS, speed * FEW_ROWS_S))
    return max(1, min(limit, round(min(max(wanted, rows / 2), rows * 2))))


def choose_engine(
    name: str | Engine | None = None, workers: int | None = None, address: str | None = None
) -> Engine:
    """The engine of a name; None is `local`, except for what is faster in this process.

    HISTOEVAL_ENGINE in the environment names the engine where nothing else does.
    """
    if isinstance(name, Engine):
        return name
    if address is not None and name != "ray":
        raise SettingError("--address names a Ray cluster: it goes with --engine ray")
    if name is None and workers is None:
        name = os.environ.get(ENGINE_ENV) or None
    if name == "inline":
        if workers not in (None, 1):
            raise SettingError("--engine inline is this process alone: leave --workers out")
        return INLINE
    if name is None or name == "local":
        return LocalEngine(workers, demanded=name == "local" or workers is not None)
    if name == "ray":
        from histoeval.run.engines.ray_engine import RayEngine

        return RayEngine(workers, address)
    raise SettingError(f"there is no engine {name!r}; known: local, ray, inline")

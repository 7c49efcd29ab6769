"""The one training loop: seeded, and after a kill it goes on where the last epoch ended.

Everything random in an epoch follows from the seed and the number of the epoch, so that a run
that was stopped and continued takes the very steps of one that was not.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from histoeval.report import Noun
from histoeval.train.core.checkpoint import Checkpoint

if TYPE_CHECKING:
    import torch

Watch = Callable[[int, int, float], None]
"""Told of steps done, steps in all, and the loss of the last one."""

Loss = Callable[[Any], "torch.Tensor"]
"""The loss of some examples, by their positions, or by what was prepared of them."""

Prepare = Callable[[Sequence[int]], Any]
"""What the loss needs of some examples, by their positions; it must not draw by chance."""

Begin = Callable[[int], None]
"""Told the number of an epoch before anything of it is prepared."""

_AHEAD = 4
"""Batches that are prepared while the model learns from the one before them."""

_TOLD_EVERY = 10
"""Steps between two calls of `watch`: to look at a loss, a GPU must be waited for."""


def nothing_new(epoch: int) -> None:
    """For those who learn from the same examples in every epoch."""


def nobody_watches(step: int, steps: int, loss: float) -> None:
    """For those who want no progress."""


class Schedule(Noun):
    """How long and how fast to learn: AdamW, a linear rise and a linear fall of the rate."""

    epochs: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    rate: Annotated[float, Field(gt=0)]
    head_rate: Annotated[float, Field(gt=0)] | None = None
    """Rate of what is not the encoder; the same when left out."""
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.0
    decay: Annotated[float, Field(ge=0)] = 0.01
    clip: Annotated[float, Field(gt=0)] = 1.0


def fit(
    model: Any,
    size: int,
    loss: Loss,
    schedule: Schedule,
    *,
    seed: int,
    prepare: Prepare = list,
    begin: Begin = nothing_new,
    encoder: str = "",
    checkpoint: Path | None = None,
    identity: str = "",
    watch: Watch = nobody_watches,
) -> None:
    """Train a model on `size` examples, which other threads `prepare` ahead of the loss.

    Parameters whose names begin with `encoder` learn at the schedule's rate, the others at its
    head rate. `begin` may draw other examples for each epoch. With a checkpoint, a stopped run with
    the same `identity` (of data and settings) goes on from its last finished epoch; one with
    another is refused.
    """
    import torch

    steps = schedule.epochs * math.ceil(size / schedule.batch)
    optimizer = _optimizer(model, schedule, encoder)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _share(step, steps, schedule.warm_up)
    )
    kept = Checkpoint(checkpoint, identity)
    first = _resume(kept, model, optimizer, rate)
    model.train()
    for epoch in range(first, schedule.epochs):
        torch.manual_seed(1_000_003 * seed + epoch)
        begin(epoch)
        batches = _batches(size, schedule.batch, f"{seed}/{epoch}")
        for batch in _ahead(prepare, batches):
            value = loss(batch)
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), schedule.clip)
            optimizer.step()
            rate.step()
            if rate.last_epoch % _TOLD_EVERY == 0 or rate.last_epoch == steps:
                watch(rate.last_epoch, steps, float(value.detach()))
        kept.keep(
            {
                "epoch": epoch + 1,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "rate": rate.state_dict(),
            }
        )
    model.eval()


def _optimizer(model: Any, schedule: Schedule, encoder: str) -> torch.optim.Optimizer:
    import torch

    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if n.startswith(encoder)], "lr": schedule.rate},
        {
            "params": [p for n, p in named if not n.startswith(encoder)],
            "lr": schedule.head_rate or schedule.rate,
        },
    ]
    on_gpu = any(parameter.is_cuda for _, parameter in named)
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        weight_decay=schedule.decay,
        fused=on_gpu,
    )


def _share(step: int, steps: int, warm_up: float) -> float:
    """The part of the full rate at a step."""
    rise = max(1.0, warm_up * steps)
    return min(1.0, (step + 1) / rise) * max(0.0, 1 - step / steps)


def _batches(size: int, most: int, seed: str) -> Iterator[list[int]]:
    order = list(range(size))
    random.Random(seed).shuffle(order)
    for first in range(0, size, most):
        yield order[first : first + most]


def _ahead(prepare: Prepare, batches: Iterator[list[int]]) -> Iterator[Any]:
    """What is prepared of each batch, in their order."""
    with ThreadPoolExecutor(_AHEAD) as pool:
        waiting = deque(pool.submit(prepare, batch) for batch in islice(batches, _AHEAD))
        while waiting:
            ready = waiting.popleft().result()
            waiting.extend(pool.submit(prepare, batch) for batch in islice(batches, 1))
            yield ready


def _resume(kept: Checkpoint, model: Any, optimizer: Any, rate: Any) -> int:
    """Load what a stopped run has left; how many epochs it had finished."""
    if (found := kept.found()) is None:
        return 0
    try:
        model.load_state_dict(found["model"])
        optimizer.load_state_dict(found["optimizer"])
        rate.load_state_dict(found["rate"])
        return int(found["epoch"])
    except (RuntimeError, KeyError, ValueError) as error:
        raise kept.misfit() from error

"""The one training loop: seeded, and after a kill it resumes from its last checkpoint.

Everything random follows from the seed and the step, or is part of the checkpoint, so that a run
that was stopped and resumed takes the very steps of one that was not. A training has one stage or
several. What a finished stage gave is stored, and the state of the one that is running, in one file
that is whole or not there at all; a checkpoint of other data or settings is refused.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from histoeval.errors import ModelError, OutputError
from histoeval.progress import ignore
from histoeval.report import Noun

if TYPE_CHECKING:
    import torch


CHECKPOINT = "checkpoint.pt"

Watch = Callable[[int, int, float], None]
"""Gets the steps done, the steps overall, and the loss of the last one."""


class Checkpoint:
    """The file of one training; without a path nothing is stored."""

    def __init__(self, path: Path | None = None, identity: str = "") -> None:
        self.path = path
        self.identity = identity
        found = {} if path is None or not path.exists() else _loaded(path)
        if found and found["identity"] != identity:
            raise OutputError(
                f"{path} belongs to a training with other data or settings: "
                "give another folder, or delete that file to restart"
            )
        self.done: dict[str, dict[str, Any]] = found.get("done", {})
        self.running: dict[str, Any] = found.get("running", {})

    def keep(self, running: Mapping[str, Any]) -> None:
        """Replace what was stored before; a kill in between loses neither."""
        import torch

        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.name}.part")
        torch.save({"identity": self.identity, "done": self.done, "running": running}, draft)
        draft.replace(self.path)


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """A part of a training that is stored and watched."""

    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    watch: Watch = ignore
    name: str = "training"
    before: int = 0
    """Steps of the stages before it."""
    steps_overall: int | None = None
    """Steps of all stages; those of this one when omitted."""

    @property
    def outcome(self) -> dict[str, Any] | None:
        """What the stage gave, if it is done."""
        return self.checkpoint.done.get(self.name)

    def finish(self, outcome: Mapping[str, Any]) -> None:
        """Store what the stage gave; its state is no longer needed."""
        self.checkpoint.done[self.name] = dict(outcome)
        self.checkpoint.keep({})

    def keep(self, state: Mapping[str, Any]) -> None:
        """Store the state of the stage."""
        self.checkpoint.keep({self.name: dict(state)})

    def resume(self, load: Callable[[Any], Any]) -> None:
        """Load the state that a stopped run has stored, if there is one."""
        if self.name in self.checkpoint.running:
            self.load(load, self.checkpoint.running.pop(self.name))

    def load(self, load: Callable[[Any], Any], state: Any) -> None:
        """Load a state; one that does not fit is of another model."""
        try:
            load(state)
        except (RuntimeError, KeyError, ValueError) as error:
            raise ModelError(
                f"{self.checkpoint.path} cannot be used: it is of another model; "
                "delete it to restart"
            ) from error

    def report(self, step: int, steps: int, loss: float) -> None:
        """Report the progress of this stage as that of the whole training."""
        self.watch(self.before + step, self.steps_overall or steps, loss)


def _loaded(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; what torch reports of a torn one is no help."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, UnpicklingError) as error:
        raise ModelError(
            f"{path} cannot be used: it is torn, or no checkpoint; delete it to restart"
        ) from error
    if not isinstance(found, dict) or not {"identity", "done", "running"} <= found.keys():
        raise ModelError(f"{path} cannot be used: it is no checkpoint of a training; delete it")
    return found


Loss = Callable[[Any], "torch.Tensor"]
"""The loss of a batch: positions of examples, or what was prepared of them."""

Prepare = Callable[[Sequence[int]], Any]
"""What the loss needs of the examples at some positions; it must not draw at random."""

_PREFETCHED = 4
"""Batches that are prepared while the model learns from the one before them."""

REPORT_EVERY = 10
"""Steps between two reports: to look at a loss, a GPU must be waited for."""


class Schedule(Noun):
    """How long and how fast to learn: AdamW, a linear rise and a linear fall of the rate."""

    epochs: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    rate: Annotated[float, Field(gt=0)]
    head_rate: Annotated[float, Field(gt=0)] | None = None
    """Rate of what is not the encoder; the same when omitted."""
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.0
    decay: Annotated[float, Field(ge=0)] = 0.01
    clip: Annotated[float, Field(gt=0)] = 1.0


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What the steps of a training need besides batches and their loss."""

    steps: int
    rate: Callable[[int], float]
    """The share of the full rate at a step."""
    keep_every: int
    """Steps between two checkpoints."""
    decay: float = 0.01
    clip: float = 1.0
    average: float = 0.0
    """How much of the running average of weights a step keeps; at 0 there is none."""
    sources: Mapping[str, torch.Generator] = field(default_factory=dict)
    """What batches and losses draw from, besides the seeded generator of torch."""
    history: list[float] = field(default_factory=list)
    """Values that the loss appends to and that a resumed run needs."""


class Learner:
    """A model with its optimiser: all that the next steps depend on."""

    def __init__(self, model: Any, groups: Sequence[dict[str, Any]], plan: StepPlan) -> None:
        import torch

        self.model, self.plan = model, plan
        self.learning = [weights for weights in model.parameters() if weights.requires_grad]
        self.device = next(model.parameters()).device
        on_gpu = self.device.type == "cuda"
        self.optimizer = torch.optim.AdamW(groups, weight_decay=plan.decay, fused=on_gpu)
        self.rates = [group["lr"] for group in groups]
        averaged = self.learning if plan.average else []
        self.averages = [weights.detach().clone() for weights in averaged]
        self.steps = 0
        """Those that were taken."""

    def step(self, loss: torch.Tensor) -> None:
        """Take one step."""
        import torch

        share = self.plan.rate(self.steps)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * share
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.learning, self.plan.clip)
        self.optimizer.step()
        if self.averages:
            now = [weights.detach() for weights in self.learning]
            torch._foreach_lerp_(self.averages, now, 1 - self.plan.average)
        self.steps += 1

    def finish(self) -> None:
        """Give the model the average of its weights, where one was kept."""
        for weights, average in zip(self.learning, self.averages, strict=False):
            weights.data.copy_(average)
        self.model.eval()

    def state(self) -> dict[str, Any]:
        """All that the next steps depend on."""
        import torch

        on_gpu = self.device.type == "cuda"
        return {
            "steps": self.steps,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averages": self.averages,
            "chance": torch.get_rng_state(),
            "chance_on_gpu": torch.cuda.get_rng_state(self.device) if on_gpu else None,
            "sources": {name: source.get_state() for name, source in self.plan.sources.items()},
            "history": list(self.plan.history),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Return to where a state was taken."""
        import torch

        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for average, before in zip(self.averages, state["averages"], strict=True):
            average.copy_(before)
        torch.set_rng_state(state["chance"])
        if state["chance_on_gpu"] is not None and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["chance_on_gpu"], self.device)
        for name, source in self.plan.sources.items():
            source.set_state(state["sources"][name])
        self.plan.history[:] = state["history"]
        self.steps = state["steps"]


def take_steps(
    model: Any,
    groups: Sequence[dict[str, Any]],
    batches: Callable[[int], Iterator[Any]],
    loss: Loss,
    plan: StepPlan,
    stage: TrainingStage,
) -> None:
    """Train a model; `batches` gives those that follow the steps that were taken before."""
    learner = Learner(model, groups, plan)
    stage.resume(learner.load)
    model.train()
    for batch in batches(learner.steps):
        value = loss(batch)
        learner.step(value)
        if learner.steps % REPORT_EVERY == 0 or learner.steps == plan.steps:
            stage.report(learner.steps, plan.steps, float(value.detach()))
        if learner.steps % plan.keep_every == 0:
            stage.keep(learner.state())
    learner.finish()


def fit(
    model: Any,
    size: int,
    loss: Loss,
    schedule: Schedule,
    *,
    seed: int,
    prepare: Prepare = list,
    begin: Callable[[int], None] = ignore,
    encoder: str = "",
    stage: TrainingStage | None = None,
) -> None:
    """Train a model on `size` examples, which other threads `prepare` ahead of the loss.

    Parameters whose names begin with `encoder` learn at the schedule's rate, the others at its
    head rate. `begin` gets the number of an epoch before anything of it is prepared, and may draw
    other examples. Every finished epoch is stored in the checkpoint of the stage.
    """
    import torch

    in_an_epoch = math.ceil(size / schedule.batch)
    steps = schedule.epochs * in_an_epoch

    def batches(taken: int) -> Iterator[Any]:
        """Those of all epochs that are not finished, seeded epoch by epoch."""
        for epoch in range(taken // in_an_epoch, schedule.epochs):
            torch.manual_seed(1_000_003 * seed + epoch)
            begin(epoch)
            yield from _prefetched(prepare, _batches(size, schedule.batch, f"{seed}/{epoch}"))

    plan = StepPlan(
        steps,
        lambda step: linear_share(step, steps, schedule.warm_up),
        in_an_epoch,
        schedule.decay,
        schedule.clip,
    )
    take_steps(
        model, _groups(model, schedule, encoder), batches, loss, plan, stage or TrainingStage()
    )


def _groups(model: Any, schedule: Schedule, encoder: str) -> list[dict[str, Any]]:
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if n.startswith(encoder)], "lr": schedule.rate},
        {
            "params": [p for n, p in named if not n.startswith(encoder)],
            "lr": schedule.head_rate or schedule.rate,
        },
    ]
    return [group for group in groups if group["params"]]


def linear_share(step: int, steps: int, warm_up: float) -> float:
    """The share of the full rate at a step: up in a line, then down in a line."""
    rise = max(1.0, warm_up * steps)
    return min(1.0, (step + 1) / rise) * max(0.0, 1 - step / steps)


def cosine_share(step: int, steps: int, warm_up: float) -> float:
    """The share of the full rate at a step: up in a line, then down in half a cosine."""
    done = step / steps
    if done < warm_up:
        return (done + 1e-3) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))


def _batches(size: int, most: int, seed: str) -> Iterator[list[int]]:
    order = list(range(size))
    random.Random(seed).shuffle(order)
    for first in range(0, size, most):
        yield order[first : first + most]


def _prefetched(prepare: Prepare, batches: Iterator[list[int]]) -> Iterator[Any]:
    """What is prepared of each batch, in their order."""
    with ThreadPoolExecutor(_PREFETCHED) as pool:
        waiting = deque(pool.submit(prepare, batch) for batch in islice(batches, _PREFETCHED))
        while waiting:
            ready = waiting.popleft().result()
            waiting.extend(pool.submit(prepare, batch) for batch in islice(batches, 1))
            yield ready

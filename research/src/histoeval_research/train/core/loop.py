"""The one training loop: seeded, and after a kill it resumes from its last checkpoint.

Everything random follows from the seed and the step, or is part of the checkpoint, so that a run
that was stopped and resumed takes the very steps of one that was not. A training has one stage or
several. The outcome of a finished stage is stored, and the state of the one that is running, in one
file that is whole or not there at all; a checkpoint of other data or settings is refused.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
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

# Gets the steps done, the steps overall, and the loss of the last one.
Watch = Callable[[int, int, float], None]

REPORT_EVERY = 10  # steps between two reports: to look at a loss, a GPU must be waited for

_PREFETCHED = 4  # batches that are prepared while the model learns from the one before them


def unwatched(_: str) -> AbstractContextManager[Watch]:  # a lambda cannot go to another process
    return nullcontext(ignore)


@dataclass(frozen=True, slots=True)
class TrainingSite:
    """Where trainings run, whether they replace earlier ones, and who is told how far they are."""

    device: str | None = None
    overwrite: bool = False
    # Gives the progress bar of a training or of a step of it, by its name.
    watching: Callable[[str], AbstractContextManager[Watch]] = unwatched
    tell: Callable[[str], object] = ignore  # gets a line on what is done now


THIS_MACHINE = TrainingSite()


class Checkpoint:
    """The file of one training; without a path nothing is stored."""

    def __init__(self, path: Path | None = None, identity: str = "") -> None:
        self.path = path
        self.identity = identity
        content = {} if path is None or not path.exists() else _load(path)
        if content and content["identity"] != identity:
            raise OutputError(
                f"{path} belongs to a training with other data or settings: "
                "give another folder, or delete that file to restart"
            )
        self.done: dict[str, dict[str, Any]] = content.get("done", {})
        self.running: dict[str, Any] = content.get("running", {})

    def keep(self, running: Mapping[str, Any]) -> None:
        """Replace what was stored before; a kill in between loses neither."""
        import torch

        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.name}.part")
        torch.save({"identity": self.identity, "done": self.done, "running": running}, draft)
        draft.replace(self.path)


def _load(path: Path) -> dict[str, Any]:
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, UnpicklingError) as error:
        raise ModelError(
            f"{path} cannot be used: it is torn, or no checkpoint; delete it to restart"
        ) from error
    if not isinstance(content, dict) or not {"identity", "done", "running"} <= content.keys():
        raise ModelError(f"{path} cannot be used: it is no checkpoint of a training; delete it")
    return content


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """A part of a training that is stored and watched."""

    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    watch: Watch = ignore
    name: str = "training"
    before: int = 0  # steps of the stages before it
    steps_overall: int | None = None  # steps of all stages; those of this one when omitted

    @property
    def is_done(self) -> bool:
        return self.name in self.checkpoint.done

    def once(self, act: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The outcome of the stage, from `act` unless it is stored."""
        if not self.is_done:
            self.checkpoint.done[self.name] = dict(act())
            self.checkpoint.keep({})
        return self.checkpoint.done[self.name]

    def keep(self, state: Mapping[str, Any]) -> None:
        self.checkpoint.keep({self.name: dict(state)})

    def resume(self, load: Callable[[Any], Any]) -> None:
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
        self.watch(self.before + step, self.steps_overall or steps, loss)


class Schedule(Noun):
    """How long and how fast to learn: AdamW, a linear rise and a linear fall of the rate."""

    epochs: Annotated[int, Field(ge=1)]
    batch: Annotated[int, Field(ge=1)]
    rate: Annotated[float, Field(gt=0)]
    # Rate of what is not the encoder; the same when omitted.
    head_rate: Annotated[float, Field(gt=0)] | None = None
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.0
    decay: Annotated[float, Field(ge=0)] = 0.01
    clip: Annotated[float, Field(gt=0)] = 1.0


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What the steps of a training need besides batches and their loss."""

    steps: int
    rate: Callable[[int], float]  # the share of the full rate at a step
    keep_every: int  # steps between two checkpoints
    decay: float = 0.01
    clip: float = 1.0
    # How much of the running average of weights a step keeps; at 0 there is none.
    average: float = 0.0
    # What batches and losses draw from, besides the seeded generator of torch.
    sources: Mapping[str, torch.Generator] = field(default_factory=dict)
    # Values that the loss appends to and that a resumed run needs.
    history: list[float] = field(default_factory=list)


def take_steps(
    model: Any,
    groups: Sequence[dict[str, Any]],
    batches: Callable[[int], Iterator[Any]],
    loss: Callable[[Any], torch.Tensor],
    plan: StepPlan,
    stage: TrainingStage,
) -> None:
    """Train a model; `batches` gives those that follow the steps that were taken before."""
    import torch

    learning = [weights for weights in model.parameters() if weights.requires_grad]
    device = next(model.parameters()).device
    on_gpu = device.type == "cuda"
    optimizer = torch.optim.AdamW(groups, weight_decay=plan.decay, fused=on_gpu)
    full_rates = [group["lr"] for group in groups]
    averages = [weights.detach().clone() for weights in learning if plan.average]
    taken = 0

    def load(state: Mapping[str, Any]) -> None:
        """Everything that the next steps depend on, as it was stored below."""
        nonlocal taken
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        for average, before in zip(averages, state["averages"], strict=True):
            average.copy_(before)
        torch.set_rng_state(state["chance"])
        if state["chance_on_gpu"] is not None and on_gpu:
            torch.cuda.set_rng_state(state["chance_on_gpu"], device)
        for name, source in plan.sources.items():
            source.set_state(state["sources"][name])
        plan.history[:] = state["history"]
        taken = state["steps"]

    stage.resume(load)
    model.train()
    for batch in batches(taken):
        share = plan.rate(taken)
        for group, rate in zip(optimizer.param_groups, full_rates, strict=True):
            group["lr"] = rate * share
        value = loss(batch)
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(learning, plan.clip)
        optimizer.step()
        if averages:
            now = [weights.detach() for weights in learning]
            torch._foreach_lerp_(averages, now, 1 - plan.average)
        taken += 1
        if taken % REPORT_EVERY == 0 or taken == plan.steps:
            stage.report(taken, plan.steps, float(value.detach()))
        if taken % plan.keep_every == 0:
            state = {
                "steps": taken,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "averages": averages,
                "chance": torch.get_rng_state(),
                "chance_on_gpu": torch.cuda.get_rng_state(device) if on_gpu else None,
                "sources": {name: source.get_state() for name, source in plan.sources.items()},
                "history": list(plan.history),
            }
            stage.keep(state)
    for weights, average in zip(learning, averages, strict=False):
        weights.data.copy_(average)
    model.eval()


def fit(
    model: Any,
    size: int,
    loss: Callable[[Any], torch.Tensor],
    schedule: Schedule,
    *,
    seed: int,
    prepare: Callable[[Sequence[int]], Any] = list,
    begin: Callable[[int], None] = ignore,
    encoder: str = "",
    stage: TrainingStage | None = None,
) -> None:
    """Train a model on `size` examples, which other threads `prepare` ahead of the loss."""
    # `prepare` gets the positions of some examples and must not draw at random. Parameters whose
    # names begin with `encoder` learn at the schedule's rate, the others at its head rate. `begin`
    # gets the number of an epoch before anything of it is prepared, and may draw other examples.
    # Every finished epoch is stored in the checkpoint of the stage.
    import torch

    steps_per_epoch = math.ceil(size / schedule.batch)
    steps = schedule.epochs * steps_per_epoch

    def batches(taken: int) -> Iterator[Any]:
        for epoch in range(taken // steps_per_epoch, schedule.epochs):
            torch.manual_seed(1_000_003 * seed + epoch)
            begin(epoch)
            order = list(range(size))
            random.Random(f"{seed}/{epoch}").shuffle(order)
            some = (order[i : i + schedule.batch] for i in range(0, size, schedule.batch))
            with ThreadPoolExecutor(_PREFETCHED) as pool:
                waiting = deque(pool.submit(prepare, batch) for batch in islice(some, _PREFETCHED))
                while waiting:
                    ready = waiting.popleft().result()
                    waiting.extend(pool.submit(prepare, batch) for batch in islice(some, 1))
                    yield ready

    parts: dict[bool, list[Any]] = {True: [], False: []}
    for name, weights in model.named_parameters():
        parts[name.startswith(encoder)].append(weights)
    rates = {True: schedule.rate, False: schedule.head_rate or schedule.rate}
    plan = StepPlan(
        steps,
        lambda step: linear_share(step, steps, schedule.warm_up),
        steps_per_epoch,
        schedule.decay,
        schedule.clip,
    )
    groups = [{"params": parts[own], "lr": rates[own]} for own in parts if parts[own]]
    take_steps(model, groups, batches, loss, plan, stage or TrainingStage())


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

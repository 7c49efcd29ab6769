"""How far a training has come, in one file that is whole or not there at all.

A training has one stage or several. What a finished stage gave is stored, and the state of the one
that is running, so that a training that was stopped resumes where it was. A checkpoint is known by
an identity, of data and settings; one of another training is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from histoeval.errors import ModelError, OutputError
from histoeval.progress import ignore

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

"""The stages of a training that share one checkpoint, and are watched as one.

A stage that is done is not run again: what it gave is kept. One that was stopped goes on from what
it kept last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from histoeval.train.core.checkpoint import Checkpoint
from histoeval.train.core.loop import Watch, nobody_watches

TOLD_EVERY = 10
"""Steps between two words on the loss: to look at one, a GPU must be waited for."""


class TrainingStage:
    """One stage: what it gave, or how far it has come."""

    def __init__(self, stages: TrainingStages, name: str, steps: int) -> None:
        self._stages = stages
        self._before = stages.steps_done
        self.name = name
        self.steps = steps
        stages.steps_done += steps

    @property
    def outcome(self) -> dict[str, Any] | None:
        """What the stage gave, if it is done."""
        return self._stages.done.get(self.name)

    def finish(self, outcome: Mapping[str, Any]) -> None:
        """Keep what the stage gave; how it came there is no longer needed."""
        self._stages.done[self.name] = dict(outcome)
        self._stages.keep({})

    def keep(self, state: Mapping[str, Any]) -> None:
        """Keep how far the stage has come."""
        self._stages.keep({self.name: dict(state)})

    def resume(self, load: Callable[[Any], None]) -> None:
        """Load what was kept before the stage was stopped, if anything was."""
        if self.name in self._stages.under_way:
            self.loaded(load, self._stages.under_way[self.name])

    def loaded(self, load: Callable[[Any], None], state: Any) -> None:
        """Load a state, and say plainly when it does not fit."""
        try:
            load(state)
        except (RuntimeError, KeyError, ValueError) as error:
            raise self._stages.kept.misfit() from error

    def tell(self, step: int, loss: float) -> None:
        """Tell those who watch that so many steps of this stage are done."""
        self._stages.watch(self._before + step, self._stages.steps, loss)


class TrainingStages:
    """All stages of a training, in the order in which they are begun."""

    def __init__(self, kept: Checkpoint, steps: int = 0, watch: Watch = nobody_watches) -> None:
        found = kept.found() or {}
        self.kept = kept
        self.done: dict[str, dict[str, Any]] = found.get("done", {})
        self.under_way: dict[str, dict[str, Any]] = found.get("under_way", {})
        self.steps = steps
        self.steps_done = 0
        self.watch = watch

    def begin(self, name: str, steps: int = 0) -> TrainingStage:
        """The next stage, which takes so many steps."""
        return TrainingStage(self, name, steps)

    def keep(self, under_way: Mapping[str, Any]) -> None:
        """Write what is done and what is under way."""
        self.under_way = dict(under_way)
        self.kept.keep({"done": self.done, "under_way": self.under_way})


def alone(name: str = "alone") -> TrainingStage:
    """A stage of nothing, which keeps nothing and tells nobody."""
    return TrainingStages(Checkpoint(None)).begin(name)

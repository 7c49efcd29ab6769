"""The text tower of a grounding model: a few layers of meaning, and a head to the space of images.

The few layers have learned where a larger aligner puts names. What they give, the meaning, is kept
beside the vector: whether a phrase is known at all is asked there, since in the space of images
everything is near something that was seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval.train.core.stages import TrainingStage, alone
from histoeval.train.grounding.model import PhraseHead

KEPT_EVERY = 250
"""Steps between two checkpoints of the text tower."""


@dataclass(frozen=True, slots=True)
class Distillation:
    """How the few layers learn from the aligner."""

    steps: int = 3000
    batch: int = 512
    rate: float = 5e-4
    warm_up: float = 0.05
    seed: int = 1


class PhraseTower(nn.Module):  # type: ignore[misc]
    """Phrases of the same length, of which nothing is padding, to vectors and meanings."""

    def __init__(self, meaning: Any, head: PhraseHead) -> None:
        super().__init__()
        self.meaning = meaning
        self.head = head

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The vector in the space of images, and the meaning; both of length one."""
        meaning = self.meaning(tokens, torch.ones_like(tokens))
        return self.head(meaning), meaning


def padded(rows: Sequence[Sequence[int]], padding: int = 0) -> npt.NDArray[np.int64]:
    """Rows of tokens, filled up to the longest."""
    table = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


class Student:
    """The few layers while they learn, with all that they need to go on."""

    def __init__(self, model: Any, how: Distillation) -> None:
        self.model, self.how = model, how
        self.device = next(model.parameters()).device
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=how.rate, weight_decay=0.01)
        self.near: list[float] = []
        """The mean cosine with the teacher in each step."""

    def step(self, rows: Sequence[Sequence[int]], wanted: Tensor, rate: float) -> float:
        """Learn where some rows of tokens belong, at this share of the rate; the loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.how.rate * rate
        tokens = torch.from_numpy(padded(rows)).to(self.device)
        mask = torch.from_numpy(_mask([len(row) for row in rows])).to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._on_gpu):
            given = self.model(tokens, mask)
        cosines = (given * wanted).sum(dim=-1)
        apart = (given @ given.T - wanted @ wanted.T).square().mean()
        loss = (1 - cosines).mean() + 10 * apart
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.near.append(float(cosines.detach().mean()))
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        """All that the next steps depend on, chance within the layers too."""
        return {
            "near": self.near,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "chance": torch.get_rng_state(),
            "chance_on_gpu": torch.cuda.get_rng_state(self.device) if self._on_gpu else None,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go back to where a state was taken."""
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.near = list(state["near"])
        torch.set_rng_state(state["chance"])
        if self._on_gpu and state["chance_on_gpu"] is not None:
            torch.cuda.set_rng_state(state["chance_on_gpu"], self.device)

    @property
    def _on_gpu(self) -> bool:
        return bool(self.device.type == "cuda")


def distil(
    student: Any,
    rows: Sequence[Sequence[int]],
    places: Callable[[Sequence[int]], Tensor],
    how: Distillation,
    *,
    until: float = math.inf,
    stage: TrainingStage | None = None,
) -> float:
    """Teach the student (tokens, mask to unit vectors) where the teacher puts names.

    `places` gives the teacher's vectors of some rows. The mean cosine between both over the last
    hundred steps comes back. With a stage a stopped run goes on.
    """
    stage = stage or alone()
    draws = np.random.default_rng(how.seed)
    torch.manual_seed(how.seed)
    pupil = Student(student, how)
    stage.resume(pupil.load)
    taken = len(pupil.near)
    student.train()
    for step in range(how.steps):
        chosen = draws.choice(len(rows), min(how.batch, len(rows)), replace=False).tolist()
        if step < taken:
            continue
        if time.time() > until:
            break
        wanted = places(chosen).to(pupil.device)
        loss = pupil.step([rows[i] for i in chosen], wanted, share(step / how.steps, how.warm_up))
        stage.tell(step + 1, loss)
        if (step + 1) % KEPT_EVERY == 0:
            stage.keep(pupil.state())
    student.eval()
    return float(np.mean(pupil.near[-100:])) if pupil.near else math.nan


def _mask(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    places = np.arange(max(lengths))
    return np.asarray(places[None] < np.array(lengths)[:, None], np.int64)


def share(done: float, warm_up: float) -> float:
    """Of the rate: up in a line, then down in half a wave."""
    if done < warm_up:
        return (done + 1e-3) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))

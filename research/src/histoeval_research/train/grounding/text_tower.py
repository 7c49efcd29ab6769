"""The text tower of a grounding model: a few layers of meaning, and a head to the space of images.

The few layers have learned where a larger aligner puts names. What they give, the meaning, is kept
beside the vector: whether a phrase is known at all is asked there, since in the space of images
everything is near something that was seen.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval_research.train.core.checkpoint import TrainingStage
from histoeval_research.train.core.loop import StepPlan, cosine_share, take_steps
from histoeval_research.train.grounding.model import PhraseHead

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


def distil(
    student: Any,
    rows: Sequence[Sequence[int]],
    places: Callable[[Sequence[int]], Tensor],
    how: Distillation,
    stage: TrainingStage | None = None,
) -> float:
    """Train the student (tokens, mask to unit vectors) to put names where the teacher does.

    `places` gives the teacher's vectors of some rows. The mean cosine between both over the last
    hundred steps comes back. With a stage a stopped run resumes.
    """
    device = next(student.parameters()).device
    near: list[float] = []
    torch.manual_seed(how.seed)

    def batches(taken: int) -> Iterator[list[int]]:
        """Rows drawn at random, the same for the same seed."""
        draws = np.random.default_rng(how.seed)
        size = min(how.batch, len(rows))
        drawn = (draws.choice(len(rows), size, replace=False).tolist() for _ in range(how.steps))
        return islice(drawn, taken, None)

    def loss(chosen: list[int]) -> Tensor:
        """How far the vectors, and the cosines between them, are from those of the teacher."""
        some, wanted = [rows[i] for i in chosen], places(chosen).to(device)
        tokens = torch.from_numpy(padded(some)).to(device)
        mask = torch.from_numpy(_mask([len(row) for row in some])).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            given = student(tokens, mask)
        cosines = (given * wanted).sum(dim=-1)
        near.append(float(cosines.detach().mean()))
        apart = (given @ given.T - wanted @ wanted.T).square().mean()
        return (1 - cosines).mean() + 10 * apart

    plan = StepPlan(
        how.steps,
        lambda step: cosine_share(step, how.steps, how.warm_up),
        keep_every=KEPT_EVERY,
        history=near,
    )
    groups = [{"params": list(student.parameters()), "lr": how.rate}]
    take_steps(student, groups, batches, loss, plan, stage or TrainingStage())
    return float(np.mean(near[-100:])) if near else math.nan


def _mask(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    places = np.arange(max(lengths))
    return np.asarray(places[None] < np.array(lengths)[:, None], np.int64)

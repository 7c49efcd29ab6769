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

from histoeval.train.grounding_model import PhraseHead


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
    *,
    until: float = math.inf,
) -> float:
    """Teach the student (tokens, mask to unit vectors) where the teacher puts names.

    `places` gives the teacher's vectors of some rows. The mean cosine between both over the last
    hundred steps comes back.
    """
    device = next(student.parameters()).device
    optimiser = torch.optim.AdamW(student.parameters(), lr=how.rate, weight_decay=0.01)
    draws = np.random.default_rng(how.seed)
    torch.manual_seed(how.seed)
    near: list[float] = []
    student.train()
    for step in range(how.steps):
        if time.time() > until:
            break
        for group in optimiser.param_groups:
            group["lr"] = how.rate * share(step / how.steps, how.warm_up)
        chosen = draws.choice(len(rows), min(how.batch, len(rows)), replace=False).tolist()
        tokens = torch.from_numpy(padded([rows[i] for i in chosen])).to(device)
        mask = torch.from_numpy(_mask([len(rows[i]) for i in chosen])).to(device)
        wanted = places(chosen).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            given = student(tokens, mask)
        cosines = (given * wanted).sum(dim=-1)
        apart = (given @ given.T - wanted @ wanted.T).square().mean()
        loss = (1 - cosines).mean() + 10 * apart
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        near.append(float(cosines.detach().mean()))
    student.eval()
    return float(np.mean(near[-100:])) if near else math.nan


def _mask(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    places = np.arange(max(lengths))
    return np.asarray(places[None] < np.array(lengths)[:, None], np.int64)


def share(done: float, warm_up: float) -> float:
    """Of the rate: up in a line, then down in half a wave."""
    if done < warm_up:
        return (done + 1e-3) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (done - warm_up) / (1 - warm_up)))

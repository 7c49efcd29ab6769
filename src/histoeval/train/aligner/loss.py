"""The multi-similarity loss with mined pairs, as SapBERT uses it.

Wang et al. 2019 (multi-similarity loss), Liu et al. 2021 (SapBERT). The values are those of the
published SapBERT code: alpha 1, beta 60, base 0.5, and a margin of 0.2 in Euclidean distance for
the miner, which keeps the pairs of all triplets that are not yet told apart by the margin.
"""

from __future__ import annotations

import torch
from torch import Tensor

ALPHA, BETA, BASE, MARGIN = 1.0, 60.0, 0.5, 0.2


def multi_similarity(
    vectors: Tensor,
    labels: Tensor,
    neither: Tensor | None = None,
    *,
    margin: float = MARGIN,
    base: float = BASE,
) -> Tensor:
    """The loss of unit-length vectors with labels.

    `neither` marks pairs, as a square of booleans, that are not to be learned from: they are not
    the same, and not different either.
    """
    alike = vectors @ vectors.T
    same = labels[:, None] == labels[None, :]
    different = ~same
    if neither is not None:
        different = different & ~neither
    same = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    with torch.no_grad():
        near, far = _hard(alike.detach(), same, different, margin)
    pull = _log_one_plus_sum(-ALPHA * (alike - base), near) / ALPHA
    push = _log_one_plus_sum(BETA * (alike - base), far) / BETA
    return (pull + push).mean()


def _hard(alike: Tensor, same: Tensor, different: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Pairs in some triplet whose positive is not nearer than its negative by the margin."""
    distance = (2 - 2 * alike).clamp(min=0).sqrt()
    farthest = distance.masked_fill(~same, -torch.inf).amax(dim=1, keepdim=True)
    nearest = distance.masked_fill(~different, torch.inf).amin(dim=1, keepdim=True)
    return same & (distance + margin >= nearest), different & (distance <= farthest + margin)


def _log_one_plus_sum(values: Tensor, kept: Tensor) -> Tensor:
    """Log of one plus the sum of the exponentials of what is kept in each row."""
    zero = torch.zeros_like(values[:, :1])
    return torch.logsumexp(torch.cat([zero, values.masked_fill(~kept, -torch.inf)], dim=1), dim=1)

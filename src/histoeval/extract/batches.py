"""How sequences of different length are put together for a model."""

from __future__ import annotations

from collections.abc import Sequence


def batches(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Group positions, longest first, so that a padded batch holds at most `token_budget` tokens.

    Longest first, because neighbours in length waste the least padding, and because a machine
    that is too small says so in the first batch and not in the last. A sequence longer than the
    budget gets a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    groups: list[list[int]] = []
    room = 0
    for i in order:
        if not room:
            groups.append([])
            room = max(1, token_budget // max(1, lengths[i]))
        groups[-1].append(i)
        room -= 1
    return groups

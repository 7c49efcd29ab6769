"""How sequences of different length are put together for a model."""

from collections.abc import Sequence
from itertools import groupby


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


LENGTH_STEP = 64


def steady_shape(length: int, token_budget: int) -> tuple[int, int]:
    """Width and height of the batch that a sequence of this length always runs in."""
    width = -(-max(1, length) // LENGTH_STEP) * LENGTH_STEP
    return width, max(1, token_budget // width)


def steady_batches(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Like `batches`, but a batch holds one class of length only, so that its shape is fixed."""
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    groups: list[list[int]] = []
    for _, members in groupby(order, key=lambda i: steady_shape(lengths[i], token_budget)):
        alike = list(members)
        _, height = steady_shape(lengths[alike[0]], token_budget)
        groups += [alike[i : i + height] for i in range(0, len(alike), height)]
    return groups

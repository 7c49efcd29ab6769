"""Batches of sequences of different length."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]


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


def alike(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Group positions of equal length, at most so many together, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    return [
        members[first : first + most]
        for _, positions in groupby(order, key=lambda i: lengths[i])
        for members in [list(positions)]
        for first in range(0, len(members), most)
    ]


def padded(rows: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """The rows as one array, with zeros behind those that are shorter than the longest."""
    table = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, tokens in zip(table, rows, strict=True):
        row[: len(tokens)] = tokens
    return table


LENGTH_STEP = 16


def steady_shape(length: int, token_budget: int) -> tuple[int, int]:
    """Width and height of the batch that a sequence of this length always runs in.

    Each has padding: where a batch has none, Transformers takes another way to the answer, which
    rounds otherwise.
    """
    width = (length // LENGTH_STEP + 1) * LENGTH_STEP
    return width, max(1, token_budget // width)


class SteadyPlan:
    """Batches of one class of length each, so that their shape is fixed.

    A sequence waits until a batch of its class is full.
    """

    def __init__(self, token_budget: int) -> None:
        self._token_budget = token_budget
        self._waiting: dict[int, list[Tokens]] = defaultdict(list)

    def add(self, sequences: Sequence[Tokens]) -> Iterator[list[Tokens]]:
        for sequence in sequences:
            self._waiting[steady_shape(len(sequence), self._token_budget)[0]].append(sequence)
        for width in sorted(self._waiting, reverse=True):
            height = max(1, self._token_budget // width)
            while len(waiting := self._waiting[width]) >= height:
                self._waiting[width] = waiting[height:]
                yield waiting[:height]

    def rest(self) -> list[list[Tokens]]:
        groups = [self._waiting[width] for width in sorted(self._waiting, reverse=True)]
        self._waiting.clear()
        return [members for members in groups if members]

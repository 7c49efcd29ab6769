"""A sample that depends on ids and a seed, and on nothing else."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def drawn(items: Sequence[T], names: Sequence[str], most: int, seed: int = 0) -> list[T]:
    """At most so many of the items, in their order."""
    ranked = sorted(range(len(items)), key=lambda place: _rank(names[place], seed))
    return [items[place] for place in sorted(ranked[:most])]


def _rank(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()

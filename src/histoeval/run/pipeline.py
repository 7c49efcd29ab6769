"""Work in chunks: never too much at once, and nobody pays for the failure of another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from histoeval.errors import EndpointError, OutputError, Problem

T = TypeVar("T")
A = TypeVar("A")

Watch = Callable[[int, int, int], None]
"""Told of rows done, rows with errors, and bytes read."""


def nobody_watches(rows: int, errors: int, position: int) -> None:
    """For those who do not want to be told."""


def tell(rows: Iterable[T], listeners: Sequence[Callable[[T], None]]) -> None:
    """Give every row to everyone who listens."""
    for row in rows:
        for listener in listeners:
            listener(row)


def chunks(
    rows: Iterable[T], most: int, most_characters: int, characters: Callable[[T], int]
) -> Iterator[list[T]]:
    """Rows together, as many as `most`; fewer where they are long, so that memory stays flat."""
    chunk: list[T] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += characters(row)
        if len(chunk) >= most or size >= most_characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def answers(
    ask: Callable[[Sequence[T]], Sequence[A]],
    items: Sequence[T],
    failed: Callable[[str], Problem],
) -> list[A | Problem]:
    """An answer for each item; when asking breaks, one by one, so that only the culprit has none.

    `ask` raises where it has not one good answer for each item, and `failed` says what became of
    it. A service that is gone, or a disk that is full, would fail every item, and stops
    the run instead.
    """
    if not items:
        return []
    try:
        return list(ask(items))
    except (EndpointError, OutputError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model does wrong, the run goes on
        if len(items) > 1:
            return [answer for item in items for answer in answers(ask, [item], failed)]
        return [failed(f"{type(error).__name__}: {error}")]

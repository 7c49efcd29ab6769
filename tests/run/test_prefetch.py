"""Metrics that prefetch see pairs in advance; nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.io.pairs import PairRow
from histoeval.report import Pair
from histoeval.run import score
from histoeval.run.engines.engine import Block
from histoeval.run.score import ScoreTask, read_ahead


@dataclass
class Waiting:
    """A metric that notes what it was shown."""

    ahead: int
    name: str = "waiting"
    seen: list[str] = field(default_factory=list)
    stopped: bool = False

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self.seen += [pair.id for pair in pairs]

    def stop_prefetch(self) -> None:
        self.stopped = True


def row(number: int, text: str = "a") -> PairRow:
    pair = Pair(id=str(number), reference=text, candidate=text)
    return PairRow(
        number=number, id=str(number), system="s", pair=pair, problems=(), position=number
    )


def sizes(total: int, each: int) -> Iterator[Block[PairRow]]:
    for first in range(0, total, each):
        yield Block(first, [row(number) for number in range(first, min(total, first + each))])


@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 30))
def test_blocks_stay_as_they_are_and_are_shown_before_they_come(
    total: int, each: int, ahead: int
) -> None:
    metric = Waiting(ahead)
    come = 0
    for block in read_ahead(sizes(total, each), [metric]):
        assert [one.number for one in block.rows] == list(range(come, come + len(block.rows)))
        come += len(block.rows)
        assert come <= len(metric.seen) <= come + ahead + each
    assert come == len(metric.seen) == total


def test_where_nobody_waits_nothing_is_held_back() -> None:
    read: list[int] = []

    def blocks() -> Iterator[Block[PairRow]]:
        for number in range(5):
            read.append(number)
            yield Block(number, [row(number)])

    coming = read_ahead(blocks(), [])
    next(coming)
    assert read == [0]


def test_long_texts_are_not_held_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "AHEAD_CHARACTERS", 1000)
    metric = Waiting(500)
    blocks = (Block(n, [row(n, "x" * 300)]) for n in range(50))
    for come, _ in enumerate(read_ahead(blocks, [metric])):
        assert len(metric.seen) <= come + 3


def test_whatever_happens_the_prefetching_is_stopped() -> None:
    metric = Waiting(10)
    task = ScoreTask([cast("Any", metric)], {})

    def interrupted() -> None:
        with task.ahead(sizes(6, 2)) as blocks:
            next(iter(blocks))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(metric.seen) == 6
    assert metric.stopped

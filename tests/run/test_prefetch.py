"""Metrics that prefetch see pairs in advance; nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.io.pairs import PairRow
from histoeval.report import Pair
from histoeval.run import score
from histoeval.run.score import ScoreJob, read_ahead


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


def sizes(total: int, each: int) -> Iterator[list[PairRow]]:
    for first in range(0, total, each):
        yield [row(number) for number in range(first, min(total, first + each))]


@given(st.integers(0, 60), st.integers(1, 7), st.integers(1, 30))
def test_chunks_stay_as_they_are_and_are_shown_before_they_come(
    total: int, each: int, ahead: int
) -> None:
    metric = Waiting(ahead)
    come = 0
    for chunk in read_ahead(sizes(total, each), [metric]):
        assert [one.number for one in chunk] == list(range(come, come + len(chunk)))
        come += len(chunk)
        assert come <= len(metric.seen) <= come + ahead + each
    assert come == len(metric.seen) == total


def test_where_nobody_waits_nothing_is_held_back() -> None:
    read: list[int] = []

    def chunks() -> Iterator[list[PairRow]]:
        for number in range(5):
            read.append(number)
            yield [row(number)]

    coming = read_ahead(chunks(), [])
    next(coming)
    assert read == [0]


def test_long_texts_are_not_held_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "AHEAD_CHARACTERS", 1000)
    metric = Waiting(500)
    for come, _ in enumerate(read_ahead(([row(n, "x" * 300)] for n in range(50)), [metric])):
        assert len(metric.seen) <= come + 3


def test_whatever_happens_the_prefetching_is_stopped() -> None:
    metric = Waiting(10)
    job: Any = SimpleNamespace(metrics=[metric], unavailable={})

    def interrupted() -> None:
        with ScoreJob._prefetched(job, sizes(6, 2)) as chunks:
            next(iter(chunks))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(metric.seen) == 6
    assert metric.stopped

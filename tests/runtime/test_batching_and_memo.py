from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.runtime.batching import SteadyPlan, batches, steady_shape
from histoeval.runtime.memo import PROCESSES, Memory


@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 2000))
def test_every_position_is_in_one_batch_and_no_batch_is_over_budget(
    lengths: list[int], budget: int
) -> None:
    groups = batches(lengths, budget)
    assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[i] for i in group) <= budget
    order = [lengths[i] for group in groups for i in group]
    assert order == sorted(lengths, reverse=True)


def recording(**settings: Any) -> tuple[Memory[str, str], list[str]]:
    """A memory, and the texts that it has asked for."""
    asked: list[str] = []

    def answer(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return [text.upper() for text in texts]

    return Memory(answer, **settings), asked


def test_the_same_text_is_answered_once() -> None:
    memory, asked = recording()
    assert memory(["a", "b", "a"]) == ["A", "B", "A"]
    assert memory(["b", "c"]) == ["B", "C"]
    assert asked == ["a", "b", "c"]


def test_memory_is_bounded_and_a_call_larger_than_it_is_still_answered() -> None:
    memory, asked = recording(most=2)
    assert memory(["a", "b", "c"]) == ["A", "B", "C"]
    assert memory(["c"]) == ["C"]
    assert memory(["a"]) == ["A"]
    assert asked == ["a", "b", "c", "a"]


@given(st.lists(st.lists(st.integers(1, 600), max_size=40), max_size=4), st.integers(1, 20_000))
def test_steady_batches_have_a_shape_that_follows_from_each_length_alone(
    chunks: list[list[int]], budget: int
) -> None:
    plan, groups = SteadyPlan(budget), []
    given_sequences = [[(number,) * length for length in c] for number, c in enumerate(chunks)]
    for chunk in given_sequences:
        for group in plan.add(chunk):
            assert len(group) == steady_shape(len(group[0]), budget)[1], "only full ones start"
            groups.append(group)
    groups += plan.rest()
    assert sorted(s for group in groups for s in group) == sorted(chain(*given_sequences))
    for group in groups:
        ((width, height),) = {steady_shape(len(sequence), budget) for sequence in group}
        assert len(group) <= height
        assert max(map(len, group)) < width


def test_memory_can_be_bounded_by_the_size_of_the_texts() -> None:
    memory, asked = recording(most=10, size=len)
    for texts in (["aaaa", "bbbb"], ["aaaa"], ["cccc"], ["aaaa"]):
        memory(texts)
    assert asked == ["aaaa", "bbbb", "cccc"]
    memory(["bbbb"])
    assert asked == ["aaaa", "bbbb", "cccc", "bbbb"]
    assert memory(["a text that is larger than the memory"]) != []


def test_workers_share_the_size_of_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for processes, cached in (("", 16), ("1", 16), ("4", 4), ("64", 1)):
        monkeypatch.setenv(PROCESSES, processes)
        (memory, asked), texts = recording(most=16), [str(n) for n in range(20)]
        assert memory(texts) == texts
        asked.clear()
        memory(texts[-cached:])
        assert not asked
        memory(texts[-cached - 1 :])
        assert len(asked) == 1

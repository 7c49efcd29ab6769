"""What happens to a batch that fails: the culprit has a reason, and a bug can be seen."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from histoeval.errors import TRACEBACK, Problem
from histoeval.run.pipeline import answers


def failed(message: str) -> Problem:
    return Problem("metric_failed", message)


def doubled(numbers: Sequence[int]) -> list[int]:
    if 2 in numbers:
        raise MemoryError
    return [2 * number for number in numbers]


def test_a_text_that_takes_too_much_memory_says_so_and_costs_no_other() -> None:
    first, second, third = answers(doubled, [1, 2, 3], failed)
    assert (first, third) == (2, 6)
    assert isinstance(second, Problem)
    assert "not enough memory for this text" in second.message


def test_a_metric_that_wants_to_end_the_process_costs_its_pair_and_no_other() -> None:
    def exits(numbers: Sequence[int]) -> list[int]:
        return doubled(numbers) if 2 not in numbers else sys.exit("no GPU")

    first, second = answers(exits, [1, 2], failed)
    assert (first, second) == (2, failed("SystemExit: no GPU"))


def test_a_failure_is_raised_where_somebody_wants_the_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(MemoryError):
        answers(doubled, [1, 2, 3], failed)

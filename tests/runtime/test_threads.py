"""Work that is shared out: in order, and with the same results on any number of processors."""

from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from histoeval.agreement.study import StudyPlan, study
from histoeval.runtime import threads
from histoeval.runtime.threads import cores, in_order, side_by_side
from tests.support.panels import made


def test_linear_algebra_starts_no_threads_of_its_own_meanwhile() -> None:
    """That of numpy, which is what is used; other libraries may have brought theirs."""

    def of_blas(_: int) -> list[int]:
        np.ones((3, 3)) @ np.ones((3, 3))
        return [
            each["num_threads"]
            for each in threadpool_info()
            if each["user_api"] == "blas" and "numpy" in Path(each["filepath"]).as_posix()
        ]

    assert set(side_by_side(of_blas, [0])[0]) <= {1}


def test_one_processor_finds_what_several_find(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = StudyPlan(resamples=60, permutations=10, by=("organ",))
    several = study(made(), plan)
    monkeypatch.setattr(threads, "cores", lambda: 1)
    assert study(made(), plan) == several
    assert cores() >= 1


def test_work_comes_in_order_and_little_of_it_waits() -> None:
    begun: list[int] = []

    def work(piece: int) -> int:
        begun.append(piece)
        return piece * piece

    made = in_order(work, iter(range(1000)), workers=3)
    assert [next(made) for _ in range(10)] == [n * n for n in range(10)]
    assert len(begun) <= 10 + 6
    assert list(made) == [n * n for n in range(10, 1000)]

"""A metric on several processes: its own scores, from threads, forks and copies."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import histoeval
from histoeval.errors import Problem, SettingError
from histoeval.metric import Metric
from histoeval.report import Pair
from tests.run.fatal_metric import FatalMetric

PAIRS = [
    Pair(id=str(n), reference="Left breast: ductal carcinoma.", candidate=f"Breast, grade {n}.")
    for n in range(40)
]


def test_scores_are_those_of_the_metric() -> None:
    alone = histoeval.load("bleu")
    with histoeval.load("bleu", workers=2) as several:  # type: ignore[attr-defined]
        assert isinstance(several, Metric)
        assert several.signature == alone.signature
        assert several.score(PAIRS) == alone.score(PAIRS)
        assert several.score([]) == []
        assert several("a b c d", "a b c d") == alone("a b c d", "a b c d")


def test_threads_forks_and_copies_may_share_it() -> None:
    alone = histoeval.load("rouge_l")
    expected = alone.score(PAIRS)
    with histoeval.load("rouge_l", workers=2) as several:  # type: ignore[attr-defined]
        several.score(PAIRS)
        with ThreadPoolExecutor(4) as threads:
            assert all(found == expected for found in threads.map(several.score, [PAIRS] * 8))
        with pickle.loads(pickle.dumps(several)) as copy:
            assert copy.score(PAIRS) == expected
        if (child := os.fork()) == 0:
            same = several.score(PAIRS) == expected
            several.close()
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert several.score(PAIRS) == expected


def test_a_pair_that_kills_its_worker_is_a_problem() -> None:
    from histoeval.run.parallel_metric import ParallelMetric

    with ParallelMetric(FatalMetric(), 2) as several:
        found = several.score(PAIRS[:12])
    assert [isinstance(each, Problem) for each in found] == [n == 7 for n in range(12)]
    assert isinstance(found[7], Problem)
    assert "SIGKILL" in found[7].message


def test_no_workers_are_refused() -> None:
    with pytest.raises(SettingError, match="1 or more"):
        histoeval.load("bleu", workers=0)


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "concordance"])
def test_workers_ask_this_process_for_what_a_device_computes(name: str) -> None:
    """torch on the CPU stands for a GPU."""
    models = histoeval.Models(device="cpu:0")
    alone = histoeval.load(name, models=models)
    with histoeval.load(name, models=models, workers=2) as several:  # type: ignore[attr-defined]
        found = several.score(PAIRS[:6])
        workers = [slot._worker for slot in several._running_pool().slots]
    expected = alone.score(PAIRS[:6])
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, histoeval.Score)
        assert isinstance(other, histoeval.Score)
        assert one.signature == other.signature
        assert one.value == pytest.approx(other.value, abs=1e-5)
    assert any(worker._tensors._count for worker in workers if worker is not None)

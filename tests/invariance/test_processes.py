"""A loaded metric scores the same from many threads, in a child process and in a fresh one."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import histoeval
from histoeval import Metric, Pair

METRICS = ["concordance", "hare"]
ORGANS = ("Colon", "Breast", "Prostate", "Skin", "Liver", "Kidney", "Lung", "Thyroid")
PAIRS = [
    Pair(
        id=organ,
        reference=f"{organ}, biopsy: carcinoma, grade {at % 3 + 1}, {at + 2} mm. No necrosis.",
        candidate=f"{organ}: carcinoma, grade 2. Necrosis is present.",
    )
    for at, organ in enumerate(ORGANS)
]
SECONDS = 300  # after so long a child that does not answer counts as hung

IN_A_FRESH_PROCESS = """
import pickle, sys
metric, pairs = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(metric.score(pairs)))
"""


@pytest.fixture(scope="module", params=METRICS)
def metric(request: pytest.FixtureRequest) -> Metric:
    return histoeval.load(request.param)


def test_eight_threads_score_what_one_does(metric: Metric) -> None:
    with ThreadPoolExecutor(8) as pool:
        together = [answers[0] for answers in pool.map(lambda pair: metric.score([pair]), PAIRS)]
    assert together == histoeval.load(metric.name).score(PAIRS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_metric_that_was_loaded_and_used_works_in_a_forked_child(
    metric: Metric, tmp_path: Path
) -> None:
    metric.score(PAIRS[:2])
    answer = tmp_path / "answer"
    child = os.fork()
    if child == 0:
        try:
            answer.write_bytes(pickle.dumps(metric.score(PAIRS[:4])))
        finally:
            os._exit(0)
    late = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > late:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.05)
    assert pickle.loads(answer.read_bytes()) == metric.score(PAIRS[:4])


def test_a_pickled_metric_scores_the_same_in_a_fresh_process(metric: Metric) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS],
        input=pickle.dumps((metric, PAIRS[:3])),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    assert pickle.loads(done.stdout) == metric.score(PAIRS[:3])

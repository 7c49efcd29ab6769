"""Reports with a long run of one character are read, compared and checked in linear time."""

import time

import pytest

import histoeval

REPORT = "Breast: invasive ductal carcinoma, grade 2, 2 cm. The tumour is{} present. No carcinoma."
SIZE, MOST_S = 25_000, 8.0
"""What was quadratic took 30 s and more for so many characters."""


@pytest.mark.parametrize("character", [" ", "\t", "\n", "0", "a"])
def test_a_long_run_of_one_character_takes_seconds_at_most(character: str) -> None:
    report = REPORT.format(character * SIZE)
    start = time.process_time()
    histoeval.extract(report)
    histoeval.explain(REPORT.format(""), report)
    histoeval.contradictions(report)
    assert time.process_time() - start < MOST_S


@pytest.mark.parametrize("character", ["(", "[", "."])
def test_a_long_run_of_brackets_or_dots_grows_linearly(character: str) -> None:
    """Each is a token, so that the model takes most of the time."""
    took = []
    for size in (1_000, 4_000):
        report = REPORT.format(character * size)
        start = time.process_time()
        histoeval.explain(REPORT.format(""), report)
        took.append(time.process_time() - start)
    assert took[1] < 10 * took[0] or took[1] < 1

"""Curves from how sure a reader is to how often it is right."""

import random

import numpy as np
import pytest

pytest.importorskip("torch")

from histoeval.reader.manifest import ConfidenceCurve
from histoeval_research.evaluate.calibration import calibration
from histoeval_research.train.reader.export import fit_curve

pytestmark = pytest.mark.heavy


def drawn(slope: float, offset: float, count: int = 20_000) -> list[tuple[float, bool]]:
    """Answers of a reader that is right as often as the curve says, and not as it says itself."""
    source = random.Random(7)
    truth = ConfidenceCurve(slope=slope, offset=offset)
    said = [source.uniform(0.02, 0.98) for _ in range(count)]
    return [(score, source.random() < truth(score)) for score in said]


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (0.4, 0.3), (2.0, -1.0)])
def test_the_curve_that_made_the_answers_is_found_again(slope: float, offset: float) -> None:
    found = fit_curve(drawn(slope, offset))
    assert found.slope == pytest.approx(slope, abs=0.08)
    assert found.offset == pytest.approx(offset, abs=0.08)


def test_a_curve_makes_boasting_honest() -> None:
    judged = drawn(0.4, -0.5)
    curve = fit_curve(judged)
    honest = [(curve(score), right) for score, right in judged]
    assert calibration(judged).error > 0.15
    assert calibration(honest).error < 0.02


@pytest.mark.parametrize("right", [True, False])
def test_a_reader_that_is_always_right_or_always_wrong_still_has_a_curve(right: bool) -> None:
    curve = fit_curve([(0.5 + n / 100, right) for n in range(49)])
    values = [curve(score) for score in (0.0, 0.5, 0.9, 1.0)]
    assert all(np.isfinite(values))
    assert (min(values) > 0.9) if right else (max(values) < 0.1)


def test_scores_of_nearly_one_do_not_break_the_fit() -> None:
    judged = [(1.0, n % 20 != 0) for n in range(400)] + [(0.6, n % 2 == 0) for n in range(100)]
    curve = fit_curve(judged)
    assert curve(1.0) == pytest.approx(0.95, abs=0.02)
    assert curve(0.6) == pytest.approx(0.5, abs=0.05)

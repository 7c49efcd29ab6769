"""Figures of studies: all are drawn, from what there is, and hide nothing."""

from dataclasses import replace

import numpy as np
import pytest

from histoeval.agreement.panel import Column
from histoeval.agreement.study import StudyPlan, study
from histoeval.view.figures.agreement import figures
from histoeval.view.figures.canvas import Canvas
from tests.support.panels import made
from tests.support.svg_labels import labels

QUICK = StudyPlan(resamples=50, permutations=10)


@pytest.fixture(scope="module")
def drawn() -> dict[str, Canvas]:
    panel = made()
    return dict(figures(panel, study(panel, QUICK), QUICK))


def test_five_figures_show_every_metric_and_every_pair(drawn: dict[str, Canvas]) -> None:
    assert list(drawn) == ["scatter", "distribution", "calibration", "forest", "heatmap"]
    frames = drawn["scatter"].figure.axes
    dots = [len(np.asarray(each.get_offsets())) for axes in frames for each in axes.collections]
    assert sum(dots) == 48 * 3 + 40
    for picture in drawn.values():
        told = labels(picture)
        assert {"good", "bad", "errors", "partial"} <= set(told)
        assert picture.title in told
        assert picture.description


def test_a_line_that_falls_is_said_to_run_the_wrong_way() -> None:
    good = made().metrics["good"]
    panel = replace(made(), metrics={"worst": replace(good, values=-good.values)})
    fallen = dict(figures(panel, study(panel, QUICK), QUICK))
    for name in ("scatter", "calibration"):
        assert "runs the wrong way" in labels(fallen[name])


def test_pairs_far_from_the_experts_are_named_in_the_scatter(drawn: dict[str, Canvas]) -> None:
    panel = made()
    found = study(panel, QUICK).metrics[0]
    assert {pair.id for pair in found.apart[:3]} <= set(labels(drawn["scatter"]))


def test_the_same_study_is_the_same_bytes() -> None:
    panel = replace(made(), metrics={"good": made().metrics["good"]})
    found = study(panel, QUICK)
    once, again = (dict(figures(panel, found, QUICK)) for _ in range(2))
    for name, picture in once.items():
        assert picture.svg() == again[name].svg()
    assert once["scatter"].png() == again["scatter"].png()


def test_the_heatmap_has_ones_on_its_diagonal_and_is_symmetric(drawn: dict[str, Canvas]) -> None:
    cells = [
        text for text in labels(drawn["heatmap"]) if text.lstrip("-").replace(".", "").isdigit()
    ]
    table = np.array(cells, dtype=float).reshape(5, 5)
    assert np.diag(table) == pytest.approx(np.ones(5))
    assert table == pytest.approx(table.T)


def test_a_metric_that_says_nothing_is_left_out_and_all_such_draw_nothing() -> None:
    panel = replace(made(), metrics={"dull": Column(np.zeros(48))})
    assert list(figures(panel, study(panel, QUICK), QUICK)) == []

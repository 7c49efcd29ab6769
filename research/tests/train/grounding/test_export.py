"""What is measured for an export of a grounding model: rivals, curves and usual images."""

import numpy as np
import pytest

pytest.importorskip("torch")

from histoeval.evaluate.grounding_scores import ScoredClaims
from histoeval.evaluate.tile_labels import (
    FALSE,
    TRUE,
    UNKNOWN,
    LabelledTile,
    entries_of,
    targets_of,
)
from histoeval_research.train.grounding.export import fit_curve, fit_images
from histoeval_research.train.grounding.learn import exclusive

pytestmark = pytest.mark.heavy


def shown(organ: str) -> LabelledTile:
    return LabelledTile(
        key="k",
        organ=organ,
        behaviour="benign",
        concept=None,
        stain="H&E",
        slide="s",
        case="c",
        split="train",
    )


def test_organs_that_hold_the_right_one_are_no_rivals_of_it() -> None:
    some = [shown("colon")]
    entries = entries_of([*some, shown("intestine"), shown("liver")])
    rivals = exclusive(some, entries, targets_of(some, entries))[0]
    told = {(e.group, e.name): value for e, value in zip(entries, rivals.tolist(), strict=True)}
    assert told["organ", "colon"] == told["site", "benign colon"] == TRUE
    assert told["organ", "intestine"] == told["site", "benign intestine"] == UNKNOWN
    assert told["organ", "liver"] == FALSE


def test_the_curve_gives_half_in_the_middle_of_two_heaps_that_are_alike() -> None:
    draws = np.random.default_rng(0)
    values = np.concatenate([draws.normal(2, 1, 4000), draws.normal(0, 1, 8000)])
    true = np.arange(12000) < 4000
    found = fit_curve(ScoredClaims(values, true, np.array(["organ"] * 12000)))
    assert found.slope == pytest.approx(2, abs=0.15)
    assert found.midpoint == pytest.approx(1, abs=0.05)


def test_usual_vectors_lie_at_a_distance_of_one_and_others_further_off() -> None:
    draws = np.random.default_rng(0)
    usual = draws.normal(0, [1.0, 1.0, 0.5], (500, 3)).astype(np.float32)
    scope = fit_images(usual)
    assert np.sqrt((scope.distances(usual) ** 2).mean()) == pytest.approx(1, abs=0.1)
    assert scope.distances(np.array([[0, 0, 9]], np.float32))[0] > 3

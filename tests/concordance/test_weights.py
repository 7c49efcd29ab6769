"""From parts to one number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from histoeval.concordance.compare import OF_FACTS, PARTS
from histoeval.concordance.evidence import Severity
from histoeval.concordance.rubric import CRITERIA
from histoeval.concordance.weights import (
    SAFETY,
    TERMS,
    Combination,
    Combinations,
    MonotoneCurve,
    matrix_of,
    read_combinations,
)
from histoeval.errors import ModelError
from histoeval.metrics.concordance import weights
from tests.support.tables import from_table

LINE = MonotoneCurve(at=(0.0, 1.0), value=(0.0, 5.0))
shares = st.floats(0, 1)
values = st.fixed_dictionaries({part: st.none() | shares for part in PARTS})


@st.composite
def combinations(draw: st.DrawFn) -> Combination:
    given = draw(
        st.dictionaries(st.sampled_from(TERMS), st.floats(0.01, 5), min_size=1, max_size=8)
    )
    at = draw(st.lists(st.floats(0, 1), min_size=2, max_size=6, unique=True))
    heights = draw(st.lists(st.floats(0, 5), min_size=len(at), max_size=len(at)))
    curve = MonotoneCurve(at=tuple(sorted(at)), value=tuple(sorted(heights)))
    floor, factored = draw(st.floats(0, 5)), draw(st.booleans())
    return Combination(weights=given, curve=curve, floor=floor, factored=factored)


@given(combinations(), values, st.sampled_from(PARTS), shares)
def test_raising_a_part_never_lowers_the_value(
    combination: Combination, parts: dict[str, float | None], part: str, raised: float
) -> None:
    now = parts[part]
    raised = 1.0 if now is None else max(raised, now)
    assert combination(parts | {part: raised}) >= combination(parts) - 1e-9


@pytest.mark.parametrize("name", ["expert", *CRITERIA])
@given(parts=values, part=st.sampled_from(PARTS), raised=shares)
def test_raising_a_part_never_lowers_what_is_shipped(
    name: str, parts: dict[str, float | None], part: str, raised: float
) -> None:
    shipped = weights().expert if name == "expert" else weights().criteria[name]
    raised = max(raised, parts[part] or 0.0)
    low, high = shipped.curve.value[0], shipped.curve.value[-1]
    better = parts | {part: None if parts[part] is None else raised}
    assert low - 1e-9 <= shipped(parts) <= shipped(better) + 1e-9 <= high + 1e-8


@given(combinations())
def test_json_in_json_out_is_the_same_combination(combination: Combination) -> None:
    assert Combination.model_validate_json(combination.model_dump_json()) == combination


def test_a_weighted_mean_goes_through_the_line() -> None:
    combination = Combination(weights={"diagnosis": 3.0, "site": 1.0}, curve=LINE)
    assert combination({"diagnosis": 0.5, "site": 1.0}) == pytest.approx(5 * 2.5 / 4)


def test_a_product_counts_as_far_as_all_its_parts_are_right() -> None:
    combination = Combination(weights={"diagnosis*behaviour*grade": 1.0}, curve=LINE)
    told = {"diagnosis": 0.5, "behaviour": 0.8, "grade": 0.5}
    assert combination(told) == pytest.approx(5 * 0.2)


def test_a_part_that_neither_speaks_of_takes_nothing_away() -> None:
    assert set(matrix_of([dict.fromkeys(PARTS)]).ravel()) == {1.0}
    told = dict(zip(TERMS, matrix_of([{"site": 0.5}])[0], strict=True))
    assert (told["diagnosis"], told["diagnosis*site"]) == (1.0, 0.5)


def test_the_worst_error_takes_a_share_of_all_agreement() -> None:
    combination = Combination(weights={"diagnosis": 3.0, "site": 1.0}, curve=LINE, factored=True)
    alone = combination({"safety": SAFETY[Severity.CRITICAL]})
    assert alone == pytest.approx(5 * SAFETY[Severity.CRITICAL])
    assert list(SAFETY.values()) == sorted(SAFETY.values(), reverse=True)
    assert weights().expert({"safety": SAFETY[Severity.CRITICAL]}) / 5 < 0.7


@from_table
def test_reports_that_do_not_entail_each_other_agree_in_part_at_most(
    kept: float, supported: float, left: float
) -> None:
    combination = Combination(weights={"diagnosis": 1.0}, curve=LINE, factored=True)
    assert combination({"kept": kept, "supported": supported}) == pytest.approx(5 * left)


@given(combinations(), values)
def test_what_the_parts_take_off_adds_up_to_what_is_missing(
    combination: Combination, parts: dict[str, float | None]
) -> None:
    few = {name: parts[name] for name in ("diagnosis", "site", "grade", "kept")} | {"safety": 0.75}
    costs = combination.breakdown(few)
    assert sum(each.cost for each in costs) == pytest.approx(combination({}) - combination(few))


def test_what_stays_below_the_floor_is_the_lowest_score() -> None:
    combination = Combination(weights={"site": 1.0}, curve=LINE, floor=1.0)
    assert combination({"site": 0.19}) == 0.0
    assert combination({"site": 0.21}) == pytest.approx(1.05)


def test_a_row_of_terms_for_each_pair() -> None:
    rows = [{"site": 0.5}, {"grade": 0.0}]
    found = matrix_of(rows)
    assert found.shape == (2, len(TERMS))
    assert found[0, TERMS.index("site")] == 0.5
    assert found[1, TERMS.index("diagnosis*behaviour*grade")] == 0.0
    assert matrix_of([]).shape == (0, len(TERMS))


@pytest.mark.parametrize(
    "wrong",
    [
        {"at": (0.0, 1.0), "value": (1.0, 0.0)},
        {"at": (1.0, 0.0), "value": (0.0, 1.0)},
        {"at": (0.0, 0.0), "value": (0.0, 1.0)},
        {"at": (0.0, 1.0), "value": (0.0, 1.0, 2.0)},
        {"at": (0.0,), "value": (0.0,)},
        {"at": (0.0, float("nan")), "value": (0.0, 1.0)},
        {"at": (0.0, 1.0), "value": (0.0, float("inf"))},
    ],
)
def test_a_curve_must_rise(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MonotoneCurve(**wrong)


def test_a_curve_may_be_flat_for_a_while_and_ends_where_it_ends() -> None:
    flat = MonotoneCurve(at=(0.0, 0.5, 1.0), value=(1.0, 1.0, 3.0))
    assert flat(np.array([-1.0, 0.25, 0.75, 2.0])).tolist() == [1.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"colour": 1.0}, "unknown terms: colour"),
        ({"diagnosis*grade": 1.0}, r"unknown terms: diagnosis\*grade"),
        ({"site": -0.1}, "greater than or equal to 0"),
        ({"site": float("nan")}, "finite"),
        ({"site": float("inf")}, "finite"),
        ({"site": 0.0}, "no weight at all"),
        ({}, "no weight at all"),
    ],
)
def test_weights_that_cannot_be_are_refused(given: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Combination(weights=given, curve=LINE)


def test_a_file_that_is_missing_broken_or_not_of_weights_is_told(tmp_path: Path) -> None:
    file = tmp_path / "combination.json"
    with pytest.raises(ModelError, match="cannot be read"):
        read_combinations(file)
    file.write_text("{", "utf-8")
    with pytest.raises(ModelError, match="holds no weights"):
        read_combinations(file)
    one = {"weights": {"colour": 1}, "curve": {"at": [0, 1], "value": [0, 5]}}
    file.write_text(json.dumps({"format": 1, "expert": one, "criteria": {}}), "utf-8")
    with pytest.raises(ModelError, match="expert: value error, has unknown terms"):
        read_combinations(file)
    file.write_text(json.dumps({"format": 2, "expert": one, "criteria": {}}), "utf-8")
    with pytest.raises(ModelError, match="format"):
        read_combinations(file)


def test_the_shipped_weights_are_read_back_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "again.json"
    file.write_text(weights().model_dump_json(), "utf-8")
    assert read_combinations(file) == weights()
    assert set(weights().criteria) == set(CRITERIA)


def test_what_is_shipped_gives_full_marks_where_nothing_is_wrong() -> None:
    perfect: dict[str, float | None] = dict.fromkeys(PARTS, 1.0)
    assert weights().expert(perfect) == 5.0
    assert {name: weights().criteria[name](perfect) for name in CRITERIA} == CRITERIA


def test_every_part_can_be_given_a_weight() -> None:
    assert {part for term in TERMS for part in term.split("*")} == {*OF_FACTS, "coverage"}
    assert isinstance(weights(), Combinations)

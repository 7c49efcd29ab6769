"""Sums are exact, means leave out what has no score, and coverage hides nothing."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval import Problem
from histoeval.io.results import MetricResult, ResultRow
from histoeval.metrics.registry import create
from histoeval.run.totals import ExactSum, Totals

numbers = st.floats(min_value=-1e150, max_value=1e150)


def summed(values: Sequence[float]) -> float:
    total = ExactSum()
    for value in values:
        total.add(value)
    return total.value


@given(st.lists(numbers, max_size=50))
def test_a_sum_is_the_exact_one_rounded_once(values: list[float]) -> None:
    assert summed(values) == float(sum(map(Fraction, values)))


def row(system: str | None = "a", errors: Sequence[str] = (), **scores: float) -> ResultRow:
    return ResultRow(
        id="x",
        system=system,
        row=1,
        scores={name: MetricResult(value=value) for name, value in scores.items()},
        errors=tuple(Problem(code=code, message=f"{code} it is") for code in errors),
    )


def totals_of(*rows: ResultRow, metrics: str = "rouge_l") -> Totals:
    totals = Totals([create(name) for name in metrics.split(",")])
    for each in rows:
        totals.add(each)
    return totals


def systems(totals: Totals, metric: str = "rouge_l") -> dict[str, Any]:
    found: dict[str, Any] = totals.by_metric()[metric]["systems"]
    return found


def test_a_mean_leaves_out_rows_without_a_score_and_coverage_counts_them() -> None:
    totals = totals_of(row(rouge_l=0.25), row(errors=["empty_text"]), row(rouge_l=0.75))
    assert systems(totals)["a"] == {
        "pairs": 3,
        "scored": 2,
        "coverage": 2 / 3,
        "mean": 0.5,
        "corpus": 0.5,
        "parts": {},
        "parts_scored": {},
    }
    assert (totals.rows, totals.failed_rows, totals.scores) == (3, 1, 2)


def test_a_system_without_any_score_has_no_mean_rather_than_zero() -> None:
    found = systems(totals_of(row(errors=["empty_text"])))["a"]
    assert (found["mean"], found["corpus"], found["coverage"]) == (None, None, 0.0)


def test_systems_are_told_apart_and_keep_the_order_they_came_in() -> None:
    totals = totals_of(row("b", rouge_l=0.5), row("a", rouge_l=1.0), row("b", rouge_l=0.0))
    assert {name: found["mean"] for name, found in systems(totals).items()} == {"b": 0.25, "a": 1.0}
    assert list(systems(totals)) == ["b", "a"]


def test_a_row_that_nobody_owns_counts_against_every_system() -> None:
    good = [row("a", rouge_l=1.0), row("b", rouge_l=1.0)]
    found = systems(totals_of(*good, row(None, errors=["broken_json"])))
    assert [(each["pairs"], each["coverage"]) for each in found.values()] == [(2, 0.5), (2, 0.5)]


def test_one_metric_may_fail_where_another_does_not() -> None:
    rows = [row(rouge_l=0.5, rouge_1=0.5), row(rouge_1=1.0, errors=["metric_failed"])]
    totals = totals_of(*rows, metrics="rouge_l,rouge_1")
    assert systems(totals, "rouge_l")["a"]["coverage"] == 0.5
    assert systems(totals, "rouge_1")["a"]["mean"] == 0.75


def test_problems_are_counted_by_row_with_the_first_as_example() -> None:
    twice = ResultRow(
        id="x",
        system="a",
        row=1,
        errors=(
            Problem(code="empty_text", message="reference is empty", column="reference"),
            Problem(code="empty_text", message="candidate is empty", column="candidate"),
        ),
    )
    totals = totals_of(twice, row(errors=["empty_text", "not_text"]))
    assert totals.problems == {"empty_text": 2, "not_text": 1}
    assert totals.examples["empty_text"] == "reference is empty"


def scored(evidence: object = None, **parts: float) -> ResultRow:
    result = MetricResult(value=0.5, parts=parts, evidence={"errors": evidence or []})
    return ResultRow(id="x", system="a", row=1, scores={"rouge_l": result})


def test_a_part_is_averaged_over_the_pairs_that_have_it_and_says_how_many() -> None:
    found = systems(totals_of(scored(laterality=1.0), scored(), scored(laterality=0.5)))["a"]
    assert (found["parts"], found["parts_scored"]) == ({"laterality": 0.75}, {"laterality": 2})


def test_errors_in_the_evidence_are_counted_by_severity_and_kind() -> None:
    omission, flip = {"kind": "omission", "severity": 4}, {"kind": "marker_flip", "severity": 2}
    found = systems(totals_of(scored([omission, flip]), scored(), scored([omission])))["a"]
    assert found["report_errors"] == {
        "count": 3,
        "pairs": 2,
        "by_severity": {"critical": 2, "major": 0, "moderate": 1, "minor": 0},
        "by_kind": {"omission": 2, "marker_flip": 1},
    }


@pytest.mark.parametrize("errors", [["a"], [{"kind": "x"}], [{"kind": "x", "severity": [1]}], "x"])
def test_evidence_of_another_form_is_not_counted(errors: object) -> None:
    assert "report_errors" not in systems(totals_of(scored(errors)))["a"]


def test_failures_of_a_metric_are_counted_with_an_example() -> None:
    failed = Problem(code="metric_failed", message="out of memory", metric="rouge_l")
    rows = [ResultRow(id="x", system="a", row=1, errors=(failed,)), scored()]
    failures = totals_of(*rows).by_metric()["rouge_l"]["failed"]
    assert failures == {"count": 1, "example": "out of memory"}
    assert "failed" not in totals_of(scored()).by_metric()["rouge_l"]


def test_the_corpus_value_comes_from_summed_counts_where_a_metric_has_one() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["the left breast shows a tumour", "colon with no evidence of malignancy seen"]
    candidates = ["the left breast shows no tumour", "colon with evidence of malignancy seen"]
    metric = create("bleu")
    totals = Totals([metric])
    for reference, candidate in zip(references, candidates, strict=True):
        score = metric.score_pair(reference, candidate)  # type: ignore[attr-defined]
        totals.add(ResultRow(id="x", system="a", row=1, scores={"bleu": MetricResult.of(score)}))
    expected = sacrebleu.corpus_bleu(candidates, [references]).score
    assert systems(totals, "bleu")["a"]["corpus"] == pytest.approx(expected, abs=1e-9)


def test_each_metric_says_what_its_numbers_mean() -> None:
    found = totals_of(metrics="bleu").by_metric()["bleu"]
    assert (found["higher_is_better"], found["range"]) == (True, [0.0, 100.0])
    assert found["signature"] == str(create("bleu").signature)

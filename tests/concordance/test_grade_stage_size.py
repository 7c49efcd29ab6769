"""Grades, stages, measurements and markers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table


@from_table
def test_the_further_off_the_less_is_right(
    part: str, reference: str, same: str, near: str, far: str, kind: ErrorKind
) -> None:
    ladder = [value_of(part, reference, said) for said in (reference, same, near, far)]
    assert ladder[0] == 1
    assert ladder[1] > 0.9
    assert ladder[1] > ladder[2] > ladder[3]
    assert kind in kinds_of(reference, far)
    assert kinds_of(reference, same) == set()


def test_a_grade_that_is_quite_wrong_is_a_major_error() -> None:
    (wrong,) = mistakes_of("{grade:low grade}", "{grade:high grade}")
    assert (wrong.kind, wrong.severity) == (ErrorKind.WRONG_GRADE, Severity.MAJOR)


@from_table
def test_a_wrong_value_costs_something_however_near_it_is(
    part: str, reference: str, candidate: str
) -> None:
    assert value_of(part, reference, candidate) == pytest.approx(0.7)
    assert value_of(part, candidate, reference) == pytest.approx(0.7)


def test_the_grade_of_one_aspect_is_not_compared_with_that_of_another() -> None:
    reference = "{grade:mitotic score 1}"
    assert ErrorKind.WRONG_GRADE not in kinds_of(reference, "{grade:tubule formation 3}")


def test_a_flipped_marker_is_worse_than_one_left_out_or_added() -> None:
    reference = "{marker:HER2}: {result:positive}"
    flipped = value_of("markers", reference, "{marker:HER2}: {result:negative}")
    left_out = value_of("markers", reference, "")
    added = value_of("markers", "", reference)
    silent = value_of("markers", reference, "{marker:HER2}")
    assert flipped < left_out < 1
    assert flipped < added < 1
    assert left_out < silent < 1


@pytest.mark.parametrize(("true", "said"), [("positive", "negative"), ("negative", "positive")])
def test_a_flip_that_selects_a_therapy_is_critical_and_cites_both_sides(
    true: str, said: str
) -> None:
    (flip,) = mistakes_of(f"{{marker:ER}}: {{result:{true}}}", f"{{marker:ER}}: {{result:{said}}}")
    assert (flip.kind, flip.severity) == (ErrorKind.MARKER_FLIP, Severity.CRITICAL)
    assert flip.reference is not None
    assert flip.candidate is not None
    assert flip.reference.text in ("ER", f"ER: {true}")
    assert flip.candidate.text in ("ER", f"ER: {said}")


@pytest.mark.parametrize("part", ["grade", "stage", "measurements", "markers"])
def test_omission_and_invention_are_told_as_such(part: str) -> None:
    said = {
        "grade": "{grade:grade 2}",
        "stage": "{stage:pT2}",
        "measurements": "{measurement:2 cm}",
        "markers": "{marker:ER}: {result:positive}",
    }[part]
    assert kinds_of(said, "") == {ErrorKind.OMISSION}
    assert kinds_of("", said) == {ErrorKind.INVENTION}
    assert value_of(part, said, "") <= value_of(part, "", said) < 1


@given(st.integers(1, 40))
def test_a_wrong_value_counts_as_much_in_a_long_report(other_values: int) -> None:
    rest = " ".join(f"{{marker:CD{n}}}: {{result:positive}}." for n in range(1, other_values))
    reference = f"{rest} {{marker:HER2}}: {{result:positive}}"
    candidate = f"{rest} {{marker:HER2}}: {{result:negative}}"
    alone = value_of(
        "markers", "{marker:HER2}: {result:positive}", "{marker:HER2}: {result:negative}"
    )
    assert value_of("markers", reference, candidate) == pytest.approx(alone)


def test_left_out_values_cost_only_so_much_however_many() -> None:
    many = " ".join(f"{{measurement:{n} cm}}." for n in range(1, 60))
    assert value_of("measurements", many, "") > 0.5
    assert parts_of("", "")["measurements"].value is None


def test_a_marker_without_its_result_is_told_and_is_no_match() -> None:
    reference = "{marker:HER2}: {result:positive}"
    (silent,) = mistakes_of(reference, "{marker:HER2}")
    assert (silent.kind, silent.severity) == (ErrorKind.OMISSION, Severity.MINOR)
    assert parts_of(reference, "{marker:HER2}")["markers"].matched == ()


def test_one_of_two_sizes_that_was_left_out_is_a_minor_omission() -> None:
    reference = "Invasive size {measurement:24 mm}; total size {measurement:31 mm}."
    (missed,) = mistakes_of(reference, "Invasive size {measurement:24 mm}.")
    assert (missed.kind, missed.severity) == (ErrorKind.OMISSION, Severity.MINOR)

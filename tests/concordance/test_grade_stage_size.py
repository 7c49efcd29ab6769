"""Grades, stages, measurements and markers."""

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


@from_table
def test_a_wrong_value_costs_something_however_near_it_is(
    part: str, reference: str, candidate: str
) -> None:
    assert value_of(part, reference, candidate) == pytest.approx(0.7)
    assert value_of(part, candidate, reference) == pytest.approx(0.7)


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

"""Measurements are read in one unit, and compared as a pathologist would."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.measurements import (
    Measurement,
    agreement,
    percent_agreement,
    read_measurement,
    read_percent,
)
from tests.support.tables import from_table, rows_of


def read(phrase: str) -> Measurement:
    measurement = read_measurement(phrase)
    assert measurement is not None
    return measurement


@from_table
def test_a_phrase_is_read_in_one_unit(
    phrase: str, kind: str, values: tuple[float, ...], bound: str | None
) -> None:
    measurement = read(phrase)
    assert (measurement.kind, measurement.bound) == (kind, bound)
    assert measurement.values == pytest.approx(values)


@pytest.mark.parametrize("phrase", ["", "small"])
def test_where_nothing_is_measured_nothing_is_read(phrase: str) -> None:
    assert read_measurement(phrase) is None


def test_agreement_falls_with_the_distance() -> None:
    sizes = [agreement(read("20 mm"), read(f"{n} mm")) for n in (20, 24, 28, 32, 36, 45)]
    counts = [agreement(read("2/12"), read(f"{n}/12")) for n in (2, 3, 6, 12)]
    shares = [agreement(read("20%"), read(f"{n}%")) for n in (20, 25, 40, 90)]
    for falling in (sizes, counts, shares):
        assert falling == sorted(falling, key=lambda value: -(value or 0.0))
        assert len(set(falling)) == len(falling)


def test_a_value_within_the_bound_of_the_other_agrees_well() -> None:
    assert (agreement(read("<1 mm"), read("0.3 mm")) or 0) >= 0.8
    assert (agreement(read("at least 4 cm"), read("9 cm")) or 0) >= 0.8
    assert agreement(read("at least 4 cm"), read("1 cm")) == 0


def test_per_cent_are_read_as_what_they_leave_open() -> None:
    assert read_percent("<1%") == (0, 1)
    assert read_percent("over 90 %") == (90, 100)
    assert read_percent("10-20%") == (10, 20)
    assert read_percent("400%") == (100, 100)
    assert read_percent("some") is None
    assert percent_agreement((10, 20), (15, 15)) == 0.95
    assert percent_agreement((1, 10), (10, 20)) == 0.95
    assert percent_agreement((0, 0), (5, 5)) == pytest.approx(0.95 / 2)
    assert percent_agreement((10, 10), (20, 20)) == pytest.approx(0.95 / 2)
    assert percent_agreement((0, 0), (90, 90)) == 0


PHRASES = [phrase for phrase, *_ in rows_of(test_a_phrase_is_read_in_one_unit)]
pieces = st.lists(
    st.sampled_from("0 1 3.5 12 x - / of < cm mm2 % g HPF per nodes ratio : ,".split())
)


@given(
    st.text()
    | pieces.map(" ".join)
    | st.from_regex(r"[<>]?\d+([.,]\d+)? ?(x|/|-|of) ?\d+ ?(cm|%|HPF|g)?")
)
def test_any_text_can_be_read(text: str) -> None:
    measurement = read_measurement(text)
    if measurement is not None:
        assert measurement.values
        assert all(0 <= value <= 1e12 for value in measurement.values)
        assert agreement(measurement, measurement) == 1


@given(st.sampled_from(list(product(PHRASES, repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    a, b = map(read, pair)
    forth = agreement(a, b)
    assert forth == agreement(b, a)
    assert forth is None or 0 <= forth <= 1


@from_table
def test_a_tenth_more_is_the_same_and_double_is_another(
    one: str, other: str, alike: float | None
) -> None:
    both = read(one), read(other)
    for pair in (both, both[::-1]):
        assert agreement(*pair) == (None if alike is None else pytest.approx(alike, abs=1e-6))


@from_table
def test_a_size_is_as_exact_as_it_is_written(text: str, step: float) -> None:
    assert read(text).step == pytest.approx(step)

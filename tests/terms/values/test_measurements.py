"""Measurements are read in one unit, and compared as a pathologist would."""

from __future__ import annotations

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

READ: dict[str, tuple[str, tuple[float, ...], str | None]] = {
    "2.4 x 1.8 x 1.0 cm": ("length", (24, 18, 10), None),
    "2.4 cm x 1.8 cm x 1.0 cm": ("length", (24, 18, 10), None),
    "1.0 X 2.4 cm": ("length", (24, 10), None),
    "3 \u00d7 2 cm": ("length", (30, 20), None),
    "3 by 2 by 1 cm": ("length", (30, 20, 10), None),
    "24 mm": ("length", (24,), None),
    "24mm.": ("length", (24,), None),
    "2.5cm in greatest dimension": ("length", (25,), None),
    "1.5-cm": ("length", (15,), None),
    "2,4 x 1,8 cm": ("length", (24, 18), None),
    "l.5 x O.8 cm": ("length", (15, 8), None),
    "2. 4 cm": ("length", (24,), None),
    ".5 cm": ("length", (5,), None),
    "0.2 to 0.5 cm": ("length", (5, 2), None),
    "two centimetres": ("length", (20,), None),
    "3 millimeters": ("length", (3,), None),
    "500 microns": ("length", (0.5,), None),
    "<1 mm": ("length", (1,), "at most"),
    "less than 1 mm": ("length", (1,), "at most"),
    "up to 0.5 cm": ("length", (5,), "at most"),
    "at least 4 cm": ("length", (40,), "at least"),
    "greater than 5 cm": ("length", (50,), "at least"),
    "> 5 cm": ("length", (50,), "at least"),
    "depth of invasion 4 mm": ("depth", (4,), None),
    "Breslow thickness: 1.25 mm": ("depth", (1.25,), None),
    "0.3 cm from the margin": ("distance", (3,), None),
    "closest margin 2 mm": ("distance", (2,), None),
    "3 mm²": ("area", (3,), None),
    "2 square cm": ("area", (200,), None),
    "1,200 g": ("weight", (1200,), None),
    "350 grams": ("weight", (350,), None),
    "1.2 kg": ("weight", (1200,), None),
    "45 gm": ("weight", (45,), None),
    "20 ml": ("volume", (20,), None),
    "5 cc": ("volume", (5,), None),
    "3 of 12 lymph nodes": ("share", (3, 12), None),
    "3/12": ("share", (3, 12), None),
    "(0/14)": ("share", (0, 14), None),
    "three of twelve nodes": ("share", (3, 12), None),
    "none of 12 lymph nodes": ("share", (0, 12), None),
    "2 positive nodes out of 15": ("share", (2, 15), None),
    "1 out of 3 sentinel nodes": ("share", (1, 3), None),
    "4/12 cores": ("share", (4, 12), None),
    "14 lymph nodes, negative": ("share", (0, 14), None),
    "no metastasis in 14 lymph nodes": ("share", (0, 14), None),
    "fifteen": ("count", (15,), None),
    "12 lymph nodes": ("count", (12,), None),
    "two foci": ("count", (2,), None),
    "a single focus": ("count", (1,), None),
    "5": ("count", (5,), None),
    "15 %": ("percent", (15,), None),
    "10-20%": ("percent", (20, 10), None),
    "10 % to 20 %": ("percent", (20, 10), None),
    "Ki-67 20%": ("percent", (20,), None),
    "approximately 30 per cent": ("percent", (30,), None),
    "<1%": ("percent", (1,), "at most"),
    "≥ 10 %": ("percent", (10,), "at least"),
    "more than 90%": ("percent", (90,), "at least"),
    "8 mitoses per 10 HPF": ("mitoses", (8,), None),
    "8/10 hpf": ("mitoses", (8,), None),
    "20/50 HPF": ("mitoses", (4,), None),
    "3-5 mitoses/10HPF": ("mitoses", (5, 3), None),
    "1 mitosis per high-power field": ("mitoses", (10,), None),
    "5 mitotic figures per 10 high power fields": ("mitoses", (5,), None),
    "mitotic rate: 5 per mm2": ("mitoses", (10,), None),
    "4 mitoses per 2 mm2": ("mitoses", (4,), None),
    "<1/mm²": ("mitoses", (2,), "at most"),
    "mitotic count 12": ("mitoses", (12,), None),
    "HER2/CEP17 ratio 1.2": ("ratio", (1.2,), None),
    "kappa:lambda ratio of 1:4": ("ratio", (0.25,), None),
    "small": ("", (), None),
    "": ("", (), None),
}
SAME = [
    ("2.4 x 1.8 cm", "24 mm"),
    ("24 mm", "2 cm"),
    ("2.4 cm", "2.5 x 1 cm"),
    ("0/14", "0 of 14 lymph nodes"),
    ("3 nodes", "three nodes"),
    ("1.2 kg", "1,200 g"),
    ("4 mitoses per 2 mm2", "4/10 HPF"),
    ("depth 4 mm", "4 mm"),
]
NOTHING_ALIKE = [
    ("0/14", "1/14"),
    ("1 cm", "5 cm"),
    ("2 cm", "4 cm"),
    ("0 foci", "3 foci"),
    ("1%", "90%"),
    ("300 g", "20 g"),
]
NOT_COMPARABLE = [("2 cm", "20%"), ("3/12", "3 cm"), ("depth 2 mm", "2 mm from margin")]


def read(phrase: str) -> Measurement:
    measurement = read_measurement(phrase)
    assert measurement is not None
    return measurement


@pytest.mark.parametrize(("phrase", "expected"), READ.items())
def test_a_phrase_is_read_in_one_unit(
    phrase: str, expected: tuple[str, tuple[float, ...], str | None]
) -> None:
    measurement = read_measurement(phrase)
    kind, values, bound = expected
    if not kind:
        assert measurement is None
        return
    assert measurement is not None
    assert (measurement.kind, measurement.bound) == (kind, bound)
    assert measurement.values == pytest.approx(values)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_size_in_other_words_agrees_fully(a: str, b: str) -> None:
    assert agreement(read(a), read(b)) == 1


@pytest.mark.parametrize(("a", "b"), NOTHING_ALIKE)
def test_far_values_and_none_against_some_do_not_agree(a: str, b: str) -> None:
    assert agreement(read(a), read(b)) == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(("a", "b"), NOT_COMPARABLE)
def test_different_kinds_are_not_compared(a: str, b: str) -> None:
    assert agreement(read(a), read(b)) is None


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


@given(st.sampled_from(list(product([p for p, e in READ.items() if e[0]], repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    a, b = map(read, pair)
    forth = agreement(a, b)
    assert forth == agreement(b, a)
    assert forth is None or 0 <= forth <= 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("10 mm", "11 mm", 1.0),
        ("10 mm", "12 mm", 8 / 9),
        ("10 mm", "13 mm", 7 / 9),
        ("10 mm", "20 mm", 0.0),
        ("0 mm", "0 mm", 1.0),
        ("0 mm", "5 mm", 0.0),
        ("1,250 g", "1250 g", 1.0),
        ("at most 10 mm", "10 mm", 1.0),
        ("at most 10 mm", "12 mm", 8 / 9),
        ("at least 10 mm", "at most 12 mm", 8 / 9),
        ("at least 10 mm", "at least 12 mm", 8 / 9),
    ],
)
def test_a_tenth_more_is_the_same_and_double_is_another(one: str, other: str, alike: float) -> None:
    here, there = read_measurement(one), read_measurement(other)
    assert here is not None
    assert there is not None
    assert agreement(here, there) == pytest.approx(alike)


@pytest.mark.parametrize(
    ("text", "step"), [("12.5 mm", 0.1), ("0.25 mm", 0.01), ("5 mm", 1), ("1.2 cm", 1)]
)
def test_a_size_is_as_exact_as_it_is_written(text: str, step: float) -> None:
    measured = read_measurement(text)
    assert measured is not None
    assert measured.step == pytest.approx(step)

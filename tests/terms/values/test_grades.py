"""Grades of all systems are put on one scale, and parts are not taken for the whole."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.grades import Grade, agreement, read_grade

LOWEST, THIRD, HALF, TWO_THIRDS, HIGHEST = 0.0, 1 / 3, 0.5, 2 / 3, 1.0
READ = {
    "Nottingham grade 2": ("Nottingham", HALF),
    "Nottingham histologic grade II (score 7/9)": ("Nottingham", HALF),
    "NOTTINGHAM GRADE III": ("Nottingham", HIGHEST),
    "SBR grade III": ("Nottingham", HIGHEST),
    "Elston-Ellis 3": ("Nottingham", HIGHEST),
    "Bloom-Richardson grade 2/3": ("Nottingham", HALF),
    "Bloom Richardson score 8": ("Nottingham", HIGHEST),
    "grade 1 (Nottingham)": ("Nottingham", LOWEST),
    "8/9": ("Nottingham", HIGHEST),
    "Nottingham score 5 out of 9": ("Nottingham", LOWEST),
    "Gleason score 3+3=6": ("Gleason", LOWEST),
    "Gleason score 3+4=7": ("Gleason", 0.25),
    "Gleason 4+3": ("Gleason", 0.5),
    "Gleason 7": ("Gleason", 0.375),
    "Gleason score 7 (3 + 4)": ("Gleason", 0.25),
    "Gleason grade 4+4": ("Gleason", 0.75),
    "5+4=9": ("Gleason", HIGHEST),
    "grade group 2": ("Gleason", 0.25),
    "ISUP grade group 4": ("Gleason", 0.75),
    "Grade Group III": ("Gleason", 0.5),
    "GG1": ("Gleason", LOWEST),
    "ISUP grade 5": ("Gleason", HIGHEST),
    "WHO grade II": ("WHO", THIRD),
    "CNS WHO grade 4": ("WHO", HIGHEST),
    "World Health Organization grade I": ("WHO", LOWEST),
    "Fuhrman nuclear grade 2": ("Fuhrman", THIRD),
    "Fuhrman grade III/IV": ("Fuhrman", TWO_THIRDS),
    "WHO/ISUP grade 3": ("WHO/ISUP renal", TWO_THIRDS),
    "ISUP nucleolar grade 2": ("WHO/ISUP renal", THIRD),
    "FIGO grade 1": ("FIGO", LOWEST),
    "FIGO 3": ("FIGO", HIGHEST),
    "FNCLCC grade 2": ("FNCLCC", HALF),
    "FNCLCC score 5/8": ("FNCLCC", HALF),
    "NET G2": ("NET", HALF),
    "Edmondson grade IV": ("Edmondson-Steiner", HIGHEST),
    "CIN 1": ("CIN", LOWEST),
    "CIN2": ("CIN", HALF),
    "CIN III": ("CIN", HIGHEST),
    "CIN 2-3": ("CIN", 0.75),
    "VIN 3": ("CIN", HIGHEST),
    "HSIL": ("SIL", HIGHEST),
    "low grade": ("tier", LOWEST),
    "Intermediate-grade": ("tier", HALF),
    "HIGH GRADE": ("tier", HIGHEST),
    "low- to intermediate-grade": ("tier", 0.25),
    "low": ("tier", LOWEST),
    "well differentiated": ("differentiation", LOWEST),
    "Well-differentiated": ("differentiation", LOWEST),
    "moderately differentiated": ("differentiation", HALF),
    "moderately to poorly differentiated": ("differentiation", 0.75),
    "poorly-differentiated": ("differentiation", HIGHEST),
    "undifferentiated": ("differentiation", HIGHEST),
    "differentiation: poor": ("differentiation", HIGHEST),
    "G1": ("grade", LOWEST),
    "G3": ("grade", HIGHEST),
    "grade 2 of 3": ("grade", HALF),
    "II/III": ("grade", HALF),
    "grade IV/IV": ("grade", HIGHEST),
    "grade 2/4": ("grade", THIRD),
    "grade 1-2": ("grade", 0.25),
    "grade I to II": ("grade", 0.25),
    "grade three": ("grade", HIGHEST),
    "Grade Ill": ("grade", HIGHEST),
    "grade ll": ("grade", HALF),
    "grade l": ("grade", LOWEST),
    "Histologic grade: 3 (poorly differentiated)": ("grade", HIGHEST),
    "II": ("grade", HALF),
    "mild dysplasia": ("dysplasia", LOWEST),
    "moderate squamous dysplasia": ("dysplasia", HALF),
    "mild to moderate dysplasia": ("dysplasia", 0.25),
    "dysplasia, severe": ("dysplasia", HIGHEST),
}
PARTS = {
    "nuclear grade 2": ("nuclear", HALF),
    "high nuclear grade": ("nuclear", HIGHEST),
    "nuclear grade: high": ("nuclear", HIGHEST),
    "nuclear grade II-III": ("nuclear", 0.75),
    "nuclear pleomorphism: 3/3": ("nuclear", HIGHEST),
    "gland/papilla formation 2 points": ("tubules", HALF),
    "tubule formation: 3": ("tubules", HIGHEST),
    "glandular differentiation 2": ("tubules", HALF),
    "mitotic score 1": ("mitoses", LOWEST),
    "mitoses 1": ("mitoses", LOWEST),
    "architectural grade 1": ("architecture", LOWEST),
    "Gleason pattern 4": ("pattern", 0.75),
}
WHOLE_BESIDE_PARTS = {
    "Nottingham grade 2 (tubules 3, nuclear 2, mitoses 1)": HALF,
    "tubules 3, nuclear pleomorphism 2, mitotic count 1, total 6/9": HALF,
    "nuclear grade 3, FIGO grade 1": LOWEST,
    "mitotic score 3; overall grade 2": HALF,
    "total grade = 8 points = grade 3": HIGHEST,
}
NO_GRADE = [
    "", "carcinoma", "GX", "grade cannot be assessed", "not graded", "stage IIIB", "FIGO stage II",
    "Ann Arbor stage II", "3+", "2.4 cm", "grade", "grade 7",
]  # fmt: skip


def read(phrase: str) -> Grade:
    grade = read_grade(phrase)
    assert grade is not None
    return grade


def close(a: str, b: str) -> float:
    return agreement(read(a), read(b))


@pytest.mark.parametrize(("phrase", "expected"), READ.items())
def test_a_grade_has_its_place_from_lowest_to_highest(
    phrase: str, expected: tuple[str, float]
) -> None:
    grade = read(phrase)
    assert (grade.scheme, grade.part) == (expected[0], None)
    assert grade.value == pytest.approx(expected[1])


@pytest.mark.parametrize(("phrase", "expected"), PARTS.items())
def test_a_part_is_not_the_whole(phrase: str, expected: tuple[str, float]) -> None:
    grade = read(phrase)
    assert grade.part == expected[0]
    assert grade.value == pytest.approx(expected[1])


@pytest.mark.parametrize(("phrase", "value"), WHOLE_BESIDE_PARTS.items())
def test_the_whole_counts_where_parts_stand_beside_it(phrase: str, value: float) -> None:
    assert read(phrase).part is None
    assert read(phrase).value == pytest.approx(value)


@pytest.mark.parametrize("phrase", NO_GRADE)
def test_other_phrases_give_no_grade(phrase: str) -> None:
    assert read_grade(phrase) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("low grade", "grade 1"),
        ("low grade", "well differentiated"),
        ("high grade", "grade 3"),
        ("high-grade", "poorly differentiated"),
        ("G2", "moderately differentiated"),
        ("grade 3", "WHO grade III"),
        ("Grade II", "Fuhrman 2"),
        ("SBR 3", "Nottingham 9/9"),
        ("Gleason 3+4=7", "grade group 2"),
        ("CIN 1", "LSIL"),
        ("CIN 2", "HSIL"),
        ("severe dysplasia", "CIN 3"),
        ("WHO grade 2", "low grade"),
        ("FIGO grade 2", "low-grade"),
        ("Fuhrman 3", "high grade"),
    ],
)
def test_the_same_grade_in_other_words_agrees(a: str, b: str) -> None:
    assert close(a, b) >= 0.9


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("low grade", "high grade"),
        ("grade 1", "grade 3"),
        ("well differentiated", "high grade"),
        ("WHO grade 1", "WHO grade 4"),
        ("WHO grade 2", "high grade"),
        ("mild dysplasia", "CIN 3"),
        ("tubules 3", "grade 3"),
        ("mitoses 1", "nuclear grade 1"),
        ("Gleason 3+3", "Gleason 5+5"),
    ],
)
def test_opposite_grades_and_other_parts_do_not_agree(a: str, b: str) -> None:
    assert close(a, b) <= 0.35


def test_three_and_four_is_not_four_and_three() -> None:
    assert close("Gleason 3+4=7", "Gleason 4+3=7") < 0.8
    assert close("Gleason 7", "Gleason 3+4") > close("Gleason 7", "Gleason 3+3")


def test_dysplasia_and_tumour_are_not_graded_against_each_other() -> None:
    assert close("severe dysplasia", "poorly differentiated") == 0.5


def test_a_grade_of_the_nuclei_is_nearly_one_of_the_whole() -> None:
    assert 0.5 < close("nuclear grade 3", "high grade") < 1


pieces = st.lists(
    st.sampled_from(
        "grade Gleason WHO nuclear CIN 0 1 3 8 9 + / of II lV - to low mild = ()".split()
    )
)


@given(
    st.text()
    | pieces.map(" ".join)
    | st.from_regex(r"(?i)(grade|gleason|who|figo) ?[0-9ivl|]+ ?([+/-] ?[0-9ivl]+)?")
)
def test_any_text_can_be_read(text: str) -> None:
    grade = read_grade(text)
    if grade is not None:
        assert 0 <= grade.value <= 1
        assert agreement(grade, grade) == 1


@given(st.sampled_from(list(product(READ | PARTS, repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    assert 0 <= close(*pair) <= 1
    assert close(*pair) == close(*reversed(pair))


@pytest.mark.parametrize("phrase", ["ER 8/8", "NAS 6/8", "LLL", "ILC", "L1", "FIGO IB"])
def test_scores_stages_and_abbreviations_are_no_grade(phrase: str) -> None:
    assert read_grade(phrase) is None


def test_a_single_gleason_grade_is_a_pattern_and_pancreatic_neoplasia_has_ranks() -> None:
    pattern, early = read_grade("predominant Gleason grade 4"), read_grade("PanIN-3")
    assert pattern is not None
    assert (pattern.part, pattern.level) == ("pattern", 4)
    assert early is not None
    assert early.tier == "high"


@pytest.mark.parametrize(("phrase", "level"), [("Gleason grade 5", 5), ("Gleason pattern 3", 3)])
def test_a_pattern_is_no_sum(phrase: str, level: int) -> None:
    grade = read_grade(phrase)
    assert grade is not None
    assert (grade.part, grade.level) == ("pattern", level)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("grade 2", "moderately differentiated", 1.0),
        ("grade 2", "low grade", 0.5),
        ("grade 2", "nuclear grade 2", 0.8),
        ("Gleason 5", "Gleason 6", 1.0),
    ],
)
def test_how_alike_grades_of_two_kinds_are(one: str, other: str, alike: float) -> None:
    here, there = read_grade(one), read_grade(other)
    assert here is not None
    assert there is not None
    assert agreement(here, there) == pytest.approx(alike)


@pytest.mark.parametrize(
    ("phrase", "level", "of", "tier", "part"),
    [
        ("mild nuclear pleomorphism", 1, 3, "low", "nuclear"),
        ("moderate tubule formation", 2, 3, "intermediate", "tubules"),
        ("marked nuclear pleomorphism", 3, 3, "high", "nuclear"),
        ("nuclear grade 4", 4, 4, "high", "nuclear"),
        ("nuclei 3", 3, 3, "high", "nuclear"),
        ("Gleason 2+3=5", 1, 5, "low", None),
        ("Gleason 4+3", 3, 5, "intermediate", None),
        ("Gleason 5", 1, 5, "low", None),
        ("Gleason pattern 5", 5, 5, None, "pattern"),
        ("grade group 5", 5, 5, "high", None),
        ("Nottingham 7/9", 2, 3, "intermediate", None),
        ("grade 2/2", 2, 2, "high", None),
        ("grade 3 of 4", 3, 4, "high", None),
        ("grade 5/5", 5, 5, None, None),
        ("grade 1-2", 1.5, None, None, None),
        ("grade 2, stage 3", 2, None, None, None),
    ],
)
def test_a_rank_stands_among_those_of_its_scheme(
    phrase: str, level: float, of: int | None, tier: str | None, part: str | None
) -> None:
    grade = read(phrase)
    assert (grade.level, grade.of, grade.tier, grade.part) == (level, of, tier, part)


@pytest.mark.parametrize("phrase", ["nuclear grade 5", "grade group 6", "stage 2", "Allred 7/8"])
def test_ranks_that_no_scheme_has_are_no_grade(phrase: str) -> None:
    assert read_grade(phrase) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("low grade", "Gleason 3+3", 1.0),
        ("low grade", "grade 2 of 4", 0.9),
        ("high grade", "CIN 2", 0.9),
        ("high grade", "grade 1", 0.0),
        ("nuclear grade 3", "grade 3", 0.8),
        ("nuclear grade 1", "grade 3", 0.0),
        ("tubules 3", "grade 3", 0.0),
        ("Gleason 3+4", "Gleason 4+3", 0.75),
    ],
)
def test_low_and_high_take_in_what_other_schemes_count_as_such(
    one: str, other: str, alike: float
) -> None:
    assert close(one, other) == close(other, one) == pytest.approx(alike)

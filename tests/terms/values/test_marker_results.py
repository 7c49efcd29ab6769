"""Results are read with their polarity, strength and extent, by the rules of each marker."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.marker_results import Result, agreement, read_result
from histoeval.terms.values.markers import known_markers
from tests.support.tables import from_table

POSITIVE = [
    "positive", "POSITIVE", "Pos.", "+", "(+)", "+ve", "ER+", "strongly positive (3+)", "3+",
    "2 +", "1 plus", "+++", "+ + +", "2-3+", "diffuse", "patchy", "focally and weakly positive",
    "retained", "intact nuclear expression", "no loss of expression", "not lost", "amplified",
    "reactive", "rearrangement detected", "V600E mutation detected", "methylated", "MSI-H", "pMMR",
    "kappa-restricted", "strong diffuse nuclear staining", "organisms seen", "present", "90%",
    "positive in 5% of cells", "Allred score 8/8", "H-score 280", "IHC positive; FISH pending",
    "p0sitive", "posi tive", "postive", "immunoreactive", "over-expressed", "not negative",
    "equivocal, amplified",
]  # fmt: skip
NEGATIVE = [
    "negative", "NEGATIVE", "neg", "-", "(-)", "ER-", "-ve", "(\u2212)", "0", "score 0",
    "no staining", "lost", "loss of nuclear expression", "not amplified", "non-amplified",
    "unamplified", "no amplification", "wild type", "wild-type pattern", "no mutation detected",
    "mutation not detected", "not expressed", "non-reactive", "nonreactive", "not identified",
    "no organisms identified", "absent", "no tumour cells positive", "not positive", "dMMR", "MSS",
    "0%", "<1%", "Allred 2", "negatve", "nega tive", "unmethylated", "lacks expression",
    "not strongly positive", "equivocal (2+), not amplified", "without any expression",
    "triple negative",
]  # fmt: skip
EQUIVOCAL = ["equivocal", "indeterminate", "+/-", "±", "borderline", "inconclusive", "reduced"]
UNTESTED = ["not performed", "pending", "Not done", "to follow", "not tested"]
NO_RESULT = ["", "carcinoma", "the", "unremarkable", "x", "left breast", "12", "."]


def read(phrase: str, marker: str | None = None) -> Result:
    result = read_result(phrase, marker)
    assert result is not None
    return result


def close(a: str, b: str, marker: str | None = None) -> float:
    return agreement(read(a, marker), read(b, marker))


@pytest.mark.parametrize(
    ("phrase", "polarity"),
    [(p, "positive") for p in POSITIVE]
    + [(p, "negative") for p in NEGATIVE]
    + [(p, "equivocal") for p in EQUIVOCAL],
)
def test_words_and_signs_have_their_polarity(phrase: str, polarity: str) -> None:
    assert read(phrase).polarity == polarity


@from_table
def test_some_markers_have_rules_of_their_own(phrase: str, marker: str, polarity: str) -> None:
    assert read(phrase, marker).polarity == polarity


@pytest.mark.parametrize("phrase", UNTESTED)
def test_what_was_not_tested_has_no_polarity(phrase: str) -> None:
    assert read(phrase) == Result(tested=False)


@pytest.mark.parametrize("phrase", NO_RESULT)
def test_other_phrases_state_no_result(phrase: str) -> None:
    assert read_result(phrase) is None


@from_table
def test_strength_and_extent_are_read(
    phrase: str, strength: int | None, extent: str | None
) -> None:
    assert (read(phrase).strength, read(phrase).extent) == (strength, extent)


@from_table
def test_a_proliferation_index_is_more_or_less_and_never_positive(
    phrase: str, low: float, high: float
) -> None:
    assert read(phrase, "Ki-67") == Result(low=low, high=high)


@from_table
def test_a_per_cent_is_positive_from_the_cut_off_on(
    marker: str, said: str, polarity: str | None
) -> None:
    assert read(said, marker).polarity == polarity


def test_per_cent_are_kept_beside_the_polarity() -> None:
    result = read("Positive in 90% of tumor cells, strong intensity", "estrogen receptor")
    assert result == Result("positive", 3, None, 90, 90)


def test_a_flip_agrees_in_nothing() -> None:
    assert [pair for pair in product(POSITIVE, NEGATIVE) if close(*pair) != 0] == []


def test_the_same_polarity_agrees_well_whatever_the_amount() -> None:
    same = [*product(POSITIVE, repeat=2), *product(NEGATIVE, repeat=2)]
    assert [pair for pair in same if close(*pair) < 0.7] == []


@pytest.mark.parametrize("other", ["positive", "negative"])
def test_equivocal_is_half_way(other: str) -> None:
    assert close("equivocal", other) == 0.5


def test_agreement_falls_with_strength_extent_and_per_cent() -> None:
    for said in (
        ("3+", "2+", "1+"),
        ("diffuse positive", "patchy positive", "focal positive", "rare cells positive"),
        ("90%", "70%", "20%"),
    ):
        falling = [close(said[0], other) for other in said]
        assert falling == sorted(set(falling), reverse=True)


def test_a_proliferation_index_is_compared_by_distance() -> None:
    falling = [close("20%", other, "Ki-67") for other in ("20%", "25%", "40%", "90%")]
    assert falling == sorted(set(falling), reverse=True)
    assert close("2%", "60%", "Ki-67") < 0.1
    assert close("low", "5%", "Ki-67") > 0.9
    assert close("low", "80%", "Ki-67") < 0.2


words = st.lists(st.sampled_from([*POSITIVE, *NEGATIVE, *EQUIVOCAL, "no", "not", "score", "3"]))


@given(st.text() | words.map(" ".join), st.none() | st.sampled_from(sorted(known_markers())))
def test_any_text_can_be_read(text: str, marker: str | None) -> None:
    result = read_result(text, marker)
    if result is not None:
        assert agreement(result, result) == 1
        assert result.low is None or 0 <= result.low <= (result.high or 0) <= 100


percents = st.tuples(st.floats(0, 100), st.floats(0, 100)).map(sorted)
results = st.builds(
    lambda polarity, strength, extent, percent, tested: Result(
        polarity, strength, extent, percent and percent[0], percent and percent[1], tested
    ),
    st.sampled_from(["positive", "negative", "equivocal", None]),
    st.none() | st.integers(0, 3),
    st.sampled_from([None, "none", "rare", "focal", "patchy", "partial", "diffuse"]),
    st.none() | percents,
    st.booleans(),
)


@given(results, results)
def test_agreement_is_symmetric_and_within_bounds(a: Result, b: Result) -> None:
    assert 0 <= agreement(a, b) <= 1
    assert agreement(a, b) == agreement(b, a)
    assert agreement(a, a) == 1


@from_table
def test_a_noun_for_the_result_is_one_unless_it_is_denied(phrase: str, polarity: str) -> None:
    assert read(phrase).polarity == polarity

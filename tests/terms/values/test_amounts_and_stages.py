"""Lengths, shares, rates and stages of whole texts."""

from __future__ import annotations

import pytest

from histoeval.terms.number_words import in_figures
from histoeval.terms.values.amounts import amount_conflicts, read_amounts
from histoeval.terms.values.stated import conflicts
from histoeval.terms.values.stated_stages import read_stages, stage_severity


def amount_worst(reference: str, candidate: str) -> int:
    found = amount_conflicts(read_amounts(reference), read_amounts(candidate))
    return max((severity for _, _, severity in found), default=0)


def stage_worst(reference: str, candidate: str) -> int:
    found = conflicts(read_stages(reference), read_stages(candidate), stage_severity)
    return max((severity for _, _, severity in found), default=0)


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("tumour of 2.5 cm", "tumour of 25 mm", 0),
        ("tumour of 2.5 cm", "twenty-five millimetres across", 0),
        ("tumour of 2.5 cm", "tumour of 25 cm", 4),
        ("tumour of 1.8 cm", "tumour of 2.9 cm", 3),
        ("tumour of 42 x 35 mm", "tumour of 47 x 35 mm", 1),
        ("Breslow 1.2 mm", "Breslow 2.3 mm", 3),
        ("Breslow 0.6 mm", "Breslow 6.0 mm", 4),
        ("margin of 10 mm", "margin of 1 mm", 3),
        ("cores up to 12 mm in length", "cores up to 16 mm in length", 1),
        ("60% blasts", "6% blasts", 4),
        ("Ki-67 2%", "Ki-67 25%", 3),
        ("Ki-67 30%", "Ki-67 35%", 1),
        ("95% necrosis", "5% viable tumour", 0),
        ("1 of 12 cores", "11 of 12 cores", 3),
        ("one of twelve cores", "1/12 cores", 0),
        ("invades 3 of 15 mm of myometrium", "invades 13 of 15 mm of myometrium", 4),
        ("activity index 14/24", "activity index 3/24", 3),
        ("60 eosinophils per HPF", "6 eosinophils per HPF", 3),
    ],
)
def test_a_change_is_as_severe_as_what_the_amount_is_of(
    one: str, other: str, severity: int
) -> None:
    assert amount_worst(one, other) == severity


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("Breslow 0.7 mm", "Breslow 0.75 mm", 1),
        ("Breslow 0.7 mm", "Breslow 0.8 mm", 3),
        ("Breslow 0.7 mm", "Breslow 2.1 mm", 4),
        ("tumour of 18 mm", "tumour of 30 mm", 3),
        ("tumour of 18 mm", "tumour of 52 mm", 4),
    ],
)
def test_an_amount_that_crosses_more_limits_is_worse(one: str, other: str, severity: int) -> None:
    assert amount_worst(one, other) == amount_worst(other, one) == severity


def test_an_amount_that_only_one_text_gives_is_no_conflict() -> None:
    assert amount_worst("tumour of 2 cm, 4 mm from the margin", "tumour of 2 cm") == 0


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("pT2 N0", "pT2N0", 0),
        ("pT2", "pT2a", 0),
        ("pT1a", "pT1b", 2),
        ("pT2", "pT3", 3),
        ("pT1", "pT3", 4),
        ("pT3", "pT1", 4),
        ("pT1", "pT4", 4),
        ("pT3", "pT4", 3),
        ("pT3 pN0", "pT3 pN1b", 4),
        ("pN1", "pN2", 3),
        ("TURBT, pT1", "TURBT, pT2", 4),
        ("TURBT, pT2", "TURBT, pT3", 3),
        ("FIGO stage IA", "FIGO stage IB", 3),
        ("FIGO stage II", "FIGO stage III", 3),
        ("FIGO stage I", "FIGO stage III", 4),
        ("FIGO IC3", "FIGO stage 1C3", 0),
    ],
)
def test_a_stage_that_changes_the_treatment_is_worse(one: str, other: str, severity: int) -> None:
    assert stage_worst(one, other) == severity


def test_what_only_looks_like_a_stage_is_none() -> None:
    assert read_stages("Oxford M1 E0 S1 T0 C0; T2-weighted image; vertebra T8") == ()


def test_numbers_in_words_become_figures_in_their_places() -> None:
    text = "Twenty-one nodes and one core"
    assert in_figures(text) == "21         nodes and 1   core"
    assert len(in_figures(text)) == len(text)


@pytest.mark.parametrize(
    ("one", "other", "severities"),
    [
        ("0 of 12 cores", "0 of 10 cores", []),
        ("1 of 12 cores", "1 of 10 cores", [1]),
        ("1% blasts", "4% blasts", [1]),
        ("1% blasts", "5% blasts", [3]),
        ("1% steatosis", "4.5% steatosis", [1]),
        ("ER 1%", "ER 4%", [1]),
        ("Ki-67 5-10%", "Ki-67 10-15%", []),
        ("Ki-67 5-10%", "Ki-67 10.4%", [1]),
    ],
)
def test_shares_a_little_apart(one: str, other: str, severities: list[int]) -> None:
    found = amount_conflicts(read_amounts(one), read_amounts(other))
    assert [severity for _, _, severity in found] == severities

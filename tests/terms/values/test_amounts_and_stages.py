"""Lengths, shares, rates and stages of whole texts."""

from histoeval.terms.number_words import in_figures
from histoeval.terms.values.amounts import amount_conflicts, read_amounts
from histoeval.terms.values.stated import conflicts
from histoeval.terms.values.stated_stages import read_stages, stage_severity
from tests.support.tables import from_table


def amount_worst(reference: str, candidate: str) -> int:
    found = amount_conflicts(read_amounts(reference), read_amounts(candidate))
    return max((severity for _, _, severity in found), default=0)


def stage_worst(reference: str, candidate: str) -> int:
    found = conflicts(read_stages(reference), read_stages(candidate), stage_severity)
    return max((severity for _, _, severity in found), default=0)


@from_table
def test_a_change_is_as_severe_as_what_the_amount_is_of(
    one: str, other: str, severity: int
) -> None:
    assert amount_worst(one, other) == severity


@from_table
def test_an_amount_that_crosses_more_limits_is_worse(one: str, other: str, severity: int) -> None:
    assert amount_worst(one, other) == amount_worst(other, one) == severity


def test_an_amount_that_only_one_text_gives_is_no_conflict() -> None:
    assert amount_worst("tumour of 2 cm, 4 mm from the margin", "tumour of 2 cm") == 0


@from_table
def test_a_stage_that_changes_the_treatment_is_worse(one: str, other: str, severity: int) -> None:
    assert stage_worst(one, other) == severity


def test_what_only_looks_like_a_stage_is_none() -> None:
    assert read_stages("Oxford M1 E0 S1 T0 C0; T2-weighted image; vertebra T8") == ()


def test_numbers_in_words_become_figures_in_their_places() -> None:
    text = "Twenty-one nodes and one core"
    assert in_figures(text) == "21         nodes and 1   core"
    assert len(in_figures(text)) == len(text)


@from_table
def test_shares_a_little_apart(one: str, other: str, severities: list[int]) -> None:
    found = amount_conflicts(read_amounts(one), read_amounts(other))
    assert [severity for _, _, severity in found] == severities

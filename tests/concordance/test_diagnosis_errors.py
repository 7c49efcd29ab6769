"""How bad it is to put one diagnosis for another: severities that decide the score."""

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import mistakes_of
from tests.support.tables import from_table


def worst(reference: str, candidate: str) -> Severity | None:
    """The severity of the worst error about diagnoses."""
    return max((each.severity for each in mistakes_of(reference, candidate)), default=None)


@from_table
def test_what_could_harm_a_patient_is_critical(reference: str, candidate: str) -> None:
    assert worst(reference, candidate) == Severity.CRITICAL


@from_table
def test_another_disease_or_a_doubt_that_is_lost_is_major(reference: str, candidate: str) -> None:
    assert worst(reference, candidate) == Severity.MAJOR


@from_table
def test_other_words_for_the_same_are_no_grave_error(one: str, other: str) -> None:
    for reference, candidate in ((one, other), (other, one)):
        assert (worst(reference, candidate) or Severity.MINOR) <= Severity.MINOR


def test_who_denies_a_disease_denies_each_kind_of_it() -> None:
    found = worst(
        "Graft: {diagnosis:acute T-cell mediated rejection}.", "Graft: no {diagnosis:-rejection}."
    )
    assert found is not None
    assert found >= Severity.MAJOR


def test_diagnoses_are_paired_with_those_that_are_meant_for_them() -> None:
    reference = "Testis: {diagnosis:seminoma} with {diagnosis:germ cell neoplasia in situ}."
    candidate = (
        "Testis: {diagnosis:embryonal carcinoma} with {diagnosis:germ cell neoplasia in situ}."
    )
    (mistake,) = mistakes_of(reference, candidate)
    assert mistake.kind == ErrorKind.WRONG_DIAGNOSIS
    assert mistake.message == "wrong diagnosis: 'embryonal carcinoma' for 'seminoma'"

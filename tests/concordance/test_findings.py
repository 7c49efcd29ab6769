"""Findings: omitted, invented, contradicted."""

import pytest

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table

LVI = "{finding:Lymphovascular invasion} is present."
NO_LVI = "No {finding:-lymphovascular invasion}."


@pytest.mark.parametrize(("reference", "candidate"), [(LVI, NO_LVI), (NO_LVI, LVI)])
def test_to_affirm_what_the_other_denies_is_a_contradiction_and_costs_most(
    reference: str, candidate: str
) -> None:
    (wrong,) = mistakes_of(reference, candidate)
    assert wrong.kind == ErrorKind.CONTRADICTION
    assert wrong.severity == Severity.CRITICAL
    assert value_of("findings", reference, candidate) < value_of("findings", LVI, "Pale.")


def test_where_nobody_names_a_finding_there_is_nothing_to_compare() -> None:
    parts = parts_of("Pale.", "Red.")
    assert (parts["findings"].value, parts["no_inventions"].value) == (None, None)


@from_table
def test_what_supports_a_diagnosis_that_both_make_is_a_small_omission(
    finding: str, severity: Severity
) -> None:
    both = "Thyroid: {diagnosis:papillary thyroid carcinoma}."
    (missed,) = mistakes_of(f"{both} {{finding:{finding}}} present.", both)
    assert missed.severity == severity


def test_what_is_only_akin_is_not_reversed() -> None:
    present = "HSIL with {finding:crypt involvement}."
    denied = "HSIL. No {finding:-invasive disease}."
    assert ErrorKind.CONTRADICTION not in kinds_of(present, denied)
    assert ErrorKind.CONTRADICTION not in kinds_of(denied, present)


@from_table
def test_what_is_somewhere_else_or_another_inflammation_is_not_reversed(
    present: str, denied: str
) -> None:
    assert ErrorKind.CONTRADICTION not in kinds_of(present, denied)
    assert ErrorKind.CONTRADICTION not in kinds_of(denied, present)

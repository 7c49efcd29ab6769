"""Findings: omitted, invented, contradicted."""

from __future__ import annotations

import pytest

from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.concordance.findings import importance
from tests.support.report_builder import facts, kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table

LVI = "{finding:Lymphovascular invasion} is present."
NO_LVI = "No {finding:-lymphovascular invasion}."


def test_an_omitted_finding_is_an_omission() -> None:
    (missed,) = mistakes_of(LVI, "Pale.")
    assert (missed.kind, missed.part) == (ErrorKind.OMISSION, "findings")
    assert missed.candidate is None
    assert value_of("findings", LVI, "Pale.") < 1


def test_an_invented_finding_is_an_invention() -> None:
    (made_up,) = mistakes_of("Pale.", LVI)
    assert (made_up.kind, made_up.reference) == (ErrorKind.INVENTION, None)
    assert value_of("no_inventions", "Pale.", LVI) < 1


@pytest.mark.parametrize(("reference", "candidate"), [(LVI, NO_LVI), (NO_LVI, LVI)])
def test_to_affirm_what_the_other_denies_is_a_contradiction_and_costs_most(
    reference: str, candidate: str
) -> None:
    (wrong,) = mistakes_of(reference, candidate)
    assert wrong.kind == ErrorKind.CONTRADICTION
    assert wrong.severity == Severity.CRITICAL
    assert value_of("findings", reference, candidate) < value_of("findings", LVI, "Pale.")


def test_to_leave_out_that_something_was_not_there_costs_less() -> None:
    assert value_of("findings", LVI, "Pale.") < value_of("findings", NO_LVI, "Pale.") < 1
    (missed,) = mistakes_of(NO_LVI, "Pale.")
    assert missed.severity == Severity.MINOR


def test_to_deny_more_than_the_reference_is_no_invention() -> None:
    assert kinds_of("Pale.", NO_LVI) == set()


def test_another_word_for_it_is_the_same_finding() -> None:
    other = "{finding:Angiolymphatic invasion} is seen."
    assert value_of("findings", LVI, other) == value_of("no_inventions", LVI, other) == 1
    assert kinds_of(LVI, other) == set()


def test_what_matters_more_costs_more() -> None:
    by_importance = {
        importance(facts(each).findings[0]): each for each in (LVI, "{finding:plumes}")
    }
    assert sorted(by_importance) == [1, 3]
    costs = [1 - value_of("findings", by_importance[i], "Pale.") for i in (1, 3)]
    assert costs[0] < costs[1]


def test_a_finding_that_the_reference_calls_a_diagnosis_is_not_invented() -> None:
    reference = "{diagnosis:Intestinal metaplasia} of the stomach."
    assert ErrorKind.INVENTION not in kinds_of(reference, "{finding:Intestinal metaplasia}.")


def test_where_nobody_names_a_finding_there_is_nothing_to_compare() -> None:
    parts = parts_of("Pale.", "Red.")
    assert (parts["findings"].value, parts["no_inventions"].value) == (None, None)


def test_two_changes_of_one_family_do_not_contradict_each_other() -> None:
    reference = "{finding:Perifascicular atrophy}. No {finding:-rimmed vacuoles}."
    candidate = "No {finding:-rimmed vacuoles}. {finding:Fascicles with small fibres}."
    assert ErrorKind.CONTRADICTION not in kinds_of(reference, candidate)


def test_a_depth_that_the_stage_tells_is_a_small_invention_however_the_stage_is_written() -> None:
    reference = "Colon: {diagnosis:adenocarcinoma}, {stage:pT3 pN0}."
    candidate = (
        "Colon: {diagnosis:adenocarcinoma} with {finding:invasion of pericolic fat} "
        "({stage:pT3}; {stage:pN0})."
    )
    (made_up,) = mistakes_of(reference, candidate)
    assert made_up.severity == Severity.MINOR


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

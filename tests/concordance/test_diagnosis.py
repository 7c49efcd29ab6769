"""Diagnoses: the same, near, far, over- and undercalled, denied and hedged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.concordance.diagnosis_errors import behaviour_agreement
from histoeval.concordance.evidence import ErrorKind, Severity
from histoeval.terms.catalogue import Behaviour
from tests.support.report_builder import kinds_of, mistakes_of, parts_of, value_of
from tests.support.tables import from_table

IDC = "Breast: {diagnosis:invasive ductal carcinoma}."


def severities(reference: str, candidate: str, kind: ErrorKind) -> set[Severity]:
    return {each.severity for each in mistakes_of(reference, candidate) if each.kind == kind}


@from_table
def test_benign_for_malignant_is_a_critical_call(
    reference: str, candidate: str, kind: ErrorKind
) -> None:
    assert severities(reference, candidate, kind) == {Severity.CRITICAL}
    assert value_of("behaviour", reference, candidate) == 0
    assert value_of("diagnosis", reference, candidate) < 0.6


def test_in_situ_for_invasive_is_a_call_of_its_own() -> None:
    in_situ = "Breast: {diagnosis:ductal carcinoma in situ}."
    assert ErrorKind.UNDERCALL in kinds_of(IDC, in_situ)
    assert ErrorKind.OVERCALL in kinds_of(in_situ, IDC)
    assert 0 < value_of("behaviour", IDC, in_situ) < 1


def test_a_sibling_is_nearer_than_a_stranger_and_a_synonym_is_the_same() -> None:
    ladder = [
        value_of("diagnosis", IDC, f"Breast: {{diagnosis:{said}}}.")
        for said in (
            "infiltrating duct carcinoma",
            "invasive lobular carcinoma",
            "fibroadenoma",
        )
    ]
    assert ladder == sorted(set(ladder), reverse=True)
    assert ladder[0] == 1.0


def test_a_vague_word_says_less_than_the_exact_one_and_is_no_contradiction() -> None:
    vague = "Breast: {diagnosis:carcinoma}."
    assert 0.3 < value_of("diagnosis", IDC, vague) < value_of("diagnosis", IDC, IDC)
    assert value_of("behaviour", IDC, vague) == 1.0
    assert not kinds_of(IDC, vague) & {
        ErrorKind.UNDERCALL,
        ErrorKind.OVERCALL,
        ErrorKind.CONTRADICTION,
    }


def test_a_denied_diagnosis_is_no_match() -> None:
    denied = "Breast: no {diagnosis:-invasive ductal carcinoma}."
    assert value_of("diagnosis", IDC, denied) == 0
    assert value_of("completeness", IDC, denied) == 0
    assert severities(IDC, denied, ErrorKind.CONTRADICTION) == {Severity.CRITICAL}


def test_to_affirm_what_the_reference_denies_is_a_contradiction() -> None:
    reference = "Benign breast tissue. No {diagnosis:-invasive ductal carcinoma}."
    assert severities(reference, IDC, ErrorKind.CONTRADICTION) == {Severity.CRITICAL}


def test_a_hedged_diagnosis_is_a_part_of_a_match_and_two_hedged_ones_are_a_whole() -> None:
    hedged = "Breast: suspicious for {diagnosis:?invasive ductal carcinoma}."
    assert 0.4 <= value_of("diagnosis", IDC, hedged) <= 0.8
    assert value_of("diagnosis", hedged, IDC) == value_of("diagnosis", IDC, hedged)
    assert value_of("diagnosis", hedged, hedged) == 1.0


def test_a_phrase_that_no_catalogue_knows_is_compared_by_its_words() -> None:
    strange = "{diagnosis:Zebra-striped plumoma}."
    assert value_of("diagnosis", strange, "{diagnosis:zebra striped plumoma}.") > 0.8
    assert value_of("diagnosis", strange, "{diagnosis:quartz goblin}.") < 0.2


def test_a_second_diagnosis_left_out_or_added_is_told() -> None:
    both = IDC + " {diagnosis:Chronic gastritis} in the stomach."
    missed = [each for each in mistakes_of(both, IDC) if each.kind == ErrorKind.OMISSION]
    assert "Chronic gastritis" in {each.reference.text for each in missed if each.reference}
    added = [each for each in mistakes_of(IDC, both) if each.kind == ErrorKind.INVENTION]
    assert "Chronic gastritis" in {each.candidate.text for each in added if each.candidate}
    assert value_of("completeness", both, IDC) < value_of("completeness", IDC, both) == 1.0
    assert value_of("soundness", IDC, both) < 1.0


def test_primary_and_metastatic_are_told_apart() -> None:
    primary = "Liver: {diagnosis:adenocarcinoma}."
    spread = "Liver: {diagnosis:metastatic adenocarcinoma}."
    assert value_of("spread", primary, spread) < 1
    assert value_of("spread", spread, primary) < 1
    assert value_of("spread", spread, spread) == 1
    assert parts_of(primary, primary)["spread"].value is None
    assert ErrorKind.CONTRADICTION in kinds_of(primary, spread)


def test_a_metastasis_of_something_else_is_invented_and_contradicts_nothing() -> None:
    reference = "Liver: {diagnosis:primary biliary cholangitis}."
    candidate = f"{reference} {{diagnosis:Metastatic adenocarcinoma}}."
    kinds = kinds_of(reference, candidate)
    assert ErrorKind.INVENTION in kinds
    assert ErrorKind.CONTRADICTION not in kinds


def test_nothing_found_agrees_with_nothing_found_and_not_with_a_cancer() -> None:
    nothing = "Breast: no evidence of malignancy."
    assert value_of("diagnosis", nothing, "Breast: unremarkable.") == 1.0
    assert value_of("behaviour", nothing, IDC) == 0.0
    assert value_of("behaviour", IDC, nothing) == 0.0


def test_an_empty_candidate_leaves_out_the_diagnosis() -> None:
    assert value_of("diagnosis", IDC, "") == 0
    (missed,) = {each for each in mistakes_of(IDC, "") if each.part == "diagnosis"}
    assert (missed.kind, missed.severity) == (ErrorKind.OMISSION, Severity.CRITICAL)


@given(st.sampled_from(Behaviour), st.sampled_from(Behaviour))
def test_behaviours_agree_the_same_way_round_and_fully_only_with_themselves(
    one: Behaviour, other: Behaviour
) -> None:
    assert 0 <= behaviour_agreement(one, other) == behaviour_agreement(other, one) <= 1
    assert (behaviour_agreement(one, other) == 1) == (one == other)


def test_a_metastasis_is_looked_for_behind_a_diagnosis_that_both_have() -> None:
    reference = "{diagnosis:Fibroadenoma}. {diagnosis:Metastatic carcinoma} of the {site:liver}."
    candidate = "{diagnosis:Fibroadenoma}. {diagnosis:Carcinoma} of the {site:liver}."
    spread = [each for each in mistakes_of(reference, candidate) if each.part == "spread"]
    assert [(each.kind, each.severity) for each in spread] == [
        (ErrorKind.CONTRADICTION, Severity.MODERATE)
    ]


@pytest.mark.parametrize("milder", ["tubular adenoma", "adenoma with high grade dysplasia"])
def test_what_precedes_a_carcinoma_is_one_critical_error_for_it(milder: str) -> None:
    reference = "{site:Colon}: {diagnosis:adenocarcinoma}."
    of_diagnosis = [
        (each.kind, each.severity)
        for each in mistakes_of(reference, f"{{site:Colon}}: {{diagnosis:{milder}}}.")
        if each.part == "diagnosis"
    ]
    assert of_diagnosis == [(ErrorKind.UNDERCALL, Severity.CRITICAL)]


PRIMARY = "{site:Liver}: primary {diagnosis:adenocarcinoma}."
METASTASIS = "{site:Liver}: {diagnosis:metastatic adenocarcinoma}"


@pytest.mark.parametrize("turned", [False, True])
def test_a_metastasis_of_what_is_called_primary_is_major_both_ways(turned: bool) -> None:
    pair = (PRIMARY, f"{METASTASIS}.")[:: -1 if turned else 1]
    (spread,) = [each for each in mistakes_of(*pair) if each.part == "spread"]
    assert (spread.kind, spread.severity) == (ErrorKind.CONTRADICTION, Severity.MAJOR)
    assert value_of("spread", *pair) == 0


@pytest.mark.parametrize(("origin", "value"), [("colon", 1), ("rectal", 1), ("lung", 0)])
def test_the_primary_of_a_metastasis_is_that_of_the_reference(origin: str, value: float) -> None:
    colon = METASTASIS + " of {site:colon} origin."
    other = METASTASIS + f" of {{site:{origin}}} origin."
    assert value_of("spread", colon, other) == value
    wrong = [each.severity for each in mistakes_of(colon, other) if each.part == "spread"]
    assert wrong == ([] if value else [Severity.CRITICAL])


@from_table
def test_atypia_is_more_than_nothing_and_less_than_a_carcinoma(
    milder: str, worse: str, severity: Severity
) -> None:
    both = [f"{{diagnosis:{each}}}." for each in (milder, worse)]
    (over,), (under,) = mistakes_of(*both), mistakes_of(*reversed(both))
    assert (over.kind, over.severity) == (ErrorKind.OVERCALL, severity)
    assert (under.kind, under.severity) == (ErrorKind.UNDERCALL, severity)

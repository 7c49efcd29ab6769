"""Diagnoses: the same, near, far, over- and undercalled, denied and hedged."""

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


def test_a_hedged_diagnosis_is_a_part_of_a_match_and_two_hedged_ones_are_a_whole() -> None:
    hedged = "Breast: suspicious for {diagnosis:?invasive ductal carcinoma}."
    assert 0.4 <= value_of("diagnosis", IDC, hedged) <= 0.8
    assert value_of("diagnosis", hedged, IDC) == value_of("diagnosis", IDC, hedged)
    assert value_of("diagnosis", hedged, hedged) == 1.0


def test_a_phrase_that_no_catalogue_knows_is_compared_by_its_words() -> None:
    strange = "{diagnosis:Zebra-striped plumoma}."
    assert value_of("diagnosis", strange, "{diagnosis:zebra striped plumoma}.") > 0.8
    assert value_of("diagnosis", strange, "{diagnosis:quartz goblin}.") < 0.2


def test_primary_and_metastatic_are_told_apart() -> None:
    primary = "Liver: {diagnosis:adenocarcinoma}."
    spread = "Liver: {diagnosis:metastatic adenocarcinoma}."
    assert value_of("spread", primary, spread) < 1
    assert value_of("spread", spread, primary) < 1
    assert value_of("spread", spread, spread) == 1
    assert parts_of(primary, primary)["spread"].value is None
    assert ErrorKind.CONTRADICTION in kinds_of(primary, spread)


@given(st.sampled_from(Behaviour), st.sampled_from(Behaviour))
def test_behaviours_agree_the_same_way_round_and_fully_only_with_themselves(
    one: Behaviour, other: Behaviour
) -> None:
    assert 0 <= behaviour_agreement(one, other) == behaviour_agreement(other, one) <= 1
    assert (behaviour_agreement(one, other) == 1) == (one == other)


PRIMARY = "{site:Liver}: primary {diagnosis:adenocarcinoma}."
METASTASIS = "{site:Liver}: {diagnosis:metastatic adenocarcinoma}"


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

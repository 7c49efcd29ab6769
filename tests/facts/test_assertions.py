"""Diagnoses that are made, denied or left open, and the whole names of them."""

from tests.support.report_builder import facts
from tests.support.tables import from_table


def ids(marked: str) -> set[str]:
    return {each.concept.id for each in facts(marked).diagnoses if each.concept}


@from_table
def test_a_denial_of_something_else_denies_no_diagnosis(marked: str) -> None:
    said = facts(marked)
    assert said.diagnoses
    assert not {each.entity for each in said.diagnoses} & {each.entity for each in said.denied}


def test_a_plain_no_denies_what_follows() -> None:
    said = facts("Vulva: {diagnosis:lichen sclerosus}, no {diagnosis:dVIN}.")
    assert [each.entity.text for each in said.denied] == ["dVIN"]


@from_table
def test_a_diagnosis_is_left_open_or_not(marked: str, is_open: bool) -> None:
    assert {found.hedged for found in facts(marked).made} == {is_open}


@from_table
def test_words_around_a_diagnosis_that_belong_to_its_name_count(marked: str, id_: str) -> None:
    assert id_ in ids(marked)


def test_a_word_for_the_specimen_is_no_diagnosis() -> None:
    assert ids("Colon {diagnosis:polyp}: {diagnosis:tubular adenoma}.") == {"tubular_adenoma"}


def test_a_scheme_presupposes_its_tumour() -> None:
    assert ids("Radical prostatectomy: Gleason 4+3=7, pT2.") == {"prostatic_adenocarcinoma"}


@from_table
def test_a_tumour_is_metastatic_where_the_words_or_the_place_say_so(
    marked: str, spread: str | None
) -> None:
    assert [each.spread for each in facts(marked).diagnoses] == [spread]


def test_the_primary_is_read_from_the_words() -> None:
    said = facts("Liver: {diagnosis:metastatic adenocarcinoma}, favouring a colorectal primary.")
    assert "large_intestine" in {each.value for each in said.origins}


@from_table
def test_the_value_of_a_line_tells_whether_its_heading_is_there(marked: str, denied: bool) -> None:
    (finding,) = facts(marked).findings
    assert finding.denied == denied


def test_a_name_in_brackets_after_a_denial_is_denied() -> None:
    said = facts(
        "Parotid: {diagnosis:Warthin tumour}, no malignant change ({diagnosis:carcinoma})."
    )
    assert [each.entity.text for each in said.denied] == ["carcinoma"]

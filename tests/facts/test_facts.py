"""What a report says: what it concludes, denies, only considers, and what the reader missed."""

from __future__ import annotations

import pytest

from histoeval.facts.facts import Facts
from histoeval.terms.values.laterality import Side
from tests.support.report_builder import facts
from tests.support.tables import from_table


def names(said: Facts) -> list[str]:
    return [each.concept.id if each.concept else "?" for each in said.diagnoses]


def test_a_diagnosis_is_known_by_what_it_means() -> None:
    one = facts("{diagnosis:invasive ductal carcinoma} of the breast")
    other = facts("{diagnosis:Infiltrating duct carcinoma} of the breast")
    assert names(one) == names(other) != ["?"]


def test_a_slip_of_one_letter_is_put_right() -> None:
    assert names(facts("{diagnosis:adenocarcinma} of the colon")) == names(
        facts("{diagnosis:adenocarcinoma} of the colon")
    )


def test_a_denied_diagnosis_is_not_made() -> None:
    said = facts("No {diagnosis:-adenocarcinoma} is seen in the colon.")
    assert said.diagnoses == ()
    assert [each.entity.text for each in said.denied] == ["adenocarcinoma"]


def test_a_hedged_diagnosis_is_made_with_a_doubt() -> None:
    (made,) = facts("Suspicious for {diagnosis:?adenocarcinoma}.").diagnoses
    assert made.hedged


def test_what_is_only_to_be_ruled_out_is_not_claimed() -> None:
    said = facts("Further evaluation to rule out {diagnosis:?lymphoma} is recommended.")
    assert said.diagnoses == ()
    assert said.denied == ()


def test_a_gap_of_a_template_claims_nothing() -> None:
    said = facts(
        "Diagnosis: [insert diagnosis, e.g. {diagnosis:carcinoma} of the {site:left breast}, "
        "{grade:grade 2}, {stage:pT2}, {marker:ER} {result:positive}, {measurement:2 cm}, "
        "{finding:necrosis}]"
    )
    assert (said.diagnoses, said.sites, said.sides, said.grades, said.stages) == ((),) * 5
    assert (said.findings, said.measurements, said.markers, said.organs) == ((), (), {}, {})


def test_what_stands_under_the_diagnosis_is_the_conclusion_and_the_rest_is_beside_it() -> None:
    said = facts(
        "DIAGNOSIS: {diagnosis:Tubular adenoma} of the colon.\n"
        "COMMENT: There is also a {diagnosis:lipoma}."
    )
    assert [each.entity.text for each in said.diagnoses] == ["Tubular adenoma"]
    assert [each.entity.text for each in said.others] == ["lipoma"]


def test_what_the_patient_once_had_is_not_what_the_report_found() -> None:
    said = facts("{diagnosis:Tubular adenoma}. The patient has a history of {diagnosis:melanoma}.")
    assert [each.entity.text for each in said.diagnoses] == ["Tubular adenoma"]
    assert said.others == ()


def test_an_umbrella_word_beside_the_exact_one_is_not_a_second_diagnosis() -> None:
    said = facts("{diagnosis:Malignant neoplasm}: {diagnosis:invasive ductal carcinoma} of breast")
    assert [each.entity.text for each in said.diagnoses] == ["invasive ductal carcinoma"]


def test_of_one_diagnosis_made_twice_the_sure_one_counts() -> None:
    said = facts("Suspicious for {diagnosis:?melanoma}. Yes: {diagnosis:melanoma}.")
    assert [each.hedged for each in said.diagnoses] == [False]


def test_the_worst_leads() -> None:
    said = facts("{diagnosis:Chronic gastritis}. {diagnosis:Gastric adenocarcinoma}.")
    assert [each.entity.text for each in said.first] == ["Gastric adenocarcinoma"]
    assert len(said.diagnoses) == 2


def test_a_report_in_which_nothing_was_found_says_so() -> None:
    assert facts("No evidence of malignancy.").nothing_found
    assert not facts("").nothing_found
    assert not facts("No malignancy but {diagnosis:melanoma}.").nothing_found


def test_spread_is_told_from_what_has_spread() -> None:
    (made,) = facts("{diagnosis:Metastatic adenocarcinoma} in the liver").diagnoses
    assert made.spread == "metastatic"
    (primary,) = facts("{diagnosis:Adenocarcinoma} of the colon").diagnoses
    assert primary.spread is None


def test_sites_sides_grades_stages_and_sizes_are_read() -> None:
    said = facts(
        "{site:Left kidney}: {diagnosis:renal cell carcinoma}, {grade:grade 3}, {stage:pT3a}, "
        "{measurement:4.5 cm}"
    )
    assert [site.value for site in said.sites] == ["kidney"]
    assert [side.value for side in said.sides] == [Side.LEFT]
    assert [grade.entity.text for grade in said.grades][:1] == ["grade 3"]
    assert [stage.value.t for stage in said.stages] == ["3a"]
    assert [size.value.values for size in said.measurements] == [(45.0,)]
    assert set(said.organs) == {"kidney"}


def test_an_operation_tells_the_organ() -> None:
    assert facts("Specimen: mastectomy.").organs == {"breast": 1}


def test_a_lymph_node_does_not_tell_the_organ() -> None:
    assert facts("Three lymph nodes.").organs == {}


def test_each_marker_has_the_result_that_belongs_to_it() -> None:
    said = facts("{marker:ER}: {result:positive}. {marker:HER2}: {result:negative}. {marker:CK7}.")
    results = {key: sited.value for key, sited in said.markers.items()}
    found = {key: result.polarity if result else None for key, result in results.items()}
    assert sorted(found.values(), key=str) == [None, "negative", "positive"]
    assert len(found) == 3


@from_table
def test_an_abbreviation_taken_for_a_marker_is_the_finding_it_is(
    marked: str, denied: list[bool]
) -> None:
    said = facts(marked)
    assert said.markers == {}
    assert [each.denied for each in said.findings if each.entity.text == "LVI"] == denied


def test_what_the_catalogues_know_is_found_where_the_reader_left_it() -> None:
    said = facts("Breast biopsy shows DCIS.")
    assert [each.entity.text for each in said.diagnoses] == ["DCIS"]
    denied = facts("Breast biopsy without DCIS.")
    assert denied.diagnoses == ()
    assert [each.entity.text for each in denied.denied] == ["DCIS"]


def test_what_the_reader_has_found_is_not_found_again() -> None:
    said = facts("Breast biopsy shows {diagnosis:DCIS}.")
    assert len(said.diagnoses) == 1
    assert said.others == ()


def test_a_denied_finding_is_a_denied_finding() -> None:
    said = facts("No {finding:-necrosis}. {finding:Perineural invasion}.")
    assert [(each.id, each.denied) for each in said.findings] == [
        ("necrosis", True),
        ("perineural_invasion", False),
    ]


@pytest.mark.parametrize("text", ["", " \n", "🔬🧬👩‍⚕️", "\0", "[", "{", "a" * 5000])
def test_a_text_with_nothing_in_it_says_nothing(text: str) -> None:
    said = facts(text)
    assert (said.diagnoses, said.others, said.denied, said.findings) == ((),) * 4
    assert not said.nothing_found


@from_table
def test_a_list_of_markers_has_the_result_that_it_stands_under(
    marked: str, polarities: list[str]
) -> None:
    markers = facts(marked).markers
    found = {name: sited.value for name, sited in markers.items()}
    signs = {
        name: value and {"positive": "+", "negative": "-"}[value.polarity or ""]
        for name, value in found.items()
    }
    assert sorted(signs.values(), key=str) == sorted(polarities)
    assert signs["CD10"] == "+"
    assert signs["CD5"] == "-"


def test_a_marker_that_nobody_knows_counts_by_its_name_if_it_has_a_result() -> None:
    said = facts("{marker:Toxoplasma immunostain} is {result:negative}. {marker:Zzyzx}.")
    assert list(said.markers) == ["toxoplasma immunostain"]


@from_table
def test_a_finding_is_read_with_the_place_right_before_it(marked: str, found: str) -> None:
    assert [each.id for each in facts(marked).findings] == [found]


def test_a_diagnosis_that_was_cut_up_is_one() -> None:
    said = facts("{diagnosis:Nodular sclerosis} {diagnosis:classic Hodgkin lymphoma}")
    names = [each.concept and each.concept.id for each in said.diagnoses]
    assert names == ["nodular_sclerosis_hodgkin_lymphoma"]


def test_the_primary_of_a_metastasis_is_no_diagnosis_of_its_own() -> None:
    said = facts(
        "{diagnosis:Metastatic adenocarcinoma}, from a {diagnosis:colorectal carcinoma} primary."
    )
    assert [each.entity.text for each in said.diagnoses] == ["Metastatic adenocarcinoma"]


@pytest.mark.parametrize("rank", ["Krenn type II", "Clark V", "ISHLT", "type II", "Banff IIA"])
def test_a_class_of_a_scheme_is_no_diagnosis(rank: str) -> None:
    said = facts(f"{{diagnosis:Melanoma}}, {{diagnosis:{rank}}}.")
    assert [each.entity.text for each in said.diagnoses] == ["Melanoma"]


@from_table
def test_a_sign_beside_the_disease_is_a_finding(sign: str) -> None:
    said = facts(f"{{diagnosis:Crohn disease}} with {{diagnosis:{sign}}}.")
    assert [each.entity.text for each in said.diagnoses] == ["Crohn disease"]
    assert sign in [each.entity.text for each in said.findings]


def test_a_sign_by_itself_is_the_diagnosis() -> None:
    assert [each.entity.text for each in facts("{diagnosis:Granulomas}.").diagnoses] == [
        "Granulomas"
    ]


@from_table
def test_a_name_that_was_cut_in_two_is_one(marked: str, concept: str) -> None:
    (made,) = facts(marked).diagnoses
    assert made.concept is not None
    assert made.concept.id.startswith(concept)


def test_a_heading_with_a_value_is_a_statement_and_no_name_of_a_specimen() -> None:
    said = facts(
        "Diagnosis: {diagnosis:Myositis}\n{diagnosis:Perifascicular atrophy}: many fascicles"
    )
    assert "Perifascicular atrophy" in [each.entity.text for each in said.findings]


@from_table
def test_growth_is_found_in_statements_on_the_place(text: str, finding: str, denied: bool) -> None:
    assert (finding, denied) in facts(text).stated.findings


def test_nerves_in_a_specimen_are_no_organ() -> None:
    assert facts("Tongue: carcinoma around nerves.").organs.keys() == {"tongue"}

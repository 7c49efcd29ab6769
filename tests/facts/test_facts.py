"""What a report says: what it concludes, denies, only considers, and what the reader missed."""

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


@from_table
def test_a_diagnosis_is_made_beside_the_conclusion_or_denied(
    marked: str, made: list[str], beside: list[str], denied: list[str]
) -> None:
    said = facts(marked)
    assert [each.entity.text for each in said.diagnoses] == made
    assert [each.entity.text for each in said.others] == beside
    assert [each.entity.text for each in said.denied] == denied


def test_a_gap_of_a_template_claims_nothing() -> None:
    said = facts(
        "Diagnosis: [insert diagnosis, e.g. {diagnosis:carcinoma} of the {site:left breast}, "
        "{grade:grade 2}, {stage:pT2}, {marker:ER} {result:positive}, {measurement:2 cm}, "
        "{finding:necrosis}]"
    )
    assert (said.diagnoses, said.sites, said.sides, said.grades, said.stages) == ((),) * 5
    assert (said.findings, said.measurements, said.markers, said.organs) == ((), (), {}, {})


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


def test_an_operation_tells_the_organ_and_nodes_or_nerves_do_not() -> None:
    assert facts("Specimen: mastectomy.").organs == {"breast": 1}
    assert facts("Three lymph nodes.").organs == {}
    assert facts("Tongue: carcinoma around nerves.").organs.keys() == {"tongue"}


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


@from_table
def test_a_sign_beside_the_disease_is_a_finding(sign: str) -> None:
    said = facts(f"{{diagnosis:Crohn disease}} with {{diagnosis:{sign}}}.")
    assert [each.entity.text for each in said.diagnoses] == ["Crohn disease"]
    assert sign in [each.entity.text for each in said.findings]


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

"""All rules together: what they find in our reports, and the tables that they go by."""

import pytest

from histoeval.pathgls.logic.lexicon import APPEARANCE, DIAGNOSIS, GRADE, LOGIC, ORGAN
from histoeval.pathgls.logic.rules.registry import MAX_PER_RULE, rules_identity
from histoeval.terms.catalogue import concepts
from histoeval.terms.findings import findings
from histoeval.terms.sites import sites
from histoeval.terms.values.markers import known_markers
from tests.support.logic_reports import cases, contradictions, rules_broken

HALF = cases()[1::2]


def test_no_true_report_of_ours_contradicts_itself() -> None:
    assert not {case.id: found for case in HALF if (found := rules_broken(case.true))}


def test_no_rewording_of_ours_makes_a_contradiction() -> None:
    assert not [case.id for case in HALF[::3] if contradictions(case.reworded)]


def test_both_places_are_slices_of_the_report_and_stand_in_its_order() -> None:
    for case in HALF[::3]:
        for each in contradictions(case.wrong):
            for span in (each.first, each.second):
                assert case.wrong[span.start : span.end] == span.text
            assert each.first.start <= each.second.start
            assert each.why


@pytest.mark.parametrize(
    "text",
    [
        "DIAGNOSIS:\nA. Colon, biopsy: Adenocarcinoma, well differentiated. Lymphovascular "
        "invasion is present.\nB. Stomach, biopsy: Adenocarcinoma, poorly differentiated. "
        "Lymphovascular invasion is not identified.",
        "CLINICAL HISTORY:\nBreast carcinoma, poorly differentiated, of the left breast.\n"
        "DIAGNOSIS:\nInvasive ductal carcinoma of the right breast, well differentiated. "
        "The patient has a history of poorly differentiated carcinoma of the left breast.",
        "",
    ],
    ids=["two specimens", "the past", "nothing"],
)
def test_specimens_of_one_report_and_the_past_may_differ(text: str) -> None:
    assert not contradictions(text)


def test_a_rule_gives_only_a_few_contradictions_of_a_report() -> None:
    text = "ER is positive. " * 5 + "The tumour is an adenocarcinoma. " + "ER is negative. " * 5
    assert 1 <= len(contradictions(text)) <= MAX_PER_RULE


def test_every_id_of_the_word_lists_is_in_the_catalogues() -> None:
    data = LOGIC.entry()
    lines = {row["name"] for row in data["line"]}
    assert not [row["name"] for row in data["line"] if row["name"] in row["excludes"]]
    for row in (*data["line"], *data["home"]):
        assert set(row["diagnoses"]) <= set(concepts())
    for row in (*data["line"], *data["telling"]):
        assert set(row["excludes"]) <= lines
    assert all(set(row["organs"]) <= set(sites()) for row in data["home"])
    assert all(set(row["findings"]) <= set(findings()) for row in data["telling"])
    for name in ("local_findings", "only_malignant", "denied_is_harmless"):
        assert set(data["lists"][name]) <= set(findings())
    for name in ("paired", "tissues"):
        assert set(data["lists"][name]) <= set(sites())


def test_every_id_of_the_tables_is_in_the_catalogues() -> None:
    kinds, seen = DIAGNOSIS.entry(), APPEARANCE.entry()
    named = [*kinds["family"], *kinds["one_of"], *GRADE.entry("implied")]
    diagnoses = {id_ for row in named for id_ in row["diagnoses"]}
    diagnoses |= {*kinds["siblings"]["under"], *kinds["siblings"]["loose"]}
    for row in (*seen["seen"], *seen["denied"], *seen["stain"]):
        diagnoses |= {*row.get("only", ()), *row.get("excludes", ())}
    rows = seen["stain"]
    stains = {m for row in rows for way in ("positive", "negative") for m in row.get(way, ())}
    organs = {id_ for row in ORGAN.entry("tissue") for id_ in row["organs"]}
    organs |= {id_ for group in ORGAN.entry("organs", "together") for id_ in group}
    assert diagnoses <= set(concepts())
    assert stains <= set(known_markers())
    assert organs <= set(sites())
    names = {row["name"] for row in kinds["family"]}
    assert all(set(row["alike"]) <= names for row in kinds["family"])


def test_the_rules_have_a_version_that_pins_their_words() -> None:
    number, _, words = rules_identity().partition(".")
    assert number.isdecimal()
    assert len(words) == 12

"""Contradictions that need no model."""

from __future__ import annotations

import pytest

from histoeval.terms.catalogue import concepts
from histoeval.terms.findings import findings
from histoeval.terms.sites import sites
from histoeval.trust.logic.lexicon import table
from histoeval.trust.logic.read_specimens import specimens_of
from histoeval.trust.logic.rules.registry import MAX_PER_RULE, RULES, broken_rules, rules_identity
from histoeval.trust.results import Contradiction
from tests.support.logic_reports import cases, read


def broken(text: str) -> list[Contradiction]:
    return broken_rules(specimens_of(read(text))[0])


def names(text: str) -> set[str]:
    return {each.source.removeprefix("rule:") for each in broken(text)}


HALF = cases()[1::2]


def test_no_true_report_of_ours_contradicts_itself() -> None:
    assert not {case.id: names(case.true) for case in HALF if broken(case.true)}


def test_the_errors_of_ours_are_found_by_the_rule_for_them() -> None:
    missed = {case.id: names(case.wrong) for case in HALF if case.kind not in names(case.wrong)}
    assert len(missed) <= 2, missed


def test_no_rewording_of_ours_makes_a_contradiction() -> None:
    assert not [case.id for case in HALF[::3] if broken(case.reworded)]


def test_our_errors_are_of_all_kinds() -> None:
    in_prose = {"morphology", "site", "margin_in_words", "grade_in_words", "foreign_tissue"}
    in_prose |= {"no_home", "procedure", "diagnosis", "appearance"}
    assert {case.kind for case in HALF} == {*RULES, "nodes"} - in_prose


def test_both_places_are_slices_of_the_report_and_stand_in_its_order() -> None:
    for case in HALF[::3]:
        for each in broken(case.wrong):
            for span in (each.first, each.second):
                assert case.wrong[span.start : span.end] == span.text
            assert each.first.start <= each.second.start
            assert each.why


def test_specimens_of_one_report_may_differ() -> None:
    text = (
        "DIAGNOSIS:\n"
        "A. Colon, biopsy: Adenocarcinoma, well differentiated. Lymphovascular invasion is "
        "present.\n"
        "B. Stomach, biopsy: Adenocarcinoma, poorly differentiated. Lymphovascular invasion is "
        "not identified."
    )
    assert not broken(text)


def test_what_was_before_is_not_held_against_what_is_now() -> None:
    text = (
        "CLINICAL HISTORY:\nBreast carcinoma, poorly differentiated, of the left breast.\n"
        "DIAGNOSIS:\nInvasive ductal carcinoma of the right breast, well differentiated. "
        "The patient has a history of poorly differentiated carcinoma of the left breast."
    )
    assert not broken(text)


def test_a_report_on_both_sides_is_on_two_specimens() -> None:
    text = (
        "The left breast shows an invasive ductal carcinoma. The right breast shows an invasive "
        "ductal carcinoma. The left breast tumour is 2 cm. The right breast tumour is 1 cm."
    )
    assert "side" not in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invasive ductal carcinoma, Nottingham grade 2. The nuclei are of nuclear grade 3.",
        "Acinar adenocarcinoma, Gleason score 3+4=7. It is a moderately differentiated tumour.",
        "The tumour is moderately differentiated. There are poorly differentiated areas.",
        "Poorly differentiated adenocarcinoma. The grade is 3.",
    ],
)
def test_grades_of_different_schemes_or_of_a_part_go_together(text: str) -> None:
    assert "grade" not in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "The carcinoma is positive for CD3. Background lymphocytes are negative for CD3.",
        "The proximal margin is involved by tumour. The distal margin is free of tumour.",
        "Adenocarcinoma of the rectum. The lymph nodes show no evidence of malignancy.",
        "Ductal carcinoma in situ is present. There is an invasive ductal carcinoma beside it.",
        "Metastatic renal cell carcinoma of the skin. The epidermis is intact.",
        "Invasive carcinoma is suspected. Invasive carcinoma is not identified in these levels.",
    ],
)
def test_what_only_looks_like_a_contradiction_is_none(text: str) -> None:
    assert not broken(text)


def test_nodes_may_be_involved_by_single_cells_and_count_as_free() -> None:
    staged = "Isolated tumour cells are found in 1/3 lymph nodes. The stage is pN0 (i+)."
    assert "nodes" not in names(staged)


def test_a_rule_gives_only_so_many_contradictions_of_a_report() -> None:
    text = "ER is positive. " * 5 + "The tumour is an adenocarcinoma. " + "ER is negative. " * 5
    assert 1 <= len(broken(text)) <= MAX_PER_RULE


def test_an_empty_report_breaks_no_rule() -> None:
    assert not broken("")


def test_every_id_of_the_data_file_is_in_the_catalogues() -> None:
    data = table()
    lines = {row["name"] for row in data["line"]}
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


def test_no_line_excludes_itself() -> None:
    assert all(row["name"] not in row["excludes"] for row in table()["line"])


def test_the_rules_have_a_version_that_pins_their_words() -> None:
    number, _, words = rules_identity().partition(".")
    assert number.isdecimal()
    assert len(words) == 12

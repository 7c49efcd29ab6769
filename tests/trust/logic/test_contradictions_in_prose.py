"""Contradictions of short reports in plain prose: by rule, and between sentences as they stand."""

from __future__ import annotations

import json
from functools import cache

import pytest

from histoeval.errors import Problem
from histoeval.extract.builtin import BuiltinReader
from histoeval.report import Report
from histoeval.trust.logic.read_specimens import specimens_of
from histoeval.trust.logic.rules.registry import broken_rules
from histoeval.trust.logic.score import Top, logic_of
from histoeval.trust.logic.sentence_pairs import MAX_SENTENCE_PAIRS, sentence_pairs
from tests.support.logic_reports import Says, read
from tests.support.paths import DATA

FILE = DATA / "logic_more.jsonl"
AT_ODDS = "Stroma is loose. The stroma is dense."
SIDES = "Left lung, biopsy. The adenocarcinoma of the right lung is acinar."


@cache
def rows() -> list[tuple[dict[str, str], Report]]:
    told = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    reports = BuiltinReader(threads=1).read([row["report"] for row in told])
    return list(zip(told, reports, strict=True))


def sources(report: Report) -> set[str]:
    return {each.source.removeprefix("rule:") for each in broken_rules(specimens_of(report)[0])}


def test_none_of_our_consistent_reports_breaks_a_rule() -> None:
    alarms = {
        row["id"]: sources(report)
        for row, report in rows()
        if row["truth"] == "consistent" and sources(report)
    }
    assert not alarms


def test_nearly_all_of_our_contradictions_break_one() -> None:
    missed = [
        row["id"]
        for row, report in rows()
        if row["truth"] == "contradiction" and not sources(report)
    ]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("denial", "Colon, biopsy: colonic mucosa without malignancy. Diagnosis: adenocarcinoma."),
        ("side", "Left breast, biopsy: ductal carcinoma. The tumour in the right breast is firm."),
        ("nodes", "Lymph nodes: 0 of 9 nodes involved. Metastatic carcinoma is in two nodes."),
        ("in_situ", "Cervix: carcinoma in situ. The carcinoma invades the stroma."),
        ("margin", "The tumour is completely excised. Tumour is present at the deep margin."),
        ("marker", "Breast: ductal carcinoma, triple negative. ER is positive."),
        ("size", "Breast: ductal carcinoma, 12 mm. The tumour measures 45 mm."),
        ("morphology", "Colon: normal colonic mucosa. Diagnosis: invasive adenocarcinoma."),
        ("site", "Colon, biopsy. Glands are seen. Diagnosis: adenocarcinoma of the prostate."),
    ],
)
def test_a_short_report_is_read_as_one_lesion(rule: str, text: str) -> None:
    assert rule in sources(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Colon: adenocarcinoma. The adjacent mucosa is normal and evenly spaced.",
        "Colon: tubular adenoma with low grade dysplasia. No high grade dysplasia is seen.",
        "Left breast: ductal carcinoma. The right breast shows fibrosis and no tumour.",
        "Two of nine nodes contain metastases. The remaining nodes are free of tumour.",
        "Bladder: papillary urothelial carcinoma, non-invasive. The tumour does not invade muscle.",
        "Brain: metastatic adenocarcinoma. The tumour arises in the lung.",
    ],
)
def test_what_is_of_another_place_is_no_contradiction(text: str) -> None:
    assert not sources(read(text))


def test_sentences_count_as_a_pair_only_where_a_model_finds_them_at_odds() -> None:
    sure, unsure = (logic_of(read(AT_ODDS), Says(p), top=Top(number=1)) for p in (0.99, 0.6))
    assert not isinstance(sure, Problem)
    assert not isinstance(unsure, Problem)
    assert sure.value < 0.5 < unsure.value


def test_sentences_that_name_two_sides_need_less_to_be_at_odds() -> None:
    (specimen,) = specimens_of(read(SIDES))[0]
    (pair,) = sentence_pairs(specimen)
    assert pair.opposed


def test_sentences_on_nodes_are_not_held_against_those_on_the_lesion() -> None:
    text = "The colon has an adenocarcinoma. The lymph nodes are free of tumour."
    (specimen,) = specimens_of(read(text))[0]
    assert not sentence_pairs(specimen)


def test_a_report_of_many_sentences_has_only_so_many_pairs() -> None:
    text = " ".join(f"The tumour has {word} cells." for word in ("large", "small", "clear")) * 20
    (specimen,) = specimens_of(read(text))[0]
    assert len(sentence_pairs(specimen)) <= MAX_SENTENCE_PAIRS

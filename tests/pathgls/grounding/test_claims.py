"""Claims of reports: what is one, how it is phrased, and what is kept apart."""

from __future__ import annotations

import pytest

from histoeval.pathgls.grounding.claims import claims_of, not_seen, sorted_claims, visual
from histoeval.report import Assertion, Entity, EntityType, Relation, Report
from tests.support.shipped_models import shipped_reader

A, U = Assertion.ABSENT, Assertion.UNCERTAIN


def made(
    text: str, *marks: tuple[str, str] | tuple[str, str, Assertion], links: str = ""
) -> Report:
    """A report with these words marked; links are positions, as "0-1 0-2"."""
    entities, at = [], 0
    for words, kind, *rest in marks:
        at = text.index(words, at)
        entities.append(
            Entity(
                text=words,
                start=at,
                end=at + len(words),
                type=EntityType(kind),
                assertion=rest[0] if rest else Assertion.PRESENT,
            )
        )
        at += len(words)
    pairs = [link.split("-") for link in links.split()]
    relations = tuple(Relation(head=int(head), tail=int(tail)) for head, tail in pairs)
    return Report(text=text, entities=tuple(entities), relations=relations)


def phrases(report: Report) -> list[str]:
    return [claim.phrase for claim in claims_of(report)]


def test_grade_diagnosis_and_organ_become_one_phrase() -> None:
    report = made(
        "Sigmoid colon: Moderately differentiated adenocarcinoma.",
        ("Sigmoid colon", "site"),
        ("Moderately differentiated", "grade"),
        ("adenocarcinoma", "diagnosis"),
        links="2-0 2-1",
    )
    (claim,) = claims_of(report)
    assert claim.phrase == "moderately differentiated adenocarcinoma of the colon"
    assert claim.span.text == report.text[claim.span.start : claim.span.end] == "adenocarcinoma"


def test_a_grade_in_numbers_is_said_in_words() -> None:
    report = made(
        "Ductal carcinoma, Nottingham grade 3",
        ("Ductal carcinoma", "diagnosis"),
        ("Nottingham grade 3", "grade"),
        links="0-1",
    )
    assert phrases(report) == ["high-grade ductal carcinoma"]


def test_a_phrase_that_names_its_organ_is_not_given_another() -> None:
    report = made(
        "Prostate: benign prostatic hyperplasia",
        ("Prostate", "site"),
        ("benign prostatic hyperplasia", "diagnosis"),
        links="1-0",
    )
    assert phrases(report) == ["benign prostatic hyperplasia"]


def test_words_of_doubt_and_history_are_not_part_of_a_phrase() -> None:
    report = made(
        "Suspicious for recurrent nodular melanoma",
        ("Suspicious for", "descriptor"),
        ("recurrent", "descriptor"),
        ("nodular", "descriptor"),
        ("melanoma", "diagnosis", U),
        links="3-0 3-1 3-2",
    )
    (claim,) = claims_of(report)
    assert (claim.phrase, claim.assertion) == ("nodular melanoma", U)


def test_a_site_is_a_claim_where_no_asserted_diagnosis_carries_it() -> None:
    text = "Antrum of stomach: no lymphoma. Liver: cirrhosis."
    report = made(
        text,
        ("Antrum of stomach", "site"),
        ("lymphoma", "diagnosis", A),
        ("Liver", "site"),
        ("cirrhosis", "diagnosis"),
        links="1-0 3-2",
    )
    assert phrases(report) == [
        "stomach tissue",
        "lymphoma of the stomach",
        "cirrhosis of the liver",
    ]


def test_a_region_of_the_body_is_no_tissue() -> None:
    assert phrases(made("Left arm", ("Left arm", "site"))) == []


def test_equal_phrases_are_one_claim_at_the_first_place() -> None:
    report = made(
        "Necrosis here. More necrosis there, and no necrosis here.",
        ("Necrosis", "finding"),
        ("necrosis", "finding"),
        ("necrosis", "finding", A),
    )
    found = claims_of(report)
    assert [(claim.span.start, claim.assertion) for claim in found] == [
        (0, Assertion.PRESENT),
        (43, A),
    ]


@pytest.mark.parametrize(
    ("kind", "text", "phrase", "assertion"),
    [
        ("finding", "no necrosis", "necrosis", A),
        ("finding", "necrosis not identified", "necrosis", A),
        ("diagnosis", "polyp without dysplasia", "polyp", Assertion.PRESENT),
        ("diagnosis", "carcinoma of no special type", "carcinoma", Assertion.PRESENT),
        ("diagnosis", "carcinoma, not otherwise specified", "carcinoma", Assertion.PRESENT),
        ("finding", "desmoplastic", "desmoplasia", Assertion.PRESENT),
    ],
)
def test_denial_inside_the_words_of_an_entity_is_understood(
    kind: str, text: str, phrase: str, assertion: Assertion
) -> None:
    (claim,) = claims_of(made(text, (text, kind)))
    assert (claim.phrase, claim.assertion) == (phrase, assertion)


@pytest.mark.parametrize(
    "text", ["margins", "mass", "extends", "soft, nodular, red-gray", "tan cut surface"]
)
def test_what_no_patch_can_show_is_no_claim_and_says_why(text: str) -> None:
    report = made(text, (text, "finding"))
    assert claims_of(report) == ()
    assert text in not_seen(report)[0]


def test_tissue_that_is_everywhere_is_no_claim_where_something_is_found_in_it() -> None:
    text = "Invasion of adipose tissue"
    found = ("Invasion", "finding"), ("adipose tissue", "site")
    assert phrases(made(text, *found, links="0-1")) == ["invasion in the adipose tissue"]
    assert phrases(made(text, *found)) == ["invasion", "adipose tissue"]


def test_what_cannot_be_seen_is_no_claim_and_says_why() -> None:
    report = made(
        "Biopsy. Melanoma 2.1 mm, pT3a, S100 positive",
        ("Biopsy", "procedure"),
        ("Melanoma", "diagnosis"),
        ("2.1 mm", "measurement"),
        ("pT3a", "stage"),
        ("S100", "marker"),
        ("positive", "result"),
        links="1-2 1-3 4-5",
    )
    assert phrases(report) == ["melanoma"]
    notes = " ".join(not_seen(report))
    assert all(words in notes for words in ("Biopsy", "2.1 mm", "pT3a", "S100"))
    assert not_seen(made("Melanoma", ("Melanoma", "diagnosis"))) == ()


def test_claims_are_sorted_by_what_the_report_says_of_them() -> None:
    report = made(
        "Fibrosis, no necrosis, perhaps mucin",
        ("Fibrosis", "finding"),
        ("necrosis", "finding", A),
        ("mucin", "finding", U),
    )
    parts = sorted_claims(claims_of(report))
    names = [[claim.phrase for claim in part] for part in parts]
    assert names == [["fibrosis"], ["necrosis"], ["mucin"]]


def test_an_empty_report_claims_nothing() -> None:
    assert claims_of(Report(text="")) == ()


def test_visual_words_are_lower_case_without_asides() -> None:
    assert visual("  Consistent with Adenocarcinoma (see note),\n") == "adenocarcinoma"


def test_claims_of_the_builtin_reader_name_the_organ() -> None:
    (report,) = shipped_reader().read(["Thyroid, left lobe: papillary carcinoma. No necrosis."])
    parts = sorted_claims(claims_of(report))
    assert any("papillary carcinoma" in claim.phrase for claim in parts.asserted)
    assert any("thyroid" in claim.phrase for claim in parts.asserted)
    assert any("necrosis" in claim.phrase for claim in parts.denied)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        (
            "Liver: metastatic colonic adenocarcinoma.",
            {"liver tissue", "metastatic colonic adenocarcinoma in the liver"},
        ),
        (
            "Lung, wedge: metastasis of breast carcinoma.",
            {"lung tissue", "metastasis in the lung", "metastatic breast carcinoma in the lung"},
        ),
        (
            "Liver, biopsy: lung metastasis in liver.",
            {"liver tissue", "lung metastasis in the liver"},
        ),
        (
            "Brain, excision: metastatic carcinoma, lung primary favoured.",
            {"brain tissue", "metastatic carcinoma in the brain"},
        ),
        (
            "Stomach, biopsy: chronic gastritis with intestinal metaplasia.",
            {"chronic gastritis of the stomach", "intestinal metaplasia of the stomach"},
        ),
        (
            "Stomach, gastrectomy: intestinal-type adenocarcinoma.",
            {"intestinal-type adenocarcinoma of the stomach"},
        ),
        ("Stomach: pancreatic heterotopia.", {"pancreatic heterotopia of the stomach"}),
        ("Lung, biopsy: adenocarcinoma. History of breast cancer.", {"adenocarcinoma of the lung"}),
        (
            "Brain: glioblastoma. Clinical history: treated lung carcinoma.",
            {"glioblastoma of the brain"},
        ),
        (
            "Liver: hepatocellular adenoma in a patient on oral contraceptives.",
            {"hepatocellular adenoma of the liver"},
        ),
        ("Metastatic colonic adenocarcinoma.", {"metastatic colonic adenocarcinoma"}),
    ],
)
def test_the_site_is_where_the_specimen_is_from(text: str, phrases: set[str]) -> None:
    (report,) = shipped_reader().read([text])
    assert {claim.phrase for claim in sorted_claims(claims_of(report)).asserted} == phrases


def test_an_origin_is_no_claim_where_another_place_is_named() -> None:
    text = "Peritoneum: carcinoma. CK20 positive, favours a colonic primary."
    sites = ("Peritoneum", "site"), ("carcinoma", "diagnosis"), ("colonic", "site")
    assert phrases(made(text, *sites, links="1-0")) == ["carcinoma of the peritoneum"]
    alone = "Carcinoma. Primary site: colon."
    assert phrases(made(alone, ("Carcinoma", "diagnosis"), ("colon", "site"))) == [
        "carcinoma",
        "colon tissue",
    ]
    spread = "Metastatic carcinoma of colonic origin."
    assert phrases(made(spread, ("Metastatic carcinoma", "diagnosis"), ("colonic", "site"))) == [
        "metastatic carcinoma"
    ]


def test_where_a_finding_reaches_is_no_tissue_of_its_own() -> None:
    text = "Pancreas: carcinoma invading the duodenum"
    marks = ("Pancreas", "site"), ("carcinoma", "diagnosis"), ("invading", "finding")
    report = made(text, *marks, ("duodenum", "site"), links="1-0 2-3")
    assert phrases(report) == ["carcinoma of the pancreas", "invasion in the duodenum"]
    alone = made(
        "Invading the duodenum", ("Invading", "finding"), ("duodenum", "site"), links="0-1"
    )
    assert phrases(alone) == ["invasion in the duodenum", "duodenum tissue"]


def test_an_origin_that_is_read_as_a_diagnosis_is_none() -> None:
    text = "Liver: metastatic carcinoma, consistent with breast primary."
    marks = (
        ("Liver", "site"),
        ("metastatic carcinoma", "diagnosis"),
        ("breast primary", "diagnosis"),
    )
    assert phrases(made(text, *marks, links="1-0")) == [
        "liver tissue",
        "metastatic carcinoma in the liver",
    ]


def test_a_site_that_is_denied_is_no_claim_and_one_in_which_something_is_denied_is() -> None:
    assert phrases(made("No colonic mucosa is seen.", ("colonic mucosa", "site"))) == []
    assert phrases(made("No tumour in the liver.", ("liver", "site"))) == ["liver tissue"]
    assert phrases(made("Liver: negative.", ("Liver", "site"))) == ["liver tissue"]


def test_a_report_that_stands_under_the_history_as_a_whole_keeps_its_claims() -> None:
    text = "Clinical history: liver with cirrhosis."
    assert phrases(made(text, ("liver", "site"), ("cirrhosis", "diagnosis"), links="1-0")) == [
        "cirrhosis of the liver"
    ]


def test_vessels_do_not_move_a_tumour_out_of_its_organ() -> None:
    text = "Vein: renal cell carcinoma"
    found = made(text, ("Vein", "site"), ("renal cell carcinoma", "diagnosis"), links="1-0")
    assert phrases(found) == ["renal cell carcinoma"]

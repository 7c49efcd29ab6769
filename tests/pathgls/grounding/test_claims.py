"""Claims of reports: what is one, how it is phrased, and what is kept apart."""

import pytest

from histoeval.pathgls.grounding.claims import claims_of, not_seen, sorted_claims, visual
from histoeval.report import Assertion, Relation, Report
from tests.support.report_builder import report
from tests.support.shipped_models import shipped_reader


def linked(marked: str, links: str = "") -> Report:
    """A marked report with relations between its entities by number, as "0-1 0-2"."""
    pairs = (link.split("-") for link in links.split())
    relations = tuple(Relation(head=int(head), tail=int(tail)) for head, tail in pairs)
    return report(marked).model_copy(update={"relations": relations})


def phrases(marked: str, links: str = "") -> list[str]:
    return [claim.phrase for claim in claims_of(linked(marked, links))]


@pytest.mark.parametrize(
    ("marked", "links", "expected"),
    [
        ("", "", []),
        (
            "{site:Sigmoid colon}: {grade:Moderately differentiated} {diagnosis:adenocarcinoma}.",
            "2-0 2-1",
            ["moderately differentiated adenocarcinoma of the colon"],
        ),
        (
            "{diagnosis:Ductal carcinoma}, {grade:Nottingham grade 3}",
            "0-1",
            ["high-grade ductal carcinoma"],
        ),
        (
            "{site:Prostate}: {diagnosis:benign prostatic hyperplasia}",
            "1-0",
            ["benign prostatic hyperplasia"],
        ),
        (
            "{descriptor:Suspicious for} {descriptor:recurrent} {descriptor:nodular} "
            "{diagnosis:?melanoma}",
            "3-0 3-1 3-2",
            ["nodular melanoma"],
        ),
        (
            "{site:Antrum of stomach}: no {diagnosis:-lymphoma}. {site:Liver}: "
            "{diagnosis:cirrhosis}.",
            "1-0 3-2",
            ["stomach tissue", "lymphoma of the stomach", "cirrhosis of the liver"],
        ),
        ("{site:Left arm}", "", []),
        # what is in every organ is no tissue of its own where something is found in it
        ("{finding:Invasion} of {site:adipose tissue}", "0-1", ["invasion in the adipose tissue"]),
        ("{finding:Invasion} of {site:adipose tissue}", "", ["invasion", "adipose tissue"]),
        # an origin is no place of the specimen beside another
        (
            "{site:Peritoneum}: {diagnosis:carcinoma}. CK20 positive, favours a {site:colonic} "
            "primary.",
            "1-0",
            ["carcinoma of the peritoneum"],
        ),
        ("{diagnosis:Carcinoma}. Primary site: {site:colon}.", "", ["carcinoma", "colon tissue"]),
        ("{diagnosis:Metastatic cancer} of {site:colonic} origin.", "", ["metastatic cancer"]),
        (
            "{site:Liver}: {diagnosis:metastatic carcinoma}, consistent with "
            "{diagnosis:breast primary}.",
            "1-0",
            ["liver tissue", "metastatic carcinoma in the liver"],
        ),
        # nor is the place that a finding reaches
        (
            "{site:Pancreas}: {diagnosis:carcinoma} {finding:invading} the {site:duodenum}",
            "1-0 2-3",
            ["carcinoma of the pancreas", "invasion in the duodenum"],
        ),
        (
            "{finding:Invading} the {site:duodenum}",
            "0-1",
            ["invasion in the duodenum", "duodenum tissue"],
        ),
        # nor one that is denied, but one in which something is denied
        ("No {site:colonic mucosa} is seen.", "", []),
        ("No tumour in the {site:liver}.", "", ["liver tissue"]),
        ("{site:Liver}: negative.", "", ["liver tissue"]),
        # a report that stands under the history as a whole keeps its claims
        (
            "Clinical history: {site:liver} with {diagnosis:cirrhosis}.",
            "1-0",
            ["cirrhosis of the liver"],
        ),
        # vessels do not move a tumour out of its organ
        ("{site:Vein}: {diagnosis:renal cell carcinoma}", "1-0", ["renal cell carcinoma"]),
    ],
)
def test_what_is_claimed_and_in_which_words(marked: str, links: str, expected: list[str]) -> None:
    assert phrases(marked, links) == expected


def test_a_claim_has_the_place_and_the_assertion_of_its_entity() -> None:
    found = linked("{finding:Necrosis} here. {finding:Necrosis} there, and no {finding:-necrosis}.")
    claims = claims_of(found)
    assert [(claim.span.start, claim.assertion) for claim in claims] == [
        (0, Assertion.PRESENT),
        (38, Assertion.ABSENT),
    ]
    assert all(c.span.text == found.text[c.span.start : c.span.end] for c in claims)


@pytest.mark.parametrize(
    ("marked", "phrase", "is_denied"),
    [
        ("{finding:no necrosis}", "necrosis", True),
        ("{finding:necrosis not identified}", "necrosis", True),
        ("{diagnosis:polyp without dysplasia}", "polyp", False),
        ("{diagnosis:carcinoma of no special type}", "carcinoma", False),
        ("{diagnosis:carcinoma, not otherwise specified}", "carcinoma", False),
        ("{finding:desmoplastic}", "desmoplasia", False),
    ],
)
def test_denial_inside_an_entity(marked: str, phrase: str, is_denied: bool) -> None:
    (claim,) = claims_of(linked(marked))
    assert (claim.phrase, claim.assertion is Assertion.ABSENT) == (phrase, is_denied)


@pytest.mark.parametrize(
    "text", ["margins", "mass", "extends", "soft, nodular, red-gray", "tan cut surface"]
)
def test_what_no_patch_can_show_is_no_claim_and_says_why(text: str) -> None:
    found = linked(f"{{finding:{text}}}")
    assert claims_of(found) == ()
    assert text in not_seen(found)[0]


def test_what_cannot_be_seen_is_no_claim_and_says_why() -> None:
    marked = (
        "{procedure:Biopsy}. {diagnosis:Melanoma} {measurement:2.1 mm}, {stage:pT3a}, "
        "{marker:S100} {result:positive}"
    )
    assert phrases(marked, "1-2 1-3 4-5") == ["melanoma"]
    notes = " ".join(not_seen(linked(marked)))
    assert all(words in notes for words in ("Biopsy", "2.1 mm", "pT3a", "S100"))
    assert not_seen(linked("{diagnosis:Melanoma}")) == ()


def test_claims_are_sorted_by_what_the_report_says_of_them() -> None:
    found = linked("{finding:Fibrosis}, no {finding:-necrosis}, perhaps {finding:?mucin}")
    parts = sorted_claims(claims_of(found))
    names = [[claim.phrase for claim in part] for part in parts]
    assert names == [["fibrosis"], ["necrosis"], ["mucin"]]


def test_visual_words_are_lower_case_without_asides() -> None:
    assert visual("  Consistent with Adenocarcinoma (see note),\n") == "adenocarcinoma"


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_the_site_is_where_the_specimen_is_from(text: str, expected: set[str]) -> None:
    (found,) = shipped_reader().read([text])
    assert {claim.phrase for claim in sorted_claims(claims_of(found)).asserted} == expected

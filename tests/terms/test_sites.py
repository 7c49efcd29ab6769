"""Where in the body."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.sites import (
    find_operated,
    find_places,
    find_sites,
    organ_of,
    site_closeness,
    site_tree,
    sites,
    system_of,
)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("hepatic parenchyma", ["liver"]),
        ("liver, right lobe", ["liver"]),
        ("cervical lymph nodes", ["cervical_lymph_node"]),
        ("hepatic flexure of the colon", ["hepatic_flexure", "colon"]),
        ("uterine cervix", ["cervix_uteri"]),
        ("gastroesophageal junction", ["gastro_oesophageal_junction"]),
        ("gastro-oesophageal junction", ["gastro_oesophageal_junction"]),
        ("gall bladder", ["gallbladder"]),
        ("urinary bladder", ["urinary_bladder"]),
        ("RENAL PELVIS", ["renal_pelvis"]),
        ("left breast, upper outer quadrant", ["breast", "upper_outer_quadrant"]),
        ("pulmonary", ["lung"]),
        ("ovaries", ["ovary"]),
        ("prostatic chips", ["prostate"]),
        ("endometrial curettings", ["endometrium"]),
        ("cerebellum", ["cerebellum"]),
        ("thyroid isthmus", ["thyroid_isthmus"]),
        ("cutaneous", ["skin"]),
        ("back-to-back glands", []),
        ("smooth muscle actin", []),
        ("Helicobacter pylori", []),
        ("spindle cells", []),
    ],
)
def test_a_phrase_names_its_sites(phrase: str, expected: list[str]) -> None:
    assert [match.id for match in find_sites(phrase)] == expected


def test_every_name_of_a_site_finds_it_alone() -> None:
    wrong = [
        (name, site.id)
        for site in sites().values()
        for name in site.names
        if [(m.start, m.end, m.id) for m in find_sites(name)] != [(0, len(name), site.id)]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("site", "organ", "system"),
    [
        ("sigmoid_colon", "large_intestine", "digestive_system"),
        ("appendix", "appendix", "digestive_system"),
        ("stomach", "stomach", "digestive_system"),
        ("nipple", "breast", "breast"),
        ("breast", "breast", "breast"),
        ("ovary", "ovary", "female_genital_system"),
        ("endometrium", "uterus", "female_genital_system"),
        ("upper_lobe_of_lung", "lung", "respiratory_system"),
        ("digestive_system", "digestive_system", "digestive_system"),
    ],
)
def test_a_site_belongs_to_an_organ_and_a_system(site: str, organ: str, system: str) -> None:
    assert (organ_of(site), system_of(site)) == (organ, system)


def test_sites_are_nearer_the_more_they_share() -> None:
    ladder = [
        site_closeness("colon", "colon"),
        site_closeness("colon", "sigmoid_colon"),
        site_closeness("colon", "rectum"),
        site_closeness("colon", "digestive_system"),
        site_closeness("colon", "stomach"),
        site_closeness("colon", "lung"),
    ]
    assert ladder == sorted(set(ladder), reverse=True)
    assert (ladder[0], ladder[-1]) == (1, 0)


def test_two_organs_that_hang_together_are_nearer_than_two_of_a_system() -> None:
    assert site_closeness("ovary", "fallopian_tube") > site_closeness("ovary", "vagina")
    assert site_closeness("ovary", "adnexa") == site_closeness("colon", "caecum")


@given(st.sampled_from(sorted(sites())), st.sampled_from(sorted(sites())))
def test_nearness_is_the_same_both_ways(a: str, b: str) -> None:
    assert 0 <= site_closeness(a, b) == site_closeness(b, a) <= 1
    assert (site_closeness(a, b) == 1) == (a == b)


def test_no_site_is_deeper_than_four_levels() -> None:
    assert max(site_tree().depth(site) for site in sites()) <= 3


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("Mastectomy specimen", ["breast"]),
        ("radical NEPHRECTOMY", ["kidney"]),
        ("right hemicolectomy and splenectomy", ["large_intestine", "spleen"]),
        ("prostatectomies", ["prostate"]),
        ("core biopsy", []),
        ("excision", []),
        ("", []),
        ("🔬", []),
    ],
)
def test_an_operation_tells_the_organ(phrase: str, expected: list[str]) -> None:
    found = find_operated(phrase)
    assert [match.id for match in found] == expected
    for match in found:
        assert phrase[match.start : match.end].strip() == phrase[match.start : match.end] != ""


def test_an_operation_is_not_a_site_and_tells_one_that_is_known() -> None:
    for phrase in ("mastectomy", "nephrectomy", "hysterectomy", "thyroidectomy", "gastrectomy"):
        (operated,) = find_operated(phrase)
        assert operated.id in sites()
        assert find_sites(phrase) == ()


@pytest.mark.parametrize(
    ("region", "nodes"), [("groin", "inguinal node"), ("axilla", "axillary node")]
)
def test_a_region_is_near_the_nodes_that_lie_there(region: str, nodes: str) -> None:
    (one,), (other,) = find_sites(region), find_sites(nodes)
    assert site_closeness(one.id, other.id) == site_closeness(other.id, one.id) == 0.5


@pytest.mark.parametrize(
    "phrase",
    ["Infiltration of nerve trunks", "Parietal cells are preserved", "D2-40 is positive"],
)
def test_a_name_that_holds_the_word_of_a_site_is_none(phrase: str) -> None:
    assert not [match.id for match in find_sites(phrase) if match.id]


@pytest.mark.parametrize(
    ("phrase", "places"),
    [
        ("carcinoma of the colon", {"colon"}),
        ("colonic adenocarcinoma", {"colon"}),
        ("ductal carcinoma in situ of the breast", {"breast"}),
        ("intestinal metaplasia of the stomach", {"stomach"}),
        ("gastric and intestinal type mucin", set()),
        ("pyloric gland metaplasia", set()),
        ("ovarian-type stroma", set()),
        ("heterotopic pancreas", set()),
        ("mucinous carcinoma, colonic-type", set()),
        ("hepatoid adenocarcinoma", set()),
        ("oral contraceptives", set()),
        ("adenocarcinoma of colonic origin", set()),
        ("lung primary", set()),
        ("metastatic colonic adenocarcinoma", set()),
        ("metastatic adenocarcinoma of the colon", set()),
        ("colonic adenocarcinoma in the liver", {"liver"}),
        ("lung metastasis in liver", {"liver"}),
        ("liver metastases of colonic adenocarcinoma", {"liver"}),
    ],
)
def test_a_place_is_where_something_is(phrase: str, places: set[str]) -> None:
    assert {match.id for match in find_places(phrase)} == places

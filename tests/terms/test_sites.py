"""Where in the body."""

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
from tests.support.tables import from_table


@from_table
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


@from_table
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


@from_table
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


@from_table
def test_a_region_is_near_the_nodes_that_lie_there(region: str, nodes: str) -> None:
    (one,), (other,) = find_sites(region), find_sites(nodes)
    assert site_closeness(one.id, other.id) == site_closeness(other.id, one.id) == 0.5


@from_table
def test_a_place_is_where_something_is(phrase: str, places: set[str]) -> None:
    assert {match.id for match in find_places(phrase)} == places

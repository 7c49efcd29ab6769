"""Phrases put together from a base and what is said of it."""

import tomllib
from collections import defaultdict

from histoeval_research.ontology.obo import OntologyConcept
from histoeval_research.train.aligner.compositions import bases, composed, composition_table

TABLE = tomllib.loads(
    """
[[axis]]
name = "side"
of = ["organ"]
[axis.values]
left = ["left {}", "{}, left"]
right = ["right {}", "{}, right"]

[[same]]
axis = "stage"
names = [["stage I", "stage 1"], ["stage II", "stage 2"]]
"""
)
ORGANS = {
    "organ": [
        OntologyConcept("organs", "k", "kidney", ("ren",)),
        OntologyConcept("organs", "a", "left atrium"),
    ]
}


def test_each_value_of_an_axis_has_several_wordings_and_shares_its_group_with_the_others() -> None:
    phrases = list(composed(TABLE, ORGANS, most=4))
    named = {phrase.id: phrase for phrase in phrases}
    left, right = named["side/organs/k/left"], named["side/organs/k/right"]
    assert left.name == "left kidney"
    assert set(left.names) <= {"left kidney", "kidney, left", "left ren", "ren, left"}
    assert 1 < len(left.names) <= 4
    assert left.parents == right.parents
    assert not set(left.names) & set(right.names)
    assert not any("atrium" in phrase.name for phrase in phrases), "it says its side already"
    stages = [phrase for phrase in phrases if "stage" in phrase.name]
    assert [stage.names for stage in stages] == [("stage I", "stage 1"), ("stage II", "stage 2")]
    assert len({stage.parents for stage in stages}) == 1
    assert phrases == list(composed(TABLE, ORGANS, most=4))
    assert phrases != list(composed(TABLE, ORGANS, most=4, seed=1))


def test_every_axis_of_the_shipped_table_has_bases_and_values_that_differ() -> None:
    table = composition_table()
    of = bases(table["bases"])
    groups = defaultdict(list)
    for named in composed(table, of, most=3):
        groups[named.parents[0]].append(named)
    for axis in table["axis"]:
        assert any(group.startswith(f"{axis['name']}/") for group in groups)
        assert all("{}" in wording for values in axis["values"].values() for wording in values)
    assert min(map(len, groups.values())) > 1
    markers = [named.names for named in groups["marker result/markers/CD20"]]
    assert len(markers) == 4
    assert any(name.startswith("CD20") for name in markers[0])


def test_a_base_is_also_carried_by_a_longer_phrase_that_says_nothing_on_the_axis() -> None:
    table = TABLE | {"carriers": {"of": ["{}, biopsy", "{} on the left side"]}}
    many = {
        "organ": [OntologyConcept("organs", f"o{n}", f"organ {'abcdefghij'[n]}") for n in range(10)]
    }
    longer = [n for n in composed(table, many, most=4) if "/longer" in n.id]
    assert 0 < len(longer) < 20
    assert all("biopsy" in name for named in longer for name in named.names)
    for named in longer:
        others = [other for other in longer if other.parents == named.parents]
        assert len(others) == 2, "both values, and both with the clause"


def test_what_means_the_same_is_said_of_bases_where_it_says_of_which() -> None:
    same = {"axis": "stage", "of": ["organ"], "names": [["pT1", "T1"], ["pT2", "T2"]]}
    found = [*composed({"axis": [], "same": [same]}, ORGANS, most=5)]
    assert {named.parents for named in found} == {("stage/organs/k",), ("stage/organs/a",)}
    assert all("1" in name or "2" in name for named in found for name in named.names)
    assert not any(named.name in ("pT1", "T1") for named in found)


def test_a_finding_is_denied_also_in_the_words_that_deny_it_by_themselves() -> None:
    table = composition_table()
    of = bases(table["bases"])
    denied = {n.id: n for n in composed(table, of, most=3) if n.id.endswith("/absent")}
    assert any("clear" in name for n in denied.values() for name in n.names if "margin" in n.id)

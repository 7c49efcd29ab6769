"""What is a kind of what."""

import pytest

from histoeval.terms.tree import Tree


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree(
        {
            "animal": [],
            "mammal": ["animal"],
            "bird": ["animal"],
            "dog": ["mammal", "pet"],
            "cat": ["mammal", "pet"],
            "poodle": ["dog"],
            "pet": [],
            "stone": [],
        }
    )


def test_ancestors_come_with_the_fewest_steps(tree: Tree) -> None:
    assert tree.ancestors("poodle") == {"poodle": 0, "dog": 1, "mammal": 2, "pet": 2, "animal": 3}


def test_the_lineage_goes_by_the_first_parent(tree: Tree) -> None:
    assert tree.lineage("poodle") == ("poodle", "dog", "mammal", "animal")
    assert tree.depth("poodle") == 3
    assert tree.depth("stone") == 0


def test_is_a_goes_by_any_parent(tree: Tree) -> None:
    assert tree.is_a("poodle", "pet")
    assert tree.is_a("dog", "dog")
    assert not tree.is_a("pet", "dog")


def test_descendants_leave_out_the_thing_itself(tree: Tree) -> None:
    assert tree.descendants("mammal") == ("dog", "cat", "poodle")
    assert tree.children("pet") == ("dog", "cat")


def test_distance_goes_over_what_both_are(tree: Tree) -> None:
    assert tree.distance("poodle", "cat") == 3
    assert tree.distance("dog", "animal") == 2
    assert tree.distance("dog", "stone") is None


def test_closeness_is_whole_for_the_same_and_nothing_for_strangers(tree: Tree) -> None:
    assert tree.closeness("dog", "dog") == 1
    assert tree.closeness("dog", "stone") == 0
    assert tree.closeness("bird", "mammal") == 0


def test_closeness_of_siblings_is_that_of_wu_and_palmer(tree: Tree) -> None:
    assert tree.closeness("dog", "cat") == pytest.approx(2 * 1 / (2 + 2))
    assert tree.closeness("poodle", "cat") == pytest.approx(2 * 1 / (2 + 3))


def test_a_kind_is_closer_than_a_sibling_and_less_with_each_step(tree: Tree) -> None:
    steps = [tree.closeness("poodle", above) for above in ("dog", "mammal", "animal")]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > tree.closeness("dog", "cat")
    assert tree.closeness("animal", "poodle") == steps[2] > 0


def test_a_parent_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        Tree({"a": ["b"]})


def test_a_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="kind of itself"):
        Tree({"a": ["b"], "b": ["a"], "c": []})


def test_an_unknown_id_is_a_key_error(tree: Tree) -> None:
    with pytest.raises(KeyError):
        tree.ancestors("fish")

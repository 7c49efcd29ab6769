"""Made pairs of pathology: what their labels rest on, and that nothing leaks into development."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256

import pytest

from histoeval.nli.entailer import LabelledPair
from histoeval.terms.catalogue import concepts, diagnosis_tree
from histoeval.terms.naming import main_concept
from histoeval_research.train.nli.synthetic.pairs import (
    pairs_of_organs,
    pairs_sha256,
    pathology_pairs,
)
from histoeval_research.train.nli.synthetic.topics import combined, topics
from histoeval_research.train.nli.synthetic.wordings import Part, is_held_out, of_part, table


@cache
def pairs(part: Part, count: int = 1500) -> tuple[LabelledPair, ...]:
    return tuple(pathology_pairs(count, part, 3))


def test_the_same_seed_gives_the_same_pairs_and_another_one_others() -> None:
    again = list(pathology_pairs(50, "train", 3))
    assert again == list(pairs("train"))[:50]
    assert again != list(pathology_pairs(50, "train", 4))


@pytest.mark.parametrize(
    ("make", "digest"),
    [
        (lambda: pathology_pairs(300, "train", 1), "d108699efc7b08b4"),
        (lambda: pairs_of_organs(300, "train", 1), "190fe58ccf25e795"),
    ],
    ids=["pathology", "organs"],
)
def test_pairs_of_a_seed_are_those_of_earlier_versions(
    make: Callable[[], Iterator[LabelledPair]], digest: str
) -> None:
    """Change these only with what is made: a training from the same recipe gets other pairs."""
    content = "\n".join(pair.model_dump_json() for pair in make())
    assert sha256(content.encode()).hexdigest()[:16] == digest


def test_labels_are_balanced_and_no_pair_comes_twice() -> None:
    found = pairs("train")
    assert set(Counter(pair.label for pair in found).values()) == {500}
    assert len({(pair.premise, pair.hypothesis) for pair in found}) == len(found)
    assert all(pair.premise.strip() and pair.hypothesis.strip() for pair in found)


def test_no_place_or_choice_of_a_wording_is_left_open() -> None:
    for pair in (*pairs("train"), *pairs("dev")):
        assert not set("{}<>|") & set(pair.premise + pair.hypothesis), pair


def test_every_category_has_every_label_that_it_can_have() -> None:
    found = {(pair.category, pair.label) for pair in pairs("train")}
    for category in ("assertion", "marker", "grade", "margin", "number", "nodes", "several"):
        labels = {label for name, label in found if name == category}
        assert labels == {"entailment", "neutral", "contradiction"}, category


def test_wordings_of_the_development_set_are_not_trained_on() -> None:
    for topic in topics():
        for texts in topic.values.values():
            train, dev = of_part(texts, "train"), of_part(texts, "dev")
            assert train
            assert dev
            assert len(texts) == 1 or not set(train) & set(dev)
            assert set(train) | set(dev) == set(of_part(texts, "all")) == set(texts)


def test_held_out_diagnoses_stand_in_no_premise_on_a_diagnosis_of_the_training_set() -> None:
    held_out = {c.name for c in concepts().values() if is_held_out(c.id) and len(c.name) > 12}
    for pair in pairs("train"):
        if pair.category == "synonym":
            assert not any(pair.premise.rstrip(".") == name for name in held_out), pair


def test_a_parent_that_follows_is_above_the_diagnosis_in_the_tree() -> None:
    held = [
        diagnosis_tree().is_a(below.id, above.id)
        for pair in pairs("train")
        if pair.category == "parent" and len(pair.premise) < 60
        if (below := main_concept(pair.premise)) and (above := main_concept(pair.hypothesis))
    ]
    assert len(held) >= 3
    assert sum(held) >= 0.8 * len(held), "our reader of names may miss a few"


@pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.name)
def test_relations_of_a_topic_name_its_own_values_and_do_not_conflict(topic: object) -> None:
    listed = topic.entails | topic.open  # type: ignore[attr-defined]
    assert {value for pair in listed for value in pair} <= set(topic.values)  # type: ignore[attr-defined]
    assert not topic.entails & topic.open  # type: ignore[attr-defined]


def test_known_answers_have_the_labels_a_pathologist_would_give() -> None:
    known = {topic.name: topic for topic in topics()}
    assert known["margins"].label("free", "involved") == "contradiction"
    assert known["margins"].label("close", "free") == "entailment"
    assert known["margins"].label("free", "close") == "neutral"
    assert known["Gleason"].label("g34", "gg2") == "entailment"
    assert known["Gleason"].label("s7", "g34") == "neutral"
    assert known["Gleason"].label("g33", "g45") == "contradiction"
    assert known["laterality"].label("left", "right") == "contradiction"
    assert known["receptor status"].label("triple", "er_neg") == "entailment"
    assert known["lymphovascular invasion"].label("unknown", "present") == "neutral"


def test_one_contradiction_makes_statements_contradict_that_are_made_together() -> None:
    assert combined(["entailment", "contradiction", "neutral"]) == "contradiction"
    assert combined(["entailment", "neutral"]) == "neutral"
    assert combined(["entailment", "entailment"]) == "entailment"


def test_kinds_of_disease_in_the_table_of_morphology_exist() -> None:
    for row in table("morphology")["feature"]:
        assert {*row["of"], *row["against"]} <= set(concepts())


def test_the_hash_of_what_pairs_are_made_of_is_steady() -> None:
    assert pairs_sha256() == pairs_sha256()
    assert len(pairs_sha256()) == 64


def test_written_premises_are_parted_and_have_all_three_labels() -> None:
    rows = table("written")["written"]
    assert len({row["premise"] for row in rows}) == len(rows)
    assert all(row["entailment"] and row["neutral"] and row["contradiction"] for row in rows)
    assert any(is_held_out(row["premise"]) for row in rows)
    kept_back = {row["premise"].rstrip(".") for row in rows if is_held_out(row["premise"])}
    for pair in pairs("train"):
        assert not any(premise in pair.premise for premise in kept_back if len(premise) > 30), pair

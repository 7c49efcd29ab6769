"""Pairs from cards of organs: that labels hold, and that organs kept back stay back."""

from __future__ import annotations

from collections import Counter
from functools import cache

from histoeval.nli.entailer import LabelledPair
from histoeval.terms.values.quantities import quantities
from histoeval.terms.values.quantity_relations import Fits, compared
from histoeval_research.train.nli.synthetic.organs.cards import with_article
from histoeval_research.train.nli.synthetic.organs.pairs import organ_pairs
from histoeval_research.train.nli.synthetic.pairs import pairs_of_organs
from histoeval_research.train.nli.synthetic.wordings import Part, table


@cache
def pairs(part: Part = "train", count: int = 3000) -> tuple[LabelledPair, ...]:
    return tuple(pairs_of_organs(count, part, 5))


def test_the_same_seed_gives_the_same_pairs_and_another_one_others() -> None:
    assert list(organ_pairs(60, 5)) == list(organ_pairs(60, 5))
    assert list(organ_pairs(60, 5)) != list(organ_pairs(60, 6))


def test_labels_are_balanced_and_nothing_is_left_open() -> None:
    assert set(Counter(pair.label for pair in pairs()).values()) == {1000}
    for pair in pairs():
        assert pair.premise.strip()
        assert pair.hypothesis.strip()
        assert not set("{}") & set(pair.premise + pair.hypothesis), pair


def test_organs_of_the_development_set_are_not_trained_on() -> None:
    kept_back = table("organ_frames")["kept_back"]
    for pair in pairs():
        if pair.category in ("side", "diagnosis", "grade"):
            assert not any(f"the {organ}" in pair.premise for organ in kept_back), pair
    assert any("bladder" in pair.premise for pair in pairs("dev", 600))


def test_every_kind_of_pair_has_every_label() -> None:
    found = {(pair.category, pair.label) for pair in pairs()}
    for category in ("side", "grade", "marker", "finding", "size", "morphology"):
        assert len([label for name, label in found if name == category]) == 3, category


def test_sizes_are_what_arithmetic_says_of_them() -> None:
    wanted = {"entailment": Fits.SAME, "contradiction": Fits.OTHER}
    right = asked = 0
    for pair in pairs():
        if pair.category == "size" and pair.label in wanted:
            told = quantities(pair.premise.split("12 x 8 x 5")[0].replace("of 1.8 cm", ""))
            asked += 1
            right += wanted[pair.label] in compared(told, quantities(pair.hypothesis))
    assert asked > 100
    assert right > 0.85 * asked


def test_a_contradiction_is_never_a_name_of_the_same_diagnosis() -> None:
    same = {
        name: set(entity["names"])
        for organ in table("organs")["organ"]
        for entity in organ["entity"]
        for name in entity["names"]
    }
    for pair in pairs():
        if pair.category == "diagnosis" and pair.label == "contradiction":
            bare = pair.hypothesis.rstrip(".").lower()
            for name, names in same.items():
                if name.lower() == bare:
                    assert not any(pair.premise.lower().endswith(f": {n.lower()}") for n in names)


def test_names_get_the_article_that_they_have() -> None:
    assert with_article("angiomyolipoma") == "an angiomyolipoma"
    assert with_article("lipoma") == "a lipoma"
    assert with_article("cirrhosis") == "cirrhosis"
    assert with_article("ductal carcinoma in situ") == "ductal carcinoma in situ"

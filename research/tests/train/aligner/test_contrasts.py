"""Swapping words for what means something else."""

from __future__ import annotations

import tomllib

import pytest

from histoeval_research.train.aligner.variants import Contrasts, contrast_table

TABLE = tomllib.loads(
    """
[[contrast]]
axis = "invasion"
in_test = true
words = [["in situ", "invasive"], ["non-invasive", "invasive"]]

[[contrast]]
axis = "stage"
in_test = false
words = [["pT1", "pT3"], ["ER", "PR"], ["acute", "chronic"]]

[[contrast]]
axis = "polarity"
in_test = false
not_after = ["consistent"]
words = [["with", "without"]]

[[contrast]]
axis = "grade"
in_test = false
only_with = ["hyperplas"]
words = [["simple", "complex"]]
"""
)


def swaps(phrase: str, **options: bool) -> set[str]:
    return {swap.phrase for swap in Contrasts(TABLE, **options).of(phrase)}


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("ductal carcinoma in situ", {"ductal carcinoma invasive"}),
        ("Invasive carcinoma", {"in situ carcinoma", "non-invasive carcinoma"}),
        ("non-invasive carcinoma", {"invasive carcinoma"}),
        ("non invasive carcinoma", {"invasive carcinoma"}),
        ("noninvasively", set()),
        ("tumour, pT1", {"tumour, pT3"}),
        ("tumour, pt1", set()),
        ("ER positive", {"PR positive"}),
        ("er", set()),
        ("acute, then acute again", {"chronic, then chronic again"}),
    ],
)
def test_whole_words_are_swapped_in_both_directions_the_longest_first(
    phrase: str, expected: set[str]
) -> None:
    assert swaps(phrase) == expected


def test_nothing_is_swapped_where_both_words_stand() -> None:
    assert swaps("acute and chronic inflammation") == set()


def test_some_words_are_swapped_only_beside_others_or_not_after_them() -> None:
    assert swaps("simple hyperplasia") == {"complex hyperplasia"}
    assert swaps("simple cyst") == set()
    assert swaps("polyp with stalk") == {"polyp without stalk"}
    assert swaps("consistent with a polyp") == set()


def test_what_the_test_of_opposites_holds_can_be_left_out() -> None:
    assert swaps("invasive carcinoma", only_unseen=True) == set()
    assert swaps("acute colitis", only_unseen=True) == {"chronic colitis"}


def test_synonyms_that_had_the_same_word_have_the_same_key() -> None:
    contrasts = Contrasts(TABLE)
    (one,), (other,) = contrasts.of("acute colitis"), contrasts.of("colitis, acute")
    assert one.key == other.key


def test_the_table_that_is_shipped_tells_what_the_issue_names() -> None:
    contrasts = Contrasts(contrast_table())
    for phrase, other in (
        ("low-grade lesion", "high-grade lesion"),
        ("benign tumor", "malignant tumor"),
        ("left kidney", "right kidney"),
        ("clear cell renal cell carcinoma", "chromophobe renal cell carcinoma"),
        ("ductal carcinoma", "lobular carcinoma"),
    ):
        found = {swap.phrase.replace("-", " ") for swap in contrasts.of(phrase)}
        assert other.replace("-", " ") in found

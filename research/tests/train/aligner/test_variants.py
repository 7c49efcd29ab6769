"""Variants of names: other spellings of the same, and words swapped for something else."""

import random
import tomllib

import pytest

from histoeval.terms.plain import plain
from histoeval_research.train.aligner.compositions import short_forms
from histoeval_research.train.aligner.variants import (
    KINDS,
    Contrasts,
    Variants,
    contrast_table,
    spelling_table,
)


@pytest.fixture(scope="module")
def variants() -> Variants:
    return Variants(spelling_table(), short_forms())


def only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in KINDS:
        monkeypatch.setitem(KINDS, other, int(other == kind))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("spelling", "tumour of the oesophagus", "tumor of the esophagus"),
        ("spelling", "Esophagus", "oesophagus"),
        ("inversion", "squamous cell carcinoma", "carcinoma, squamous cell"),
        ("inversion", "Carcinoma, Squamous Cell", "Squamous Cell Carcinoma"),
        ("inversion", "carcinoma of the left breast", "left breast carcinoma"),
        ("abbreviation", "metastatic invasive ductal carcinoma", "metastatic IC-NST"),
        ("hyphen", "low-grade glioma", "low grade glioma"),
        ("hyphen", "clear cell", "clear-cell"),
        ("case", "lipoma", "LIPOMA"),
    ],
)
def test_each_kind_of_variant(
    variants: Variants, monkeypatch: pytest.MonkeyPatch, kind: str, name: str, expected: str
) -> None:
    only(kind, monkeypatch)
    assert expected in variants.of(name, 3)


@pytest.mark.parametrize(
    ("word", "plurals"),
    [
        ("carcinoma", {"carcinomas", "carcinomata"}),
        ("metastasis", {"metastasis", "metastases"}),
        ("biopsy", {"biopsies"}),
        ("nucleus", {"nuclei", "nucleuses"}),
        ("kidney", {"kidneys"}),
        ("pus", {"pus"}),
    ],
)
def test_plurals_follow_the_rules_of_the_list(
    variants: Variants, word: str, plurals: set[str]
) -> None:
    found = {variants.plural(word, random.Random(seed)) for seed in range(40)}
    assert found <= plurals
    assert found & plurals


def test_what_is_no_slip_is_the_same_in_plain_form_but_for_order(
    variants: Variants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KINDS, "slip", 0)
    monkeypatch.setitem(KINDS, "abbreviation", 0)
    for name in ("tumour of the bladder", "hepatic adenoma", "oedema, chronic", "Clear cell cyst"):
        for variant in variants.of(name, 4):
            small = {"of", "the"}
            assert set(plain(variant).split()) - small == set(plain(name).split()) - small


def test_a_slip_changes_little_and_never_makes_a_known_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only("slip", monkeypatch)

    def slips(words: set[str]) -> set[str]:
        makers = [Variants(spelling_table(), {}, words, seed) for seed in range(30)]
        return {slip for maker in makers for slip in maker.of("myeloma", 3)}

    free = slips(set())
    assert all(abs(len(slip) - len("myeloma")) <= 2 for slip in free)
    known = {slip.lower() for slip in sorted(free) if slip.isalpha()}
    assert len(known) > 5
    assert not known & {slip.lower() for slip in slips(known)}


def test_the_same_name_and_seed_give_the_same_variants_and_never_the_name(
    variants: Variants,
) -> None:
    again = Variants(spelling_table(), short_forms())
    other = Variants(spelling_table(), short_forms(), seed=1)
    names = ["adenoma of the colon", "grade 2 tumour", "CD20", "x", "benign prostatic hyperplasia"]
    first = [variants.of(name, 3) for name in names]
    assert first == [again.of(name, 3) for name in names]
    assert first != [other.of(name, 3) for name in names]
    assert all(len(found) <= 3 for found in first)
    assert all(name not in found for name, found in zip(names, first, strict=True))


TABLE = tomllib.loads(
    """
[[contrast]]
in_test = true
words = [["in situ", "invasive"], ["non-invasive", "invasive"]]

[[contrast]]
in_test = false
words = [["pT1", "pT3"], ["ER", "PR"], ["acute", "chronic"]]

[[contrast]]
in_test = false
not_after = ["consistent"]
words = [["with", "without"]]

[[contrast]]
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
        ("acute and chronic inflammation", set()),
        ("simple hyperplasia", {"complex hyperplasia"}),
        ("simple cyst", set()),
        ("polyp with stalk", {"polyp without stalk"}),
        ("consistent with a polyp", set()),
    ],
)
def test_whole_words_are_swapped_in_both_directions_the_longest_first(
    phrase: str, expected: set[str]
) -> None:
    assert swaps(phrase) == expected


def test_what_the_test_of_opposites_holds_can_be_left_out() -> None:
    assert swaps("invasive carcinoma", only_unseen=True) == set()
    assert swaps("acute colitis", only_unseen=True) == {"chronic colitis"}


def test_synonyms_that_had_the_same_word_have_the_same_key() -> None:
    contrasts = Contrasts(TABLE)
    (one,), (other,) = contrasts.of("acute colitis"), contrasts.of("colitis, acute")
    assert one.key == other.key


@pytest.mark.parametrize(
    ("phrase", "other"),
    [
        ("low-grade lesion", "high grade lesion"),
        ("benign tumor", "malignant tumor"),
        ("left kidney", "right kidney"),
        ("clear cell renal cell carcinoma", "chromophobe renal cell carcinoma"),
        ("ductal carcinoma", "lobular carcinoma"),
    ],
)
def test_the_shipped_table_swaps_what_must_not_be_mistaken(phrase: str, other: str) -> None:
    found = Contrasts(contrast_table()).of(phrase)
    assert other in {swap.phrase.replace("-", " ") for swap in found}

"""Variants of names: other spellings of the same, and never another word."""

from __future__ import annotations

import random

import pytest

from histoeval.terms.plain import plain
from histoeval_research.train.aligner.compositions import short_forms
from histoeval_research.train.aligner.variants import KINDS, Variants, spelling_table


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

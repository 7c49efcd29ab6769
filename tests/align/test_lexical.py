import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.align.aligner import LexicalAligner

words = st.text(min_size=1, max_size=12).filter(lambda text: text.strip())
phrases = st.lists(st.text(max_size=40), max_size=6)


def cosine(one: str, other: str) -> float:
    left, right = LexicalAligner().embed([one, other])
    return float(left @ right)


@given(phrases)
def test_rows_have_length_one_and_do_not_depend_on_their_neighbours(
    given_phrases: list[str],
) -> None:
    aligner = LexicalAligner()
    together = aligner.embed(given_phrases)
    backwards = aligner.embed(given_phrases[::-1])[::-1]
    assert together.dtype == np.float32
    for row, mirrored, phrase in zip(together, backwards, given_phrases, strict=True):
        alone = aligner.embed([phrase])[0]
        assert alone.tobytes() == row.tobytes() == mirrored.tobytes()
        assert np.linalg.norm(row) == pytest.approx(1 if phrase.strip() else 0, abs=1e-5)


@pytest.mark.parametrize(
    "phrase", ["p53", "x", "Invasive ductal carcinoma", "HER2 3+", "癌", "half \ud83d"]
)
def test_a_phrase_is_the_same_as_itself(phrase: str) -> None:
    assert cosine(phrase, phrase) == pytest.approx(1, abs=1e-6)


@given(st.lists(words, min_size=1, max_size=4))
def test_white_space_does_not_matter(drawn: list[str]) -> None:
    neat = " ".join(drawn)
    spread = "\n " + "\t  ".join(drawn) + " "
    assert cosine(neat, spread) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ductal carcinoma", "DUCTAL Carcinoma"),
        ("Grade Ii", "GRADE II"),
        ("straße", "STRASSE"),
        ("σάρκωμα", "ΣΆΡΚΩΜΑ"),
    ],
)
def test_case_does_not_matter(one: str, other: str) -> None:
    assert cosine(one, other) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("empty", ["", " ", "\n\t", "\u2003"])
def test_an_empty_phrase_is_like_nothing_not_even_itself(empty: str) -> None:
    rows = LexicalAligner().embed([empty, "carcinoma", empty])
    assert not rows[0].any()
    assert not rows[2].any()
    assert (rows[0] @ rows[1], rows[0] @ rows[2]) == (0, 0)


@pytest.mark.parametrize(
    ("phrase", "variant", "unrelated"),
    [
        ("carcinoma", "carcinomas", "melanoma"),
        ("tumour", "tumor", "lymph node"),
        ("oesophagus", "esophagus", "kidney"),
        ("estrogen receptor", "oestrogen receptor", "Ki-67"),
        ("lymphovascular invasion", "lympho-vascular invasion", "perineural spread"),
        ("adenocarcinoma", "adeno carcinoma", "squamous dysplasia"),
        ("grade 2", "grade  2", "3.5 cm"),
        ("moderately differentiated", "moderate differentiation", "well demarcated"),
    ],
)
def test_spelling_variants_are_nearer_than_what_is_unrelated(
    phrase: str, variant: str, unrelated: str
) -> None:
    assert cosine(phrase, variant) > 0.5
    assert cosine(phrase, variant) > cosine(phrase, unrelated) + 0.2


def test_words_in_another_order_are_near_but_not_the_same() -> None:
    assert 0.7 < cosine("left breast", "breast, left") < 0.9999
    assert 0.7 < cosine("breast left", "left breast") < 0.9999

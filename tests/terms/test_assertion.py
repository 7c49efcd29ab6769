"""What a text denies, doubts, tells of the past or only advises."""

from __future__ import annotations

import pytest

from histoeval.terms.assertion import (
    affirmed_text,
    asserts_now,
    denies,
    has_cue,
    is_denied,
    stance_at,
)


@pytest.mark.parametrize(
    ("text", "thing", "stance"),
    [
        ("Basal cell carcinoma, margins free", "Basal cell carcinoma", None),
        ("Adenocarcinoma, margins and nodes negative", "Adenocarcinoma", None),
        ("Ductal carcinoma, HER2 negative", "Ductal carcinoma", None),
        ("Chronic inflammation and no granulomas", "inflammation", None),
        ("Tumour of cells with clear cytoplasm", "Tumour", None),
        ("Cells with diffuse nuclear staining", "Cells", None),
        ("Melanoma cannot be excluded", "Melanoma", None),
        ("Metastasis has been excluded", "Metastasis", False),
        ("The tumour has not invaded the pleura", "tumour", None),
        ("Carcinoma is clear of all margins", "Carcinoma", None),
        ("The deep margin is clear of tumour", "deep margin", False),
        ("The deep margin is clear of tumour", "tumour", False),
        ("Two nodes hold carcinoma and the rest are clear", "carcinoma", None),
        ("No resection margin is involved", "involved", False),
        ("No necrosis is seen and the margin is involved", "involved", None),
        ("None of the 12 nodes contains tumour", "tumour", False),
        ("The lesion lacks necrosis", "necrosis", False),
        ("Levels fail to reveal any granuloma", "granuloma", False),
        ("Tumour-free margins", "Tumour", False),
        ("Necrosis: no", "Necrosis", False),
        ("Necrosis and ulceration are lacking", "Necrosis", False),
        ("Dysplasia is not a feature", "Dysplasia", False),
        ("Carcinoma lacking E-cadherin", "Carcinoma", None),
        ("Bridging fibrosis, short of cirrhosis", "cirrhosis", False),
        ("Granulomas, viral inclusions and fungi are absent", "Granulomas", False),
    ],
)
def test_a_verdict_is_on_its_own_subject(text: str, thing: str, stance: bool | None) -> None:
    start = text.index(thing)
    assert stance_at(text, start, start + len(thing)) is stance
    assert is_denied(text, start, start + len(thing)) == (stance is False)


def test_a_sentence_may_deny_doubt_or_remember_something() -> None:
    assert denies("The capsule is uninvolved.")
    assert not denies("The capsule is breached by nodules.")
    assert has_cue("doubt", "Suspicious for lymphoma.")
    assert has_cue("past", "Known carcinoma of the breast.")
    assert not has_cue("past", "Carcinoma of the breast.")


def test_what_is_denied_is_left_out_of_what_is_affirmed() -> None:
    assert affirmed_text("Atypia without mitoses, and necrosis.").split() == [
        "Atypia", ",", "and", "necrosis.",
    ]  # fmt: skip
    assert "metastasis" not in affirmed_text("A cyst. No carcinoma or metastasis. Fat.")


@pytest.mark.parametrize(
    ("sentence", "now"),
    [
        ("Ductal carcinoma is diagnosed in the left breast.", True),
        ("History of ductal carcinoma.", False),
        ("A carcinoma was removed in 2019.", False),
        ("Melanoma, excised three years ago.", False),
        ("We recommend a deeper biopsy.", False),
    ],
)
def test_the_past_and_advice_are_no_findings(sentence: str, now: bool) -> None:
    assert asserts_now(sentence) is now

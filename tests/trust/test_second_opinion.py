"""What the terms of two texts say of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from histoeval.trust.manifest import EntailerManifest
from histoeval.trust.opinion import Opinion, log_shares
from histoeval.trust.second_opinion import names, observed

SEEN: list[tuple[str, str, str]] = [
    ("Carcinoma of the left breast.", "The carcinoma is in the right breast.", "side_opposite"),
    ("Carcinoma of the left breast.", "The right breast is normal.", "side_elsewhere"),
    ("Carcinoma of the breast.", "Carcinoma of the right breast.", "side_new"),
    ("Carcinoma, Gleason 4+4=8.", "Carcinoma, grade group 1.", "grade_other"),
    ("Carcinoma, well differentiated.", "A grade 1 carcinoma.", "grade_same"),
    ("High-grade DCIS.", "The invasive component is grade 1.", "grade_component"),
    ("CD20 positive, CD3 negative.", "CD3 is positive.", "marker_opposite"),
    ("CD20 positive, CD3 negative.", "No CD3 expression.", "marker_same"),
    ("CD20 positive, CD3 negative.", "CD10 is positive.", "marker_new"),
    ("Wilms tumour.", "Nephroblastoma.", "bare_same"),
    ("Wilms tumour.", "A malignant tumour.", "diagnosis_kind"),
    ("Squamous cell carcinoma.", "Adenocarcinoma.", "diagnosis_other"),
    ("No evidence of adenocarcinoma.", "Adenocarcinoma is present.", "diagnosis_flip"),
    ("No necrosis.", "Necrosis is present.", "finding_opposite"),
    ("Carcinoma of the sigmoid colon.", "A tumour of the large bowel.", "site_whole"),
    ("Carcinoma of the colon.", "Carcinoma of the sigmoid colon.", "site_finer"),
    ("Carcinoma of the colon.", "The tumour is located in the stomach.", "site_moved"),
    ("pT3 pN0 carcinoma.", "pN2.", "stage_other"),
    ("pT3 pN0 carcinoma.", "Lymph node metastases are present.", "nodes_other"),
    ("Part A: carcinoma.", "Part B: carcinoma.", "label_new"),
    ("Tumour of 3 cm.", "The tumour is larger than 2 cm.", "size_same"),
    ("The epidermis is intact.", "The epidermis is ulcerated.", "contrast"),
]


@pytest.mark.parametrize(("premise", "hypothesis", "name"), SEEN)
def test_what_is_said_opposed_or_new_is_seen(premise: str, hypothesis: str, name: str) -> None:
    assert (observed(premise, hypothesis) or {})[name] > 0


@pytest.mark.parametrize(
    "pair",
    [
        ("A man plays the guitar on stage.", "A man is performing."),
        ("A person stands near a pile of coconuts.", "A woman takes a left turn."),
        ("Two dogs run through the snow.", "The animals are outside."),
        ("", ""),
    ],
)
def test_of_what_is_not_pathology_nothing_is_said(pair: tuple[str, str]) -> None:
    assert observed(*pair) is None


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_read(premise: str, hypothesis: str) -> None:
    seen = observed(f"Tumour. {premise}", hypothesis)
    assert seen is not None
    assert tuple(seen) == names()
    assert all(np.isfinite(value) for value in seen.values())


def opinion(**changes: Any) -> Opinion:
    return Opinion(weights={"marker_opposite": (-1.0, -1.0, 2.0)}, **changes)


def test_terms_move_the_answer_and_leave_what_is_not_pathology_alone() -> None:
    unsure = np.array([1.0, 1.0, 1.0])
    opposite = opinion().heard(unsure, "CD3 is positive.", "CD3 is negative.")
    assert opposite.argmax() == 2
    assert opinion().heard(unsure, "A dog runs.", "A dog sleeps.") is unsure


def test_the_network_is_weighed_as_log_probabilities() -> None:
    logits = np.array([5.0, 3.0, 1.0])
    heard = opinion(network=0.5).heard(logits, "The margin is free.", "The node is large.")
    assert heard == pytest.approx(0.5 * log_shares(logits))
    assert np.exp(log_shares(logits)).sum() == pytest.approx(1)


def test_weights_of_what_is_never_seen_are_refused() -> None:
    with pytest.raises(ValidationError, match="nothing is called moon"):
        Opinion(weights={"moon": (0.0, 0.0, 0.0)})


def test_a_model_with_a_second_opinion_says_so() -> None:
    plain = EntailerManifest(name="x", files={})
    heard = plain.model_copy(update={"opinion": opinion()})
    assert heard.identity.startswith("x+terms@")
    assert plain.identity.startswith("x@")
    other = plain.model_copy(update={"opinion": opinion(network=0.5)})
    assert other.identity != heard.identity

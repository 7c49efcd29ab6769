"""All features of a pair together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.nli.features.extract import extract_features, feature_names


@pytest.mark.parametrize(
    "pair",
    [
        ("A man plays the guitar on stage.", "A man is performing."),
        ("A person stands near a pile of coconuts.", "A woman takes a left turn."),
        ("Two dogs run through the snow.", "The animals are outside."),
        ("", ""),
    ],
)
def test_a_pair_that_is_not_about_pathology_has_no_features(pair: tuple[str, str]) -> None:
    assert extract_features(*pair) is None


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_read(premise: str, hypothesis: str) -> None:
    seen = extract_features(f"Tumour. {premise}", hypothesis)
    assert seen is not None
    assert tuple(seen) == feature_names()
    assert all(np.isfinite(value) for value in seen.values())


def test_another_part_is_not_opposed_for_sure() -> None:
    seen = extract_features("Polyp 1: 4 mm.", "Polyp 2: 9 mm.") or {}
    assert seen["sure_apart"] == 1
    assert seen["sure_other"] == 0

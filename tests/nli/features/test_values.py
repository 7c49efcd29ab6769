"""Features of markers and sizes."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("CD20 positive, CD3 negative.", "CD3 is positive.", "marker_opposite"),
        ("CD20 positive, CD3 negative.", "No CD3 expression.", "marker_same"),
        ("CD20 positive, CD3 negative.", "CD10 is positive.", "marker_new"),
        ("Tumour of 3 cm.", "The tumour is larger than 2 cm.", "size_same"),
        ("Polyp of the caecum, 4 mm.", "Polyp of the rectum, 9 mm.", "size_apart"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)

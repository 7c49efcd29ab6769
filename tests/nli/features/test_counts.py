"""Features of counts."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("Tumour in 3 of 12 cores.", "Nine of the twelve cores are free of tumour.", "count_same"),
        ("Tumour in 3 of 12 cores.", "A quarter of the cores hold tumour.", "count_same"),
        ("Tumour in 3 of 12 cores.", "Tumour is found in 7 of 12 cores.", "count_other"),
        ("Nodes: left 1/4, right 2/6.", "In all, 3 of 10 nodes are involved.", "count_same"),
        ("Left nodes 1/4 positive.", "Two of six right nodes are positive.", "count_open"),
        ("Five foci of carcinoma.", "A solitary focus of carcinoma.", "count_single"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)

"""Lymph nodes counted, called free or involved, and staged."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("nodes"),
        *reports("m53", "m54", "m55"),
        "Lymph nodes: 0 of 9 nodes involved. Metastatic carcinoma is in two nodes.",
    ],
)
def test_nodes_free_and_involved_are_a_contradiction(text: str) -> None:
    assert "nodes" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Two of nine nodes contain metastases. The remaining nodes are free of tumour.",
        *reports("m24", "m25", "m26"),
    ],
)
def test_the_other_nodes_may_be_free(text: str) -> None:
    assert not rules_broken(text)


def test_nodes_may_be_involved_by_single_cells_and_count_as_free() -> None:
    staged = "Isolated tumour cells are found in 1/3 lymph nodes. The stage is pN0 (i+)."
    assert "nodes" not in rules_broken(staged)

"""Figures that do not go with the word or the sum beside them."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Left breast, core: invasive lobular carcinoma. HER2 is negative (3+).",
        "Left breast, core: invasive lobular carcinoma. ER positive (0%).",
        "Left breast, core: invasive lobular carcinoma. PR negative (80%).",
        "Prostate, right base: adenocarcinoma, Gleason 3+3=7.",
    ],
)
def test_a_figure_against_its_word_or_sum_is_found(text: str) -> None:
    assert "figures" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Left breast, core: invasive lobular carcinoma. HER2 is negative (1+). ER positive (90%).",
        "Left breast, core: invasive lobular carcinoma. HER2 negative (2+, FISH not amplified).",
        "Left breast, core: invasive lobular carcinoma. PR negative (0%).",
        "Prostate, right base: adenocarcinoma, Gleason 4+3=7.",
    ],
)
def test_figures_that_go_with_their_words_are_left_alone(text: str) -> None:
    assert "figures" not in rules_broken(text)

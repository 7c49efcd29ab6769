"""Which sentences are about two places."""

from __future__ import annotations

import pytest

from histoeval.pathgls.logic.places import are_marked_apart, are_of_two_places


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("The left ovary is cystic.", "The right ovary is solid.", True),
        ("At 3 o'clock: carcinoma.", "At 9 o'clock: fibroadenoma.", True),
        ("Caecum: tubular adenoma.", "Stomach: gastritis.", True),
        ("Caecum: tubular adenoma.", "Colon: no dysplasia.", False),
        ("The tumour is solid.", "The tumour of the left kidney is cystic.", False),
    ],
)
def test_sides_clock_positions_and_heads_tell_places_apart(
    one: str, other: str, apart: bool
) -> None:
    assert are_marked_apart(one, other) is apart


def test_two_organs_are_two_places_though_nothing_marks_them() -> None:
    one, other = "The spleen is unremarkable.", "It is confined to the pancreas."
    assert are_of_two_places(one, other)
    assert not are_marked_apart(one, other)

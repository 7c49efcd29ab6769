"""Damaged images and slides, as `fuzz_images.py` makes them: some always, many for a release."""

import pytest

pytest.importorskip("openslide")

from tests.faults.fuzz_images import fuzz

KINDS = 14


def test_whole_files_are_opened_within_the_limits() -> None:
    found = [(each.kind, each.result, each.message) for each in fuzz(KINDS, damage=lambda c, _: c)]
    assert found == [(kind, "opened", "") for kind, _, _ in found]
    assert len({kind for kind, _, _ in found}) == KINDS


@pytest.mark.parametrize("files", [60, pytest.param(4000, marks=pytest.mark.release)])
def test_damaged_files_are_opened_or_refused_in_words(files: int) -> None:
    found = list(fuzz(files))
    assert [each for each in found if each.is_fault] == []
    assert {each.result for each in found} == {"opened", "refused"}

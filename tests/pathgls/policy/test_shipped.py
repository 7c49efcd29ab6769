"""The policies of this package: what each says of itself, and which one fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from histoeval.errors import SettingError
from histoeval.pathgls.policy.policy import (
    PAPER,
    POLICIES,
    fitting_policy,
    policy_file,
    read_policy,
)
from histoeval.resources import resource_path


def test_every_policy_of_the_package_is_known_by_its_name() -> None:
    files = resource_path("pathgls/policy").glob("*.yaml")
    assert {file.stem for file in files} == {*POLICIES}
    assert [read_policy(name).name for name in POLICIES] == [*POLICIES]


@pytest.mark.parametrize("name", POLICIES)
def test_each_says_in_plain_words_what_its_verdicts_mean(name: str) -> None:
    meaning = read_policy(name).meaning
    assert meaning is not None
    assert all(len(text) > 20 for text in meaning.model_dump().values())


def test_what_must_be_known_follows_from_what_there_is() -> None:
    required = {name: read_policy(name).required for name in POLICIES}
    assert required["with_endpoint"] == ("grounding", "logic", "stability")
    assert required["without_endpoint"] == ("grounding", "logic")
    assert read_policy("text_only").deploy_from is None


def test_weights_are_those_of_the_paper_or_in_their_ratio() -> None:
    assert read_policy("with_endpoint").weights == read_policy("text_only").weights == PAPER
    two = read_policy("without_endpoint").weights
    assert two.grounding / two.logic == pytest.approx(PAPER.grounding / PAPER.logic, abs=0.01)


@pytest.mark.parametrize(
    ("has_images", "has_attacks", "name"),
    [
        (True, True, "with_endpoint"),
        (True, False, "without_endpoint"),
        (False, False, "text_only"),
        (False, True, "text_only"),
    ],
)
def test_the_policy_fits_what_is_there(has_images: bool, has_attacks: bool, name: str) -> None:
    assert fitting_policy(has_images=has_images, has_attacks=has_attacks) == name


def test_a_policy_of_ones_own_is_named_by_its_file(tmp_path: Path) -> None:
    bare = tmp_path / "ours"
    bare.write_text("weights: {grounding: 1, logic: 0, stability: 0}", "utf-8")
    assert policy_file(bare) == bare
    assert policy_file("ours.yaml") == Path("ours.yaml")


def test_a_name_that_nothing_has_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(SettingError, match=r"did you mean 'text_only'\?\); known: with_endpoint, "):
        policy_file("text-only")

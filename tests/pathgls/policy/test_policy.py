"""Policies: what may stand in the file, and what its hash tells."""

from pathlib import Path

import pytest

from histoeval.errors import InputError, SettingError
from histoeval.pathgls.policy.policy import (
    PAPER,
    POLICIES,
    DimensionWeights,
    Floors,
    Meaning,
    Policy,
    fitting_policy,
    policy_file,
    policy_text,
    read_policy,
    weights_of,
)
from histoeval.resources import resource_path

GOOD = """
weights: {grounding: 0.5, logic: 0.25, stability: 0.25}
deploy_from: 0.7
reject_below: 0.4
"""


def read(folder: Path, text: str) -> Policy:
    path = folder / "policy.yaml"
    path.write_text(text, "utf-8")
    return read_policy(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.25, stability", "0.35, stability"), "sum to 1.1"),
        (("deploy_from: 0.7", "deploy_from: 0.3"), "both rejected and deployed"),
        (("deploy_from: 0.7", "deploy_from: 1.7"), "deploy_from"),
        (("reject_below", "rejct_below"), "reject_below"),
        (("deploy_from: 0.7", "deploy_from: .nan"), "deploy_from"),
        (("weights: {", "weights: [{"), "not YAML"),
        ((GOOD, "- 1"), "cannot be used"),
        ((GOOD, ""), "cannot be used"),
    ],
)
def test_policies_without_sense(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, GOOD.replace(*change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.7", '"0.7"'), "line 3, .* deploy_from is '0.7': write a number .*without quotes"),
        (("0.7", "true"), "line 3, .* deploy_from is true: write a number from 0 to 1"),
        (("0.7", "0,7"), "line 3, .* deploy_from is 0,7: write a number from 0 to 1, as in 0.7"),
        (("0.25, st", "yes, st"), r"line 2, .* weights\.logic is true: write a number"),
        (("0.4", "null"), "line 4, .* reject_below is null: write a number"),
        (("{grounding: 0.5, logic: 0.25, stability: 0.25}", "1,0,0"), "weights is 1,0,0: write gr"),
        (("reject_below: 0.4", ""), "reject_below is missing: write a number"),
        (("logic", "logik"), r"no key weights\.logik \(did you mean 'logic'\?\); there are ground"),
    ],
)
def test_refusals_say_what_to_write(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError, match=rf"policy\.yaml,? .*{said}"):
        read(tmp_path, GOOD.replace(*change))


def test_whole_numbers_are_numbers(tmp_path: Path) -> None:
    policy = read(tmp_path, GOOD.replace("0.7", "1").replace("0.4", "0"))
    assert (policy.deploy_from, policy.reject_below) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("floors: {logic: '0.1'}", r"floors\.logic is '0\.1': write a number"),
        ("name: 3", "name is 3: write a name"),
        (
            "reject_if: {logic_below: low}",
            r"reject_if\.logic_below is low: write a number from 0 to 1, .* or null",
        ),
        (
            "reject_if: {image_contradicts: 1}",
            r"reject_if\.image_contradicts is 1: write true or false",
        ),
        (
            "reject_if: {logic: 0.5}",
            r"no key reject_if\.logic .*; there are logic_below, certain_from, image_contradicts",
        ),
        ("reject_if: 0.5", "is 0.5: write logic_below, certain_from, image_contradicts below it"),
        ("meaning: {fits: 3}", r"meaning\.fits is 3: write a sentence"),
        ("meaning: {fits: all}", r"meaning\.deploy is missing: write a sentence"),
        ("reject_below: 0.4", "reject_below stands twice, first in line 4"),
        ("floors:\n  logic: 0.1\n  logic: 0.2", r"floors\.logic stands twice"),
    ],
)
def test_a_wrong_line_is_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"policy\.yaml, line [567].*{said}"):
        read(tmp_path, GOOD + more)


def test_the_hash_follows_the_numbers_and_not_the_name_or_comments(tmp_path: Path) -> None:
    plain = read(tmp_path, GOOD)
    assert read(tmp_path, f"# another day\nname: other\n{GOOD}").hash == plain.hash
    assert read(tmp_path, GOOD.replace("0.7", "0.71")).hash != plain.hash
    assert read(tmp_path, GOOD + "floors: {logic: 0.2}\n").hash != plain.hash
    assert read(tmp_path, GOOD + "reject_if: {logic_below: null}\n").hash != plain.hash
    words = "".join(f"  {key}: some words\n" for key in Meaning.model_fields)
    assert read(tmp_path, f"{GOOD}meaning:\n{words}").hash == plain.hash


def test_what_is_written_is_read_back_whole(tmp_path: Path) -> None:
    policy = Policy(
        name="ours",
        weights=DimensionWeights(grounding=0.05, logic=0.15, stability=0.8),
        deploy_from=None,
        reject_below=1 / 3,
        floors=Floors(logic=0.2),
    )
    text = policy_text(policy, ["made by hand", "", "for a test: yes"])
    assert text.startswith("# made by hand\n#\n# for a test: yes\n")
    assert read(tmp_path, text) == policy


def test_a_dimension_without_weight_is_asked_for_only_by_its_floor() -> None:
    weights = DimensionWeights(grounding=0.6, logic=0.4, stability=0.0)
    bare = Policy(weights=weights, deploy_from=0.8, reject_below=0.5)
    assert not bare.asks("stability")
    assert bare.model_copy(update={"floors": Floors(stability=0.1)}).asks("stability")


def test_weights_are_read_as_people_write_them() -> None:
    assert weights_of("0.2, 0.3,0.5") == DimensionWeights(grounding=0.2, logic=0.3, stability=0.5)
    assert str(weights_of("1,0,0")) == "1,0,0"


@pytest.mark.parametrize("text", ["", "1", "0.5,0.5", "a,b,c", "0.5,0.5,0.5", "-1,1,1", "nan,0,1"])
def test_other_things_are_no_weights(text: str) -> None:
    with pytest.raises(SettingError, match="no weights"):
        weights_of(text)


# --- the policies of this package -----------------------------------------------------------------


def test_every_policy_of_the_package_is_known_by_its_name() -> None:
    files = resource_path("pathgls/policy").glob("*.yaml")
    assert {file.stem for file in files} == {*POLICIES}
    assert [read_policy(name).name for name in POLICIES] == [*POLICIES]


def test_what_must_be_known_follows_from_what_there_is() -> None:
    required = {name: read_policy(name).required for name in POLICIES}
    assert required["with_endpoint"] == ("grounding", "logic", "stability")
    assert required["without_endpoint"] == ("grounding", "logic")
    assert read_policy("text_only").deploy_from is None


def test_weights_are_those_of_the_paper_or_in_their_ratio() -> None:
    assert PAPER.numbers == (0.4, 0.3, 0.3)
    assert read_policy().weights == read_policy("text_only").weights == PAPER
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

"""The policy of a challenge, and how its mistakes are named."""

from pathlib import Path

import pytest

from histoeval.challenge import check_predictions
from histoeval.challenge.policy import read_challenge_policy
from histoeval.errors import InputError, SettingError
from histoeval.resources import resource_path
from tests.support.challenges import TRUTH, a_challenge, team


def written(place: Path, text: str) -> Path:
    (place / "policy.yaml").write_text(text, "utf-8")
    return place / "policy.yaml"


def test_the_policy_that_init_writes_is_valid_and_says_every_key() -> None:
    path = resource_path("challenge/data/policy.yaml")
    policy = read_challenge_policy(path)
    assert policy.weights == {"concordance": 0.5, "hare": 0.25, "rouge_l": 0.125, "bleu_4": 0.125}
    keys = {line.split(":")[0] for line in path.read_text("utf-8").splitlines()}
    assert set(type(policy).model_fields) <= keys


def test_a_metric_may_stand_alone_with_a_weight_or_with_rules(tmp_path: Path) -> None:
    text = "metrics:\n  bleu:\n  rouge_l: 3\n  chrf: {weight: 4, worst: 0, best: 80}\n"
    policy = read_challenge_policy(written(tmp_path, text))
    assert policy.weights == {"bleu": 0.125, "rouge_l": 0.375, "chrf": 0.5}
    assert policy.metrics["chrf"].best == 80


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metrics: {}\n", r"line 1,.*metrics"),
        ("name: x\n", r"metrics is missing"),
        ("metrics:\n  bleu: 1\nmising: worst\n", r"line 3,.*mising \(did you mean 'missing'\?\)"),
        ("metrics:\n  bleu: -1\n", r"line 2,.*metrics\.bleu\.weight is -1"),
        ("metrics:\n  bleu: {wieght: 1}\n", r"metrics\.bleu\.wieght \(did you mean 'weight'\?\)"),
        ("metrics:\n  bleu: {worst: 1, best: 1}\n", r"worst and best are both 1"),
        ("metrics:\n  bleu: 1\ncombine: median\n", r"line 3,.*combine is 'median'"),
        ("metrics:\n  bleu: 1\nlimits:\n  max_chars: 0\n", r"line 4,.*limits\.max_chars is 0"),
        ("metrics:\n  bleu: 1\nseed: -1\n", r"seed is -1"),
        ("- a list\n", r"the file is \['a list'\]: keys are expected there: name, metrics"),
        ("", r"the file is None: keys are expected there"),
        ("metrics:\n  bleu: one\n", r"line 2,.*metrics\.bleu is 'one': give each metric a weight"),
        ("metrics: [bleu]\n", r"metrics is \['bleu'\]: names are expected there, each"),
        ("metrics:\n  bleu: 1\nlimits: 5\n", r"limits is 5: keys are .*there: max_chars"),
        ("metrics: [bleu\n", r"not YAML"),
        ("metrics:\n  bleu: 1\nseed: 1\nseed: 2\n", r"seed stands twice"),
    ],
)
def test_a_mistake_is_named_by_its_key_and_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_challenge_policy(written(tmp_path, text))


def test_the_hash_follows_the_rules_and_not_the_name(tmp_path: Path) -> None:
    one, two, three = (
        read_challenge_policy(written(tmp_path, f"name: {name}\nmetrics:\n  bleu: {weight}\n"))
        for name, weight in (("a", 1), ("b", 1), ("a", 2))
    )
    assert one.hash == two.hash != three.hash


def test_organisers_hear_of_an_unknown_metric_when_they_check_a_file(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path, metrics={"rogue_l": 1})
    with pytest.raises(SettingError, match="rogue_l"):
        check_predictions(folder, team(tmp_path, "a", TRUTH))

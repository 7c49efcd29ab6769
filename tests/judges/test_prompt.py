"""Prompts are data, and everything a judge is told is in their hash."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from histoeval.concordance import rubric
from histoeval.errors import InputError, SettingError
from histoeval.judges.prompt import Prompt, known_prompts, load_prompt
from tests.support.paths import EXAMPLES

MINE: dict[str, Any] = {
    "name": "mine",
    "version": 1,
    "system": "You are a reader of reports.",
    "criteria": [{"name": "clarity", "question": "Is it clear?", "levels": {0: "no", 1: "yes"}}],
    "reasoning": "why",
}


def write(folder: Path, **changes: Any) -> str:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(MINE | changes), "utf-8")
    return str(path)


def test_the_rubric_has_the_criteria_and_ranges_of_its_source() -> None:
    scales = {name: (low, high) for name, low, high in load_prompt("rubric4").scales}
    assert scales == {name: (1, top) for name, top in rubric.CRITERIA.items()}
    assert load_prompt("expert5").scales == (("score", 0, 5),)


def test_the_overall_value_is_that_of_the_offline_rubric() -> None:
    prompt = load_prompt("rubric4")
    for scores in product(*[range(1, top + 1) for top in rubric.CRITERIA.values()]):
        named = dict(zip(rubric.CRITERIA, scores, strict=True))
        assert prompt.overall(named) == pytest.approx(rubric.overall(named))


def test_the_schema_names_every_score_and_nothing_else() -> None:
    schema = load_prompt("rubric4").schema_of_answer
    assert schema["required"] == [*rubric.CRITERIA, "reasoning"]
    assert schema["properties"]["factual_accuracy"] == {"type": "integer", "enum": [1, 2, 3]}
    assert schema["additionalProperties"] is False


def test_every_step_of_every_scale_is_told_to_the_judge() -> None:
    for name in known_prompts():
        prompt = load_prompt(name)
        for criterion in prompt.criteria:
            for score, meaning in criterion.levels.items():
                assert f"{score} = {meaning}" in prompt.instructions


@pytest.mark.parametrize(
    "changed",
    [
        {"system": "You are a reader of reports!"},
        {"reasoning": "why so"},
        {"version": 2},
        {"examples": [{"reference": "a", "candidate": "b", "answer": {"clarity": 1}}]},
        {"most_tokens": 99},
    ],
)
def test_the_hash_changes_with_all_that_is_told(tmp_path: Path, changed: dict[str, Any]) -> None:
    before = load_prompt(write(tmp_path)).hash
    assert load_prompt(write(tmp_path)).hash == before
    assert load_prompt(write(tmp_path, **changed)).hash != before


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"criteria": []}, "criteria"),
        ({"name": "My Prompt"}, "name"),
        ({"surprise": 1}, "surprise"),
        ({"criteria": [{"name": "a", "question": "?", "levels": {1: "no", 3: "yes"}}]}, "in a row"),
        ({"consistency": [{"when": {"beauty": 1}, "at_most": {"clarity": 1}}]}, "beauty"),
    ],
)
def test_an_unusable_prompt_is_refused(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_prompt(write(tmp_path, **changed))


def test_a_file_that_is_not_there_or_no_yaml_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: [", "utf-8")
    for name, reason in (("none.yaml", "cannot read"), ("broken.yaml", "not YAML")):
        with pytest.raises(InputError, match=reason):
            load_prompt(str(tmp_path / name))
    with pytest.raises(SettingError, match="expert5, rubric4"):
        load_prompt("rubric5")
    assert isinstance(load_prompt(str(EXAMPLES / "judge" / "synoptic.yaml")), Prompt)


def test_the_candidate_comes_first_when_the_order_is_swapped() -> None:
    prompt = load_prompt("rubric4")
    usual = prompt.messages("the truth", "the guess")[1]["content"]
    swapped = prompt.messages("the truth", "the guess", "swapped")[1]["content"]
    assert usual.index("the truth") < usual.index("the guess")
    assert swapped.index("the guess") < swapped.index("the truth")
    assert sorted(usual.split("\n\n")) == sorted(swapped.split("\n\n"))


def test_scores_that_contradict_each_other_are_found() -> None:
    rules = load_prompt("rubric4").consistency
    good = {"critical_finding_concordance": 4, "factual_accuracy": 3, "factual_completeness": 3}
    assert not [r for r in rules if r.broken_by(good | {"overall_equivalence": 4})]
    bad = good | {"critical_finding_concordance": 1, "overall_equivalence": 4}
    (found,) = [told for rule in rules if (told := rule.broken_by(bad))]
    assert found == "overall_equivalence 4 does not go with critical_finding_concordance 1"

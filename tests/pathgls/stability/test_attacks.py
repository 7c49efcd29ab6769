"""Instructions: what is shipped, what can be added, and that nothing in braces breaks them."""

from pathlib import Path

import pytest

from histoeval.errors import InputError, SettingError
from histoeval.pathgls.stability.examine import (
    attack_of,
    known_instructions,
    load_attacks,
    load_instruction,
    merge_of,
    task_of,
    wrong_site,
)

TASK = 'Describe the field. Answer as {"diagnosis": "..."} if you like.'


def own(tmp_path: Path, text: str) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(text, "utf-8")
    return str(path)


def test_there_are_attacks_in_both_directions_on_the_site_and_by_a_question() -> None:
    names = [attack.name for attack in load_attacks()]
    assert names == ["benign_history", "leading_question", "malignant_history", "wrong_site"]
    assert set(known_instructions("neutral")) == {"neutral", "fields"}


def test_an_attack_holds_the_whole_task_and_more() -> None:
    for attack in load_attacks():
        told = attack_of(attack, TASK, "", 0, "case.png")
        assert TASK in told
        assert len(told) > len(TASK) + 50
        assert "{task}" not in told
        assert "{site}" not in told


def test_braces_of_json_in_a_task_stay_as_they_are() -> None:
    merge = load_instruction("merge", "merge")
    told = merge_of(merge, ['{"a": 1}', "plain {task}"])
    assert '{"a": 1}' in told
    assert "plain {task}" in told


def test_the_wrong_site_is_not_one_that_the_report_names() -> None:
    attack = load_instruction("wrong_site", "attack")
    drawn = {wrong_site(attack, "", 0, f"case{n}") for n in range(60)}
    assert len(drawn) > 5
    assert wrong_site(attack, "", 3, "a") == wrong_site(attack, "", 3, "a")
    assert len({wrong_site(attack, "", seed, "a") for seed in range(30)}) > 1
    known = "Skin, PROSTATE and thyroid"
    for number in range(60):
        assert wrong_site(attack, known, 0, f"case{number}") not in {"skin", "prostate", "thyroid"}


def test_what_is_known_of_the_specimen_stands_before_the_task() -> None:
    neutral = load_instruction("neutral", "neutral")
    told = task_of(neutral, "- organ: colon")
    assert told.index("organ: colon") < told.index(neutral.text.strip()[:40])
    assert task_of(neutral) == neutral.text.strip()


def test_an_attack_of_ones_own_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = own(tmp_path, "name: rush\nversion: 1\nkind: attack\ntext: 'Be quick. {task}'\n")
    (attack,) = load_attacks([path])
    assert attack.identity.startswith("rush-1-")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name: a\nversion: 1\nkind: attack\ntext: no place\n", "{task}"),
        ("name: a\nversion: 1\nkind: merge\ntext: no place\n", "{reports}"),
        ("name: a\nversion: 1\nkind: attack\ntext: 'of the {site} {task}'\n", "sites"),
        ("name: stain\nversion: 1\nkind: attack\ntext: '{task}'\n", "visual"),
        ("name: a\nversion: 1\nkind: attack\ntext: '{task}'\nmore: 1\n", "more"),
        ("- a\n- list\n", "mapping"),
        ("name: [", "YAML"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, complaint: str) -> None:
    kind = "merge" if "kind: merge" in text else "attack"
    with pytest.raises(InputError, match=complaint):
        load_instruction(own(tmp_path, text), kind)  # type: ignore[arg-type]


def test_a_prompt_of_another_kind_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    path = own(tmp_path, "name: a\nversion: 1\nkind: neutral\ntext: Describe.\n")
    with pytest.raises(SettingError, match="kind neutral"):
        load_instruction(path, "attack")
    with pytest.raises(SettingError, match="malignant_history"):
        load_instruction("malignant", "attack")
    with pytest.raises(SettingError, match="same name"):
        load_attacks(["wrong_site", "wrong_site"])

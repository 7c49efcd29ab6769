"""The folder that `init` writes."""

import os
from pathlib import Path

import pytest

from histoeval.challenge import init_challenge, open_challenge
from histoeval.challenge.folder import organ_named, read_ids
from histoeval.errors import InputError, OutputError
from histoeval.version import __version__
from tests.support.challenges import TRUTH, a_challenge, rows, set_rules, write_json


def test_init_writes_all_that_organisers_and_participants_need(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    names = "policy.yaml README.md PARTICIPANTS.md Containerfile evaluate ids.txt subgroups.csv"
    assert all((folder / name).is_file() for name in names.split())
    assert os.access(folder / "evaluate", os.X_OK)
    assert (folder / "ids.txt").read_text("utf-8").splitlines() == list(TRUTH)
    image = (folder / "Containerfile").read_text("utf-8")
    assert f"histoeval=={__version__}" in image
    assert "USER user" in image
    opened = open_challenge(folder)
    assert opened.truth.references == {id_: (text,) for id_, text in TRUTH.items()}
    assert opened.subgroups["case-3.tiff"] == "prostate"


def test_a_truth_that_metrics_cannot_read_is_noted(tmp_path: Path) -> None:
    german = {**TRUTH, "case-x": "Magenbiopsie, die Schleimhaut ist nicht entzündet."}
    truth = write_json(tmp_path / "truth.json", rows(german))
    (note,) = init_challenge(tmp_path / "c", truth).notes
    assert "not to be in English: 1, 'case-x' the first" in note


def test_the_truth_may_come_later_and_what_is_there_stays(tmp_path: Path) -> None:
    init_challenge(tmp_path / "c")
    set_rules(tmp_path / "c", name="mine")
    with pytest.raises(InputError, match="has no truth"):
        open_challenge(tmp_path / "c")
    made = init_challenge(tmp_path / "c", write_json(tmp_path / "truth.json", rows(TRUTH)))
    assert tmp_path / "c" / "policy.yaml" in made.kept
    assert open_challenge(tmp_path / "c").policy.name == "mine"


def test_another_truth_and_one_with_a_fault_are_refused(tmp_path: Path) -> None:
    other = write_json(tmp_path / "other.json", rows({"x": "Skin: naevus."}))
    with pytest.raises(OutputError, match="is another truth"):
        init_challenge(a_challenge(tmp_path), other)
    truth = write_json(tmp_path / "truth.json", rows({**TRUTH, "case-9": ""}))
    with pytest.raises(InputError, match=r"without fault.*row 9"):
        init_challenge(tmp_path / "c", truth)


@pytest.mark.parametrize(
    ("text", "organ"),
    [
        ("Breast, left, core biopsy: carcinoma", "breast"),
        ("Right mastectomy with lymph nodes", "breast"),
        ("Nothing is named here", "unknown"),
    ],
)
def test_the_organ_is_that_of_the_first_place_named(text: str, organ: str) -> None:
    assert organ_named(text) == organ


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("ids.txt", "", "no ids"),
        ("ids.txt", "a\na\n", "'a' more than once"),
        ("ids.json", '{"a": 1}', "not a list of ids"),
        ("ids.json", "[1]", "not a list of ids"),
        ("ids.json", "[", "not a list of ids"),
    ],
)
def test_no_list_of_ids_is_refused(tmp_path: Path, name: str, content: str, expected: str) -> None:
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=expected):
        read_ids(tmp_path / name)


def test_files_that_the_policy_names_must_fit_the_truth(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path, cases="some.txt")
    (folder / "some.txt").write_text("case-1.tiff\ncase-99.tiff\n", "utf-8")
    with pytest.raises(InputError, match=r"'case-99\.tiff' is the first"):
        open_challenge(folder)
    set_rules(folder, cases="sharedd")
    with pytest.raises(InputError, match=r"did you mean 'shared'\?.*does not exist"):
        open_challenge(folder)
    set_rules(folder, groups="patients.csv")
    (folder / "patients.csv").write_text("id,case\ncase-1.tiff,p1\n", "utf-8")
    with pytest.raises(InputError, match=r"no case for 7 ids, 'case-2\.tiff' the first"):
        open_challenge(folder)
    set_rules(folder, subgroups="organs.csv")
    with pytest.raises(InputError, match=r"organs.csv does not exist.*subgroups: null"):
        open_challenge(folder)


def test_a_case_with_two_labels_is_refused(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    (folder / "subgroups.csv").write_text("id,subgroup\na,gut\na,gut\na,skin\n", "utf-8")
    with pytest.raises(InputError, match=r"'a' as 'gut' and as 'skin' \(row 3, line 4\): keep one"):
        open_challenge(folder)
    (folder / "subgroups.csv").write_text("case,organ,side\na,gut,left\n", "utf-8")
    with pytest.raises(InputError, match="needs the columns id and subgroup"):
        open_challenge(folder)


@pytest.mark.parametrize("id_", ["case\n1", " case-1"])
def test_an_id_that_a_line_cannot_hold_is_refused(tmp_path: Path, id_: str) -> None:
    truth = write_json(tmp_path / "truth.json", rows({id_: "Colon: adenoma."}))
    with pytest.raises(InputError, match="outer spaces or a line break"):
        init_challenge(tmp_path / "c", truth)


def test_init_says_which_cases_have_several_references(tmp_path: Path) -> None:
    twice = [*rows(TRUTH), {"id": "case-2.tiff", "report": "Stomach: gastritis."}]
    made = init_challenge(tmp_path / "c", write_json(tmp_path / "truth.json", twice))
    assert "several references: 1, 'case-2.tiff' the first" in made.notes[0]
    assert len(open_challenge(tmp_path / "c").truth.references["case-2.tiff"]) == 2

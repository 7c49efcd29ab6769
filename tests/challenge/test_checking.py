"""What participants see before they hand in: every fault by id and reason, and no truth."""

import json
from pathlib import Path
from typing import Any

import pytest

from histoeval.challenge import check_predictions, rank_teams
from histoeval.errors import InputError
from tests.support.challenges import TRUTH, a_challenge, rows, set_rules, team, write_json

FIRST = next(iter(TRUTH))


def published(tmp_path: Path, **changes: Any) -> Path:
    """What participants have: the policy and the ids."""
    whole = a_challenge(tmp_path, **changes)
    folder = tmp_path / "public"
    folder.mkdir()
    for name in ("policy.yaml", "ids.txt"):
        (folder / name).write_bytes((whole / name).read_bytes())
    return folder


def test_a_whole_file_has_no_fault(tmp_path: Path) -> None:
    found = check_predictions(published(tmp_path), team(tmp_path, "a", TRUTH))
    assert found.is_complete
    assert (found.asked, found.usable) == (8, 8)


def without(id_: str) -> dict[str, object]:
    return {name: text for name, text in TRUTH.items() if name != id_}


BROKEN: dict[str, tuple[list[Any], str | None, str, str]] = {
    "missing": (rows(without(FIRST)), FIRST, "missing_report", "no report"),
    "twice": (
        [*rows(TRUTH), {"id": FIRST, "report": "x"}],
        FIRST,
        "duplicate_id",
        "(row 9) is already the id of row 1, which is the one that counts",
    ),
    "unknown": (rows({**TRUTH, "case-x": "Skin."}), "case-x", "unknown_id", "'case-x'"),
    "ending": (rows({**without(FIRST), "case-1": "Skin."}), "case-1", "near_id", FIRST),
    "case": (rows({**without(FIRST), "CASE-1.TIFF": "Skin."}), "CASE-1.TIFF", "near_id", FIRST),
    "empty": (rows({**TRUTH, FIRST: "  "}), FIRST, "empty_text", "empty"),
    "null": (rows({**TRUTH, FIRST: None}), FIRST, "missing_value", "missing"),
    "number": (rows({**TRUTH, FIRST: 3}), FIRST, "not_text", "a number"),
    "object": (rows({**TRUTH, FIRST: {"text": "x"}}), FIRST, "not_text", "an object"),
    "list": (rows({**TRUTH, FIRST: ["x"]}), FIRST, "reference_list", "(row 1): give one text"),
    "no object": (["a report", *rows(TRUTH)], None, "not_an_object", "row 1"),
    "no id": ([*rows(TRUTH), {"report": "x"}], None, "missing_id", "row 9"),
    "long": (rows({**TRUTH, FIRST: "x" * 20_001}), FIRST, "too_long", "20,001"),
    "binary": (rows({**TRUTH, FIRST: "a\0b"}), FIRST, "binary_text", "control characters"),
    "half": (rows({**TRUTH, FIRST: "a\ud83db"}), FIRST, "lone_surrogate", "half a character"),
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_row_is_named_by_id_and_reason(tmp_path: Path, way: str) -> None:
    content, id_, code, why = BROKEN[way]
    found = check_predictions(published(tmp_path), write_json(tmp_path / "p.json", content))
    faults = [each for each in found.faults if each.code == code]
    assert faults, found.faults
    assert faults[0].id == id_
    assert why in faults[0].reason
    assert found.usable >= 7, "one fault costs no other row"


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "empty"), ("[]", "no rows"), ('[{"a": 1}]', "column"), ("not json", "neither a list")],
)
def test_a_broken_file_is_refused_with_a_reason(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "p.json").write_text(content, "utf-8")
    with pytest.raises(InputError, match=why):
        check_predictions(published(tmp_path), tmp_path / "p.json")


def test_a_cut_file_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(rows(TRUTH))[:-40], "utf-8")
    found = check_predictions(published(tmp_path), tmp_path / "p.json")
    assert any(each.code == "broken_json" and each.row == 8 for each in found.faults)


def test_no_text_of_the_truth_is_in_what_check_says(tmp_path: Path) -> None:
    whole = a_challenge(tmp_path)
    found = check_predictions(whole, team(tmp_path, "a", {"x": "y"}))
    assert not any(text in found.model_dump_json() for text in TRUTH.values())


def test_reports_that_took_too_long_are_missing_and_a_slow_team_is_out(tmp_path: Path) -> None:
    folder = published(tmp_path, limits={"seconds_per_case": 10, "seconds_in_all": 60})
    timed = [{**row, "seconds": 9 + at} for at, row in enumerate(rows(TRUTH))]
    found = check_predictions(folder, write_json(tmp_path / "p.json", timed))
    assert [each.code for each in found.faults] == ["too_slow"] * 6
    assert found.faults[0].id == "case-3.tiff"
    assert "took 11 s, and 10 are allowed" in found.faults[0].reason
    assert found.excluded == "took 100 s for all cases, and 60 are allowed"


@pytest.mark.parametrize("way", ["slide_id", "a mapping"])
def test_times_count_however_ids_are_written(tmp_path: Path, way: str) -> None:
    folder = published(tmp_path, limits={"seconds_per_case": 10})
    timed = {
        id_: {"report": text, "seconds": 9 + at} for at, (id_, text) in enumerate(TRUTH.items())
    }
    listed = [{way: id_, **row} for id_, row in timed.items()]
    content = timed if way == "a mapping" else listed
    found = check_predictions(folder, write_json(tmp_path / "p.json", content))
    assert [each.code for each in found.faults] == ["too_slow"] * 6


@pytest.mark.parametrize("written", ["50 s", -50, "inf"])
def test_a_broken_time_is_a_fault_where_time_is_limited(tmp_path: Path, written: object) -> None:
    folder = published(tmp_path, limits={"seconds_in_all": 60})
    timed: list[dict[str, object]] = [{**row, "seconds": None} for row in rows(TRUTH)]
    timed[1]["seconds"] = written
    file = write_json(tmp_path / "p.json", timed)
    (fault,) = check_predictions(folder, file).faults
    assert (fault.id, fault.row, fault.code) == ("case-2.tiff", 2, "not_a_time")
    assert f"seconds is {str(written)!r} (row 2)" in fault.reason
    set_rules(folder, limits={})
    assert check_predictions(folder, file).is_complete


GERMAN = "Mammakarzinom der linken Brust, die Ränder sind frei und nicht befallen."


def test_a_report_in_a_language_that_metrics_cannot_read_is_a_fault(tmp_path: Path) -> None:
    file = team(tmp_path, "a", {**TRUTH, FIRST: GERMAN})
    folder = published(tmp_path, metrics={"concordance": 1, "rouge_l": 1, "of-a-plug-in": 1})
    (fault,) = check_predictions(folder, file).faults
    assert (fault.id, fault.code) == (FIRST, "not_english")
    assert "German" in fault.reason
    assert "cannot read: concordance;" in fault.reason
    set_rules(folder, metrics={"rouge_l": 1})
    assert check_predictions(folder, file).is_complete


def test_a_report_that_no_metric_will_score_is_not_usable(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path, metrics={"concordance": 1})
    file = team(tmp_path, "a", {**TRUTH, FIRST: GERMAN})
    found = check_predictions(folder, file)
    (ranked,) = rank_teams(folder, [file]).ranking.teams
    assert found.usable == ranked.scored == 7
    assert not [fault for fault in ranked.faults if "language" in fault.reason]
    assert "German" in ranked.faults[0].reason


@pytest.mark.parametrize("text", ["N/A", "I'm sorry, I can't help with that."])
def test_what_stands_for_no_report_is_not_usable(tmp_path: Path, text: str) -> None:
    found = check_predictions(published(tmp_path), team(tmp_path, "a", {**TRUTH, FIRST: text}))
    assert found.usable == 7
    assert {fault.code for fault in found.faults} <= {"placeholder", "refusal"}


def test_participants_are_told_of_their_list_of_ids_and_of_no_references(tmp_path: Path) -> None:
    other = {**without(FIRST), "case-x": "Skin.", "case-2": "Skin."}
    faults = check_predictions(published(tmp_path), team(tmp_path, "a", other)).faults
    assert {fault.code for fault in faults} == {"missing_report", "unknown_id"}
    assert all("ids.txt" in fault.reason for fault in faults)
    assert not any("reference" in fault.reason for fault in faults)


@pytest.mark.parametrize("limit", ["seconds_per_case", "seconds_in_all"])
def test_a_limit_of_time_that_cannot_be_checked_is_told(tmp_path: Path, limit: str) -> None:
    found = check_predictions(published(tmp_path, limits={limit: 10}), team(tmp_path, "a", TRUTH))
    (note,) = found.notes
    assert "the policy allows 10 for" in note
    assert "no times in a column 'seconds'" in note


def test_only_listed_cases_are_asked_for(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    set_rules(folder, cases="some.json")
    write_json(folder / "some.json", list(TRUTH)[:3])
    found = check_predictions(folder, team(tmp_path, "a", dict(list(TRUTH.items())[:4])))
    assert found.is_complete
    assert (found.asked, found.usable) == (3, 3)

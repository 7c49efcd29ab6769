"""What a system hands in for a truth: good reports, and each flaw by its id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from histoeval.errors import InputError
from histoeval.io.submissions import Submission, plain_id, read_submission, read_truth

TRUTH = [{"id": f"P{number}.tiff", "report": f"Colon: adenoma {number}."} for number in range(3)]
GOOD = {"id": "P0.tiff", "report": "Colon: adenoma."}


def submitted(folder: Path, rows: object, *, loose: bool = False) -> Submission:
    truth, team = folder / "truth.json", folder / "team.json"
    truth.write_text(json.dumps(TRUTH), "utf-8")
    team.write_text(rows if isinstance(rows, str) else json.dumps(rows), "utf-8")
    return read_submission(team, read_truth(truth), loose_ids=loose, longest=100)


@pytest.mark.parametrize(
    ("bad", "name", "code", "reason"),
    [
        (5, None, "not_an_object", "a number stands where an object was expected (row 2)"),
        ({"report": "Colon."}, None, "missing_id", "id is missing (row 2)"),
        ({"id": ["P1"], "report": "Colon."}, None, "not_a_name", "id is a list"),
        (
            {"id": "P0.tiff", "report": "Skin."},
            "P0.tiff",
            "duplicate_id",
            "already the id of row 1",
        ),
        ({"id": "P1.tiff"}, "P1.tiff", "missing_value", "report is missing (row 2)"),
        ({"id": "P1.tiff", "report": 7}, "P1.tiff", "not_text", "report is a number"),
        ({"id": "P1.tiff", "report": " \n"}, "P1.tiff", "empty_text", "report is empty (row 2)"),
        ({"id": "P1.tiff", "report": "a" * 101}, "P1.tiff", "too_long", "101 characters"),
        (
            {"id": "Q1", "report": "Colon."},
            "Q1",
            "unknown_id",
            "an id that is not in truth",
        ),
        ({"id": "P1.svs", "report": "Colon."}, "P1.svs", "near_id", "correct the id to 'P1.tiff'"),
        ({"id": "P1.tiff", "report": "\0\1\2"}, "P1.tiff", "binary_text", "control characters"),
    ],
)
def test_a_bad_row_is_reported_by_id_and_reason_and_the_others_are_read(
    tmp_path: Path, bad: object, name: str | None, code: str, reason: str
) -> None:
    found = submitted(tmp_path, [GOOD, bad])
    assert dict(found.reports) == {"P0.tiff": "Colon: adenoma."}
    (problem,) = [each for each in found.problems if each.row == 2]
    assert (problem.id, problem.code) == (name, code)
    assert reason in problem.reason


def test_reports_that_are_missing_are_listed_in_the_order_of_the_truth(tmp_path: Path) -> None:
    problems = submitted(tmp_path, [GOOD]).problems
    assert [(each.id, each.row, each.code) for each in problems] == [
        ("P1.tiff", None, "missing_report"),
        ("P2.tiff", None, "missing_report"),
    ]


def test_ids_that_differ_in_ending_case_or_spaces_are_accepted_only_on_request(
    tmp_path: Path,
) -> None:
    rows = [GOOD, {"id": " p1.TIF", "report": "Colon."}, {"id": "p2", "report": "Colon."}]
    strict = submitted(tmp_path, rows)
    assert list(strict.reports) == ["P0.tiff"]
    assert {each.code for each in strict.problems} == {"near_id"}
    assert "loose_ids=True" in strict.problems[0].reason
    loose = submitted(tmp_path, rows, loose=True)
    assert list(loose.reports) == ["P0.tiff", "P1.tiff", "P2.tiff"]
    assert (loose.renamed, loose.problems) == ({" p1.TIF": "P1.tiff", "p2": "P2.tiff"}, ())


def test_an_id_that_could_mean_two_is_not_guessed(tmp_path: Path) -> None:
    rows = [GOOD, {"id": "P1.svs", "report": "Colon."}, {"id": "p1.tif", "report": "Skin."}]
    found = submitted(tmp_path, rows, loose=True)
    assert list(found.reports) == ["P0.tiff"]
    assert [each.code for each in found.problems if each.row] == ["unknown_id", "unknown_id"]


def test_plain_ids() -> None:
    assert plain_id(" PIT_01.ome.TIFF\n") == plain_id("pit_01") == "pit_01"
    assert plain_id("S21.1234") == "s21.1234"
    assert plain_id("/data/test/PIT_01.tiff") == plain_id("C:\\PIT_01.svs") == "pit_01"
    assert plain_id("S21/1234") == "s21/1234"
    assert plain_id("007") == plain_id("7") == plain_id("7.0") == "7"
    assert plain_id("0") == plain_id("000") == "0"
    assert plain_id("7.05") == "7.05"


def test_a_truth_may_have_several_references_for_an_id(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    rows = [*TRUTH, {"id": "P0.tiff", "report": ["Adenoma.", "Tubular adenoma."]}]
    file.write_text(json.dumps(rows), "utf-8")
    assert len(read_truth(file).references["P0.tiff"]) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("{", "not JSON"),
        ('"Colon."', "neither a list"),
        ("[]", "has no rows"),
        ("[1, 2]", "no row of"),
        ('[{"report": "Colon."}]', "no column of ids"),
        ('[{"id": "P0.tiff"}]', "no column for the text"),
    ],
)
def test_a_file_without_reports_by_id_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        submitted(tmp_path, content)

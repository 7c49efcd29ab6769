"""What trackers are given of a run: scores and signatures, and report texts only on request."""

import json
from pathlib import Path

import pytest

from histoeval import InputError
from histoeval.adapters.runs import read_run
from tests.support.score_runs import CASES, make_score_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_score_run(tmp_path_factory.mktemp("runs") / "nightly")


def test_numbers_are_those_of_the_summary(run: Path) -> None:
    found = read_run(run)
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    totals = summary["metrics"]["marking"]["systems"]["a"]
    assert found.name == "nightly"
    assert found.numbers["marking/mean/a"] == totals["mean"]
    assert found.numbers["marking/coverage/a"] == totals["coverage"] == 0.8
    assert found.numbers["marking.findings/mean/b"] == 0.5
    assert found.numbers["marking/critical_errors/a"] == 1
    assert found.settings["signature/marking"].startswith("marking|kept:yes|")
    assert found.settings["input_sha256"] == summary["input"]["sha256"]


def test_no_text_no_quotation_and_no_message_is_given_unasked(run: Path) -> None:
    found = read_run(run)
    given = json.dumps([found.settings, found.numbers, found.rows])
    words = {word for texts in CASES.values() for text in texts for word in text.split()}
    found_words = {word for word in words if word.isalpha() and len(word) > 3 and word in given}
    assert found_words == {"grade"}  # of wrong_grade
    assert found.files == ()
    rows = {(row["id"], row["system"]): row for row in found.rows}
    assert rows["breast-1", "a"]["marking.errors"] == (
        "wrong_laterality (severity 4), wrong_grade (severity 3)"
    )
    assert rows["blank", "a"]["problems"] == "empty_text"


def test_texts_and_files_are_given_on_request(run: Path) -> None:
    found = read_run(run, texts=True)
    rows = {(row["id"], row["system"]): row for row in found.rows}
    colon = rows["colon-1", "a"]
    assert (colon["reference"], colon["candidate"]) == CASES["colon-1"]
    assert rows["blank", "a"]["problems"].startswith("empty_text: ")
    assert {"scores.jsonl", "texts.jsonl", "summary.json"} <= {each.name for each in found.files}


def test_columns_are_of_one_length_whatever_rows_have(run: Path) -> None:
    assert read_run(run, rows=False).rows == []
    found = read_run(run)
    assert {len(column) for column in found.columns.values()} == {len(found.rows)}
    assert found.columns["bleu"][found.columns["id"].index("blank")] is None


def test_another_kind_of_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text("{}", "utf-8")
    with pytest.raises(
        InputError, match=r"a comparison by `histoeval compare`.*`score`, `judge` or `trust`"
    ):
        read_run(tmp_path)

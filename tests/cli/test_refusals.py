"""What cannot be done is refused with exit code 2 and a sentence, before anything is written."""

import json
import shlex
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from tests.cli.trust.test_tune import rows as labelled
from tests.support import rating_sheets
from tests.support.command import run_in
from tests.support.rating_studies import write_plan
from tests.support.tables import from_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("desk")
    write_plan(path)  # and its pairs.csv
    rating_sheets.write(path / "sheet.csv", rating_sheets.rows())
    (path / "l.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in labelled()), "utf-8")
    return path


@from_table
def test_what_cannot_be_done_is_refused_in_a_sentence(line: str, said: str, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    outcome = run_in(folder, *shlex.split(line), COLUMNS="100")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in " ".join(outcome.err.split())
    assert sorted(folder.rglob("*")) == before

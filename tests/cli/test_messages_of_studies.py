"""What `agree`, `ablate` and `compare` say goes wrong names only options that they have."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from histoeval.cli.main import app
from tests.cli.test_help import COMMANDS

SHEETS = {
    "no reference": "a,b,c\n1,x,y\n",
    "no candidate": "reference,note,r1\nx,y,1\n",
    "no scores": "id,reference,candidate\na,x,y\n",
    "unclear scores": "id,reference,candidate,k,l\na,x,y,1,70\nb,x,y,1,80\n",
    "two systems": "reference,candidate_a,candidate_b,system,r1\nx,y,z,m,1\n",
    "odd encoding": "r\xe9f\xe9rence,reference,candidate,r\xe9\n\xe9,x\xe9,y\xe9,1\n",
}


@pytest.mark.parametrize("verb", ["agree", "ablate"])
@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_that_cannot_be_read(verb: str, name: str, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_bytes(SHEETS[name].encode("latin-1"))
    demand_own_options(verb, str(sheet))


@pytest.mark.parametrize("scores", ["{}\n", "", "oops\n", '{"id": "a", "system": "s", "row": 1}\n'])
def test_scores_that_cannot_be_compared(scores: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(scores, "utf-8")
    demand_own_options("compare", str(tmp_path / "a.jsonl"), str(tmp_path / "a.jsonl"))


def demand_own_options(verb: str, *arguments: str) -> None:
    result = CliRunner().invoke(app, [verb, *arguments])
    said = f"{result.exception} {result.output}"
    said = re.sub(r"`histoeval score[^`]*`", "", said)  # another verb, with its own options
    known = {name for each in COMMANDS[verb].params for name in (*each.opts, *each.secondary_opts)}
    assert set(re.findall(r"--[a-z][a-z-]+", said)) <= known
    assert result.exception is not None

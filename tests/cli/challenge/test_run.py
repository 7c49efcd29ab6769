"""`histoeval challenge`, as people run it, and the example of its page, line by line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from histoeval.cli.main import app
from tests.support.challenges import TRUTH, a_challenge, changed, set_rules, team
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "challenge.md").read_text("utf-8")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(
        app, ["challenge", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"}
    )


def block(language: str, heading: str) -> str:
    """The first code block of a language below a heading of the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.partition(heading)[2], re.DOTALL)
    assert found is not None
    return found[1]


def test_the_worked_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With metrics that need no model, so that it is quick."""
    monkeypatch.chdir(tmp_path)
    exec(block("python", "## A worked example"), {})
    commands = [
        shlex.split(line[2:]) for line in block("console", "## A worked example").splitlines()
    ]
    codes = []
    for words in commands:
        assert words[:2] == ["histoeval", "challenge"]
        result = run(*words[2:])
        codes.append(result.exit_code)
        assert result.exit_code < 2, result.output
        if words[2] == "init":
            set_rules(Path("challenge"))
    assert codes == [0, 0, 1, 1, 0]
    ranking = json.loads(Path("ranking/ranking.json").read_text("utf-8"))
    assert len(ranking["teams"]) == 3
    scored = {each["team"]: each["scored"] for each in ranking["teams"]}
    assert scored == {"careful": 12, "careless": 12, "hasty": 5}
    exec(block("python", "## Python"), {})


def test_rank_prints_the_order_and_writes_pages(tmp_path: Path) -> None:
    files = [team(tmp_path, "good", TRUTH), team(tmp_path, "bad", changed(7))]
    out = tmp_path / "out"
    result = run("rank", a_challenge(tmp_path), *files, "--output", out, "--engine", "inline")
    assert result.exit_code == 0, result.output
    assert result.stdout.index("good") < result.stdout.index("bad")
    for name in ("ranking.json", "ranking.csv", "ranking.md", "index.html", "teams/good.html"):
        assert (out / name).is_file()
    assert "texts of the truth" in result.stdout


def test_check_prints_json_on_wish(tmp_path: Path) -> None:
    spoilt = team(tmp_path, "spoilt", {**TRUTH, "case-2.tiff": ""})
    result = run("check", a_challenge(tmp_path), spoilt, "--format", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert [each["id"] for each in found["faults"]] == ["case-2.tiff"]
    assert found["usable"] == 7


def test_check_says_how_many_faults_it_does_not_show(tmp_path: Path) -> None:
    many = {f"other-{number}": "Skin." for number in range(60)}
    result = run("check", a_challenge(tmp_path), team(tmp_path, "many", {**TRUTH, **many}))
    assert result.exit_code == 1
    assert "--format json lists every fault" in result.stdout
    assert "The same 60 times" in " ".join(result.stdout.split())
    assert result.stdout.count("other-") == 10


def test_ids_that_all_differ_alike_are_told_once_with_the_cure(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    bare = team(tmp_path, "bare", {id_.removesuffix(".tiff"): t for id_, t in TRUTH.items()})
    strict = run("check", folder, bare)
    assert strict.exit_code == 1
    told = " ".join(strict.stdout.replace("\u2502", " ").split())
    assert "8 ids lack '.tiff' at the end" in told
    assert "--loose-ids" in told
    loose = run("check", folder, bare, "--loose-ids")
    assert loose.exit_code == 0, loose.output
    assert "lack '.tiff' at the end were accepted: 8" in loose.stdout
    ranked = run("rank", folder, bare, "--output", tmp_path / "ranking", "--loose-ids")
    assert ranked.exit_code == 0, ranked.output
    set_rules(folder, loose_ids=True)
    assert run("check", folder, bare).exit_code == 0


def test_evaluate_fails_with_one_line_that_the_platform_shows(tmp_path: Path) -> None:
    folder, given = a_challenge(tmp_path), tmp_path / "input"
    given.mkdir()
    places = ("--input", given, "--output", tmp_path / "out")
    assert str(run("evaluate", folder, *places).exception) == f"{given} has no predictions.json"
    team(tmp_path, "../input/predictions", {"other": "Skin."})
    message = str(run("evaluate", folder, *places).exception)
    assert "no report for any of 8 cases" in message
    assert not any(text in message for text in TRUTH.values())


def test_names_that_are_hostile_stay_names(tmp_path: Path) -> None:
    files = [
        team(tmp_path, "=cmd <b>x</b>", TRUTH),
        team(tmp_path, "\x1b[31mred", changed(2)),
        team(tmp_path, "@cmd <b>x<_b>", changed(1)),
    ]
    out = tmp_path / "out"
    result = run("rank", a_challenge(tmp_path), *files, "--output", out, "--engine", "inline")
    assert result.exit_code == 0, result.output
    assert "\x1b[31m" not in (out / "index.html").read_text("utf-8")
    assert "<b>" not in (out / "index.html").read_text("utf-8")
    assert "\n=cmd" not in (out / "ranking.csv").read_text("utf-8")
    assert len(list((out / "teams").iterdir())) == 3

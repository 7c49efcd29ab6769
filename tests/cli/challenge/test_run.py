"""`histoeval challenge`, as people run it, and the example of its page, line by line."""

import json
import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from tests.support.challenges import TRUTH, a_challenge, changed, set_rules, team
from tests.support.command import invoked
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "challenge.md").read_text("utf-8")
JSON = ("--format", "json")


run = partial(invoked, "challenge")


def block(language: str, heading: str) -> str:
    """The first code block of a language below a heading of the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.partition(heading)[2], re.DOTALL)
    assert found is not None
    return found[1]


def test_the_worked_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With metrics that need no model, so that it is quick."""
    monkeypatch.chdir(tmp_path)
    exec(block("python", "## A worked example"), {})
    codes, printed = [], ""
    for line in block("console", "## A worked example").splitlines():
        result = run(*shlex.split(line)[3:])
        codes.append(result.exit_code)
        printed += result.stdout
        if "init" in line:
            set_rules(Path("challenge"))
    assert codes == [0, 0, 1, 1, 0], printed
    assert "texts of the truth" in printed
    ranking = json.loads(Path("ranking/ranking.json").read_text("utf-8"))
    scored = {each["team"]: each["scored"] for each in ranking["teams"]}
    assert scored == {"careful": 12, "careless": 12, "hasty": 5}
    for name in ("ranking.csv", "ranking.md", "index.html", "teams/careful.html"):
        assert (Path("ranking") / name).is_file()
    exec(block("python", "## Python"), {})


def test_check_prints_all_faults_as_json_and_few_as_a_table(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    spoilt = run("check", folder, team(tmp_path, "spoilt", {**TRUTH, "case-2.tiff": ""}), *JSON)
    found = json.loads(spoilt.stdout)
    assert ([each["id"] for each in found["faults"]], found["usable"]) == (["case-2.tiff"], 7)
    many = {f"other-{number}": "Skin." for number in range(60)}
    shown = run("check", folder, team(tmp_path, "many", {**TRUTH, **many}))
    assert spoilt.exit_code == shown.exit_code == 1
    assert "--format json lists every fault" in shown.stdout
    assert "The same 60 times" in " ".join(shown.stdout.split())
    assert shown.stdout.count("other-") == 10


def test_ids_that_all_differ_alike_are_told_once_with_the_cure(tmp_path: Path) -> None:
    folder = a_challenge(tmp_path)
    bare = team(tmp_path, "bare", {id_.removesuffix(".tiff"): t for id_, t in TRUTH.items()})
    strict = run("check", folder, bare)
    told = " ".join(strict.stdout.replace("\u2502", " ").split())
    assert (strict.exit_code, "8 ids lack '.tiff' at the end" in told) == (1, True)
    assert "--loose-ids" in told
    loose = run("check", folder, bare, "--loose-ids")
    assert (loose.exit_code, "were accepted: 8" in loose.stdout) == (0, True)
    assert run("rank", folder, bare, "--output", tmp_path / "o", "--loose-ids").exit_code == 0


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

"""`histoeval runs`: what was run before, and what changed between two runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import histoeval
from histoeval.cli.main import app
from histoeval.errors import InputError
from histoeval.run.history import details_of, diff_runs, journal, stored_run, stored_runs
from tests.support.score_runs import make_score_run

PAIRS = [{"id": f"p{n}", "reference": "a b c d", "candidate": "a b c d"} for n in range(4)]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["runs", *map(str, arguments)], env={"COLUMNS": "200"})


def test_runs_are_listed_with_what_they_are_of(tmp_path: Path) -> None:
    make_score_run(tmp_path / "deep" / "one")
    unfinished = make_score_run(tmp_path / "two")
    (unfinished / "summary.json").unlink()
    histoeval.extract(["Left breast: carcinoma."], output=tmp_path / "read.jsonl")
    shown = run("list", tmp_path)
    assert shown.exit_code == 0, shown.output
    lines = {line.split()[0]: line for line in shown.output.splitlines() if line.strip()}
    assert "bleu" in lines["deep/one"]
    assert "records" in lines["deep/one"]
    assert "score, unfinished" in lines["two"]
    assert " 10 " in lines["two"]
    assert "extract" in lines["read.jsonl"]
    found = json.loads(run("list", tmp_path, "--json").output)
    assert {each["verb"] for each in found} == {"score", "extract"}
    (tmp_path / "none").mkdir()
    assert "no runs" in run("list", tmp_path / "none").output


def test_one_run_is_shown_with_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, PAIRS)), "utf-8")
    words = ["score", str(tmp_path / "pairs.jsonl"), "--metrics", "bleu"]
    monkeypatch.setattr(sys, "argv", ["histoeval", *words])
    CliRunner().invoke(app, [*words, "--output", str(tmp_path / "out")])
    found = details_of(stored_run(tmp_path / "out" / "scores.jsonl"))
    assert found.commands[0]["command"].startswith("histoeval score ")
    assert journal().stat().st_mode & 0o777 == 0o600
    shown = run("show", tmp_path / "out")
    assert "bleu|order:4" in shown.output
    assert "sacrebleu" in shown.output
    assert "100.0" in shown.output


def test_a_damaged_run_is_listed_all_the_same(tmp_path: Path) -> None:
    folder = make_score_run(tmp_path / "one")
    for name in ("summary.json", "run.json"):
        (folder / name).write_bytes(b"\xff{")
    with journal().open("ab") as file:
        file.write(b"\xff{\n")
    assert len(stored_runs(tmp_path)) == 1
    assert run("list", tmp_path).exit_code == 0
    assert run("show", folder).exit_code == 0


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("x", "utf-8")
    for place in (tmp_path, tmp_path / "other.txt"):
        with pytest.raises(InputError, match="is no run"):
            stored_run(place)


def test_two_runs_differ_in_settings_signatures_and_scores(tmp_path: Path) -> None:
    changed = [{**each, "candidate": "a b x d"} if each["id"] == "p2" else each for each in PAIRS]
    histoeval.score(PAIRS, metrics="bleu,rouge_1", output=tmp_path / "one")
    histoeval.score(changed[:3], metrics="bleu:order=2,rouge_1", output=tmp_path / "two")
    histoeval.score(PAIRS, metrics="rouge_1", output=tmp_path / "three")
    one, two = (details_of(stored_run(tmp_path / name)) for name in ("one", "two"))
    found = diff_runs(one, two)
    assert "sha256" in [each.what for each in found.settings]
    assert {each.what for each in found.signatures} == {"bleu", "bleu:order=2"}
    by_id = {(each.id, each.metric): (each.one, each.other) for each in found.scores}
    assert by_id["p3", "rouge_1"] == (1.0, None)
    assert by_id["p2", "rouge_1"][1] == pytest.approx(0.75)
    assert ("p0", "rouge_1") not in by_id
    shown = run("diff", tmp_path / "one", tmp_path / "two")
    assert shown.exit_code == 0, shown.output
    assert shown.output.index("Settings") < shown.output.index("Scores that differ")
    assert "No difference" in run("diff", tmp_path / "one", tmp_path / "one").output
    assert json.loads(run("diff", tmp_path / "one", tmp_path / "two", "--json").output)["scores"]


def test_runs_of_different_verbs_are_not_compared(tmp_path: Path) -> None:
    scored = make_score_run(tmp_path / "one")
    histoeval.extract(["Left breast: carcinoma."], output=tmp_path / "read.jsonl")
    with pytest.raises(InputError, match="nothing to compare"):
        diff_runs(details_of(stored_run(scored)), details_of(stored_run(tmp_path / "read.jsonl")))

"""`histoeval runs`: what was run before, what changed between two runs, and what is removed."""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner, Result

import histoeval
from histoeval.cli.main import app
from histoeval.cli.runs import age_of
from histoeval.errors import InputError, SettingError
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Reply
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


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})


def aged(folder: Path, days: int) -> Path:
    """The folder as if its run had ended so many days ago."""
    when = time.time() - days * 86400
    for file in folder.iterdir() if folder.is_dir() else [folder]:
        os.utime(file, (when, when))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    aged(make_score_run(tmp_path / "runs" / "old"), 100)
    make_score_run(tmp_path / "runs" / "new")
    return tmp_path / "runs"


def test_without_being_asked_to_nothing_is_removed(runs: Path) -> None:
    before = sorted(runs.rglob("*"))
    shown = command("runs", "clear", runs, "--older-than", "90d")
    assert shown.exit_code == 0, shown.output
    assert "1 runs" in shown.output
    assert "would be removed" in shown.output
    assert sorted(runs.rglob("*")) == before
    assert command("runs", "clear", runs, "--delete").exit_code != 0
    assert sorted(runs.rglob("*")) == before


def test_old_runs_go_and_new_ones_stay(runs: Path) -> None:
    assert command("report", runs / "old").exit_code == 0
    aged(runs / "old", 100)
    size = sum(file.stat().st_size for file in (runs / "old").iterdir())
    shown = command("runs", "clear", runs, "--older-than", "90d", "--delete")
    assert shown.exit_code == 0
    assert f"{size:,} bytes: removed" in shown.output
    assert shown.output.count(f"{size:,}") == 2
    assert [each.name for each in runs.iterdir()] == ["new"]


def test_what_is_not_ours_stays(runs: Path, tmp_path: Path) -> None:
    notes = runs / "old" / "notes.txt"
    notes.write_text("mine", "utf-8")
    target = tmp_path / "elsewhere.jsonl"
    target.write_text("mine", "utf-8")
    (runs / "old" / "texts.jsonl").unlink()
    (runs / "old" / "texts.jsonl").symlink_to(target)
    aged(runs / "old", 100)
    foreign = runs / "foreign"
    foreign.mkdir()
    (foreign / "scores.jsonl").write_text("of another program", "utf-8")
    aged(foreign, 100)
    shown = command("runs", "clear", runs, "--older-than", "90d", "--delete")
    assert "left there: notes.txt" in shown.output
    assert "does not say that histoeval made it" in shown.output
    assert [each.name for each in (runs / "old").iterdir()] == ["notes.txt"]
    assert target.read_text("utf-8") == "mine"
    assert (foreign / "scores.jsonl").exists()


def test_a_run_that_is_being_written_stays(runs: Path) -> None:
    with FileLock(runs / "old" / ".lock"):
        shown = command("runs", "clear", runs, "--older-than", "90d", "--delete")
    assert "being written" in shown.output
    assert "0 runs, 0 files, 0 bytes: removed" in shown.output
    assert (runs / "old" / "scores.jsonl").exists()


def test_files_of_extract_go_with_what_is_beside_them(tmp_path: Path) -> None:
    for name in ("one.jsonl", "other.jsonl"):
        histoeval.extract(["Left breast: carcinoma."], output=tmp_path / name)
    histoeval.write_report(tmp_path / "one.jsonl")
    aged(tmp_path / "one.jsonl", 100)
    command("runs", "clear", tmp_path, "--older-than", "90d", "--delete")
    assert {each.name for each in tmp_path.iterdir()} == {"other.jsonl", "other.jsonl.meta.json"}


@pytest.mark.parametrize("linked", [False, True])
def test_the_texts_that_agree_has_kept_go_with_it(linked: bool, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = "".join(f"{n},a b {n},a c,{n}\n" for n in range(4))
    sheet.write_text(f"id,reference,candidate,rater_1\n{rows}", "utf-8")
    histoeval.agree(sheet, metrics="rouge_l", resamples=20, output=tmp_path / "runs" / "old")
    scores = tmp_path / "runs" / "old" / "scores"
    if linked:
        scores.symlink_to(scores.rename(tmp_path / "elsewhere"))
    aged(tmp_path / "runs" / "old", 100)
    assert (scores / "texts.jsonl").exists()
    command("runs", "clear", tmp_path / "runs", "--older-than", "90d", "--delete")
    assert scores.exists() is linked
    assert (tmp_path / "runs" / "old").exists() is linked


def test_ages_are_read_strictly() -> None:
    assert age_of("30d") == timedelta(days=30)
    assert age_of(" 12H") == timedelta(hours=12)
    for text in ("30", "d", "-3d", "3 years", "٣d", ""):
        with pytest.raises(SettingError, match="is no age"):
            age_of(text)


def test_old_replies_are_cleared_and_new_ones_stay(tmp_path: Path) -> None:
    file = tmp_path / "judge.sqlite"
    with Cache(file) as cache:
        for key in ("00", "01"):
            cache.store(key, "m@http://x", "rubric4", 3, Reply("fine"))
        cache._file.execute("UPDATE replies SET stored = '2020-01-01 00:00:00' WHERE key = x'00'")
    assert "m@http://x" in command("cache", "show", "--cache", file).output
    done = command("cache", "clear", "--older-than", "30d", "--cache", file)
    assert done.output.startswith("1 replies deleted")
    assert command("cache", "clear", "--cache", file).output.startswith("1 replies deleted")
    gone = command("cache", "clear", "--cache", tmp_path / "none.sqlite")
    assert gone.output.startswith("0 replies deleted")
    assert not (tmp_path / "none.sqlite").exists()

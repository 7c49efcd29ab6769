"""Old runs are listed, and removed only when asked to, and nothing that is not ours."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner, Result

import histoeval
from histoeval.cli.main import app
from histoeval.cli.runs import age_of
from histoeval.errors import SettingError
from histoeval.llm.cache import Cache
from histoeval.llm.chat import Reply
from tests.support.score_runs import make_score_run


def run(*arguments: object) -> Result:
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
    shown = run("runs", "clear", runs, "--older-than", "90d")
    assert shown.exit_code == 0, shown.output
    assert "1 runs" in shown.output
    assert "would be removed" in shown.output
    assert sorted(runs.rglob("*")) == before
    assert run("runs", "clear", runs, "--delete").exit_code != 0
    assert sorted(runs.rglob("*")) == before


def test_old_runs_go_and_new_ones_stay(runs: Path) -> None:
    assert run("report", runs / "old").exit_code == 0
    aged(runs / "old", 100)
    size = sum(file.stat().st_size for file in (runs / "old").iterdir())
    shown = run("runs", "clear", runs, "--older-than", "90d", "--delete")
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
    shown = run("runs", "clear", runs, "--older-than", "90d", "--delete")
    assert "left there: notes.txt" in shown.output
    assert "does not say that histoeval made it" in shown.output
    assert [each.name for each in (runs / "old").iterdir()] == ["notes.txt"]
    assert target.read_text("utf-8") == "mine"
    assert (foreign / "scores.jsonl").exists()


def test_a_run_that_is_being_written_stays(runs: Path) -> None:
    with FileLock(runs / "old" / ".lock"):
        shown = run("runs", "clear", runs, "--older-than", "90d", "--delete")
    assert "being written" in shown.output
    assert "0 runs, 0 files, 0 bytes: removed" in shown.output
    assert (runs / "old" / "scores.jsonl").exists()


def test_files_of_extract_go_with_what_is_beside_them(tmp_path: Path) -> None:
    for name in ("one.jsonl", "other.jsonl"):
        histoeval.extract(["Left breast: carcinoma."], output=tmp_path / name)
    histoeval.write_report(tmp_path / "one.jsonl")
    aged(tmp_path / "one.jsonl", 100)
    run("runs", "clear", tmp_path, "--older-than", "90d", "--delete")
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
    run("runs", "clear", tmp_path / "runs", "--older-than", "90d", "--delete")
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
    assert "m@http://x" in run("cache", "show", "--cache", file).output
    done = run("cache", "clear", "--older-than", "30d", "--cache", file)
    assert done.output.startswith("1 replies deleted")
    assert run("cache", "clear", "--cache", file).output.startswith("1 replies deleted")
    gone = run("cache", "clear", "--cache", tmp_path / "none.sqlite")
    assert gone.output.startswith("0 replies deleted")
    assert not (tmp_path / "none.sqlite").exists()

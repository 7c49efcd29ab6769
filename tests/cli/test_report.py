"""`histoeval report`: where the page is written, and what is said of anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import histoeval
from tests.support.command import histoeval_here
from tests.support.score_runs import make_score_run


def test_a_page_and_a_table_are_written_where_they_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_score_run(tmp_path / "run")
    done = histoeval_here("report", "run", cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.code, done.out) == (0, "Written: run/report.html\n")
    done = histoeval_here(
        "report",
        "run",
        "--to",
        "csv",
        "--output",
        "out/pairs.csv",
        cwd=tmp_path,
        monkeypatch=monkeypatch,
        capsys=capsys,
    )
    assert done.out == "Written: out/pairs.csv\n"
    assert (tmp_path / "out" / "pairs.csv").read_bytes().startswith(b"\xef\xbb\xbfid,system,organ")


def test_the_ending_of_the_output_says_what_it_is(tmp_path: Path) -> None:
    run = make_score_run(tmp_path / "run")
    begins = {"a.xlsx": b"pk", "a.CSV": b"\xef\xbb\xbfid", "a.json": b"{", "a.htm": b"<!doctype"}
    for name, begin in begins.items():
        content = histoeval.write_report(run, tmp_path / name).read_bytes()
        assert content.lower().startswith(begin), name
    named = histoeval.write_report(run, tmp_path / "table.txt", to="csv", texts=False)
    assert named.read_bytes().startswith(begins["a.CSV"])
    assert b"adenoma" not in named.read_bytes()


def test_what_is_no_finished_run_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_score_run(tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()
    done = histoeval_here("report", "run", cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.code == 2
    assert "the run in run is not finished" in done.err


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("pipe", "pipe is a device or a pipe: name a file for the output"),
        (f"{'x' * 300}.html", "for results: File name too long"),
    ],
)
def test_a_page_replaces_no_device(
    output: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_score_run(tmp_path / "run")
    os.mkfifo(tmp_path / "pipe")
    words = ("report", "run", "--output", output)
    done = histoeval_here(*words, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert (done.code, message in done.err) == (2, True)
    assert (tmp_path / "pipe").is_fifo()

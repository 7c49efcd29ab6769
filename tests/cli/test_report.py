"""`histoeval report`: where the page is written, and what is said of anything else."""

import os
from functools import partial
from pathlib import Path

import pytest

import histoeval
from tests.support.command import Command
from tests.support.score_runs import make_score_run


@pytest.fixture
def report(command: Command, tmp_path: Path) -> Command:
    """`histoeval report run` with further words, in a folder with a run and a pipe."""
    make_score_run(tmp_path / "run")
    os.mkfifo(tmp_path / "pipe")
    return partial(command, "report", "run")


def test_pages_and_tables_are_written_where_wanted(report: Command, tmp_path: Path) -> None:
    assert report()[:2] == (0, "Written: run/report.html\n")
    done = report("--to", "csv", "--output", "out/pairs.csv")
    assert done.out == "Written: out/pairs.csv\n"
    assert (tmp_path / "out" / "pairs.csv").read_bytes().startswith(b"\xef\xbb\xbfid,system,organ")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("pipe", "pipe is a device or a pipe: name a file for the output"),
        (f"{'x' * 300}.html", "for results: File name too long"),
        ("unfinished.html", "the run in run is not finished"),
    ],
)
def test_what_cannot_be_written_or_read_is_refused_in_one_sentence(
    output: str, message: str, report: Command, tmp_path: Path
) -> None:
    if output == "unfinished.html":
        (tmp_path / "run" / "summary.json").unlink()
    done = report("--output", output)
    assert (done.code, message in done.err) == (2, True)
    assert (tmp_path / "pipe").is_fifo()


def test_the_ending_of_the_output_says_what_it_is(tmp_path: Path) -> None:
    run = make_score_run(tmp_path / "run")
    begins = {"a.xlsx": b"pk", "a.CSV": b"\xef\xbb\xbfid", "a.json": b"{", "a.htm": b"<!doctype"}
    for name, begin in begins.items():
        content = histoeval.write_report(run, tmp_path / name).read_bytes()
        assert content.lower().startswith(begin), name
    named = histoeval.write_report(run, tmp_path / "table.txt", to="csv", texts=False)
    assert named.read_bytes().startswith(begins["a.CSV"])
    assert b"adenoma" not in named.read_bytes()

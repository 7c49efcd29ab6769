"""A killed run resumes where it stopped and leaves the same bytes; two runs never mix."""

import csv
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import PROGRAM, Outcome, environment, histoeval, polite
from tests.support.report_words import make_report

FILES = ("run.json", "scores.jsonl", "summary.json", "texts.jsonl")
ROWS = 300
METRICS = ("--metrics", "bleu,rouge_l,chrf,meteor:matchers=exact+stem")
BATCH = 4

DRIVER = """
import os, sys, time
import histoeval
from histoeval.metrics.base import PairMetric
from histoeval.metric import Score

output, pause = sys.argv[1], float(sys.argv[2])

@histoeval.register("counting")
class Counting(PairMetric):
    def score_pair(self, reference, candidate):
        time.sleep(max(0, pause))
        while pause < 0 and reference.endswith(" 40") and not os.path.exists(f"{output}.go"):
            time.sleep(0.05)
        with open(f"{output}.calls", "a") as calls:
            calls.write(reference + "\\n")
        return Score(value=len(candidate) / 7, signature=self.signature)

histoeval.score("few.csv", metrics="counting,rouge_l", output=output, batch_size=4)
"""


def write_pairs(path: Path, reports: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "reference", "candidate"])
        for number, report in enumerate(reports):
            writer.writerow([f"case-{number}", report, report[: len(report) // 2]])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many reports for the command, a few for the driver."""
    folder = tmp_path_factory.mktemp("place")
    source = random.Random(5)
    write_pairs(folder / "many.csv", [make_report(source, 60) for _ in range(ROWS)])
    write_pairs(folder / "few.csv", [f"report number {n}" for n in range(80)])
    (folder / "driver.py").write_text(DRIVER, "utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def score(place: Path, output: str) -> Outcome:
    return histoeval("score", "many.csv", *METRICS, "--output", output, cwd=place)


@pytest.fixture(scope="module")
def uninterrupted(place: Path) -> dict[str, bytes]:
    assert score(place, "whole").code == 0
    found = contents(place / "whole")
    assert sorted(found) == sorted(FILES)
    assert found["scores.jsonl"].count(b"\n") == ROWS
    return found


def stop(command: list[str], place: Path, scores: Path, number: int, lines: int) -> Outcome:
    """Start a command, and send it this signal as soon as it has written so many lines."""
    with subprocess.Popen(
        command,
        cwd=place,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        while not scores.exists() or scores.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, "it ended before it could be stopped"
            time.sleep(0.002)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    return polite(Outcome(process.returncode, out, err))


def stop_the_command(place: Path, output: str, number: int) -> Outcome:
    arguments = ["score", "many.csv", *METRICS, "--output", output, "--batch-size", str(BATCH)]
    scores = place / output / "scores.jsonl"
    return stop([*PROGRAM, *arguments], place, scores, number, ROWS // 10)


def test_a_killed_command_goes_on_and_leaves_the_same_bytes(
    place: Path, uninterrupted: dict[str, bytes]
) -> None:
    assert stop_the_command(place, "killed", signal.SIGKILL).code == -signal.SIGKILL
    left = contents(place / "killed")
    assert sorted(left) == [".lock", "run.json", "scores.jsonl"]
    assert uninterrupted["scores.jsonl"].startswith(left["scores.jsonl"])
    assert ROWS // 10 <= left["scores.jsonl"].count(b"\n") < ROWS
    assert score(place, "killed").code == 0
    assert contents(place / "killed") == uninterrupted


def test_an_interrupted_command_goes_on(place: Path, uninterrupted: dict[str, bytes]) -> None:
    outcome = stop_the_command(place, "interrupted", signal.SIGINT)
    assert (outcome.code, outcome.out) == (130, "")
    assert "kept in interrupted: the same command resumes" in outcome.err
    assert score(place, "interrupted").code == 0
    assert contents(place / "interrupted") == uninterrupted


def drive(place: Path, output: str) -> None:
    subprocess.run([sys.executable, "driver.py", output, "0"], cwd=place, check=True, timeout=60)


def calls(place: Path, output: str) -> list[int]:
    """Which reports the metric was asked about, by number, in order."""
    lines = (place / f"{output}.calls").read_text("utf-8").splitlines()
    return [int(line.rpartition(" ")[2]) for line in lines]


@pytest.fixture(scope="module")
def driven(place: Path) -> dict[str, bytes]:
    drive(place, "driven")
    assert calls(place, "driven") == list(range(80))
    return contents(place / "driven")


def test_rows_that_are_finished_are_not_scored_again(place: Path, driven: dict[str, bytes]) -> None:
    command = [sys.executable, "driver.py", "slow", "0.01"]
    stop(command, place, place / "slow/scores.jsonl", signal.SIGKILL, lines=30)
    finished = (place / "slow/scores.jsonl").read_bytes().count(b"\n")
    before = calls(place, "slow")
    assert 30 <= finished <= len(before) <= finished + BATCH < 80
    drive(place, "slow")
    assert calls(place, "slow")[len(before) :] == list(range(finished, 80))
    assert contents(place / "slow") == driven


def test_a_second_process_is_refused(place: Path, driven: dict[str, bytes]) -> None:
    command = [sys.executable, "driver.py", "shared", "-1"]
    scores = place / "shared/scores.jsonl"
    arguments = ("score", "few.csv", "--metrics", "rouge_l", "--output", "shared")
    with subprocess.Popen(command, cwd=place, env=environment()) as first:
        while not scores.exists() or b"\n" not in scores.read_bytes():
            assert first.poll() is None, "it ended before another could come"
            time.sleep(0.01)
        for extra in ((), ("--overwrite",)):
            refused = histoeval(*arguments, *extra, cwd=place)
            assert (refused.code, refused.out) == (2, "")
            assert f"shared is being written by another run (process {first.pid} on" in refused.err
            assert "give another --output" in refused.err
        (place / "shared.go").touch()
        assert first.wait(timeout=60) == 0
    assert contents(place / "shared") == driven


@pytest.mark.parametrize("cut", [1, 400])
def test_half_a_line_is_scored_again(place: Path, driven: dict[str, bytes], cut: int) -> None:
    folder = place / f"cut-{cut}"
    folder.mkdir()
    whole = driven["scores.jsonl"]
    (folder / "run.json").write_bytes(driven["run.json"])
    (folder / "scores.jsonl").write_bytes(whole[:-cut])
    drive(place, folder.name)
    lost = whole[-cut:].count(b"\n")
    assert calls(place, folder.name) == list(range(80 - lost, 80))
    assert contents(folder) == driven

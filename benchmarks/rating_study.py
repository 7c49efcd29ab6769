"""A study of 3 raters and 60 pairs, driven in a headless browser while its server is killed twice.

Each rater scores by keyboard alone. The server is killed with SIGKILL once while a save is on its
way, and once while a rater is in the middle of a pair. Then every score must be there once, and
`histoeval agree` must read the export. `python -m benchmarks.rating_study [PAIRS]`
"""

from __future__ import annotations

import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from histoeval.web.study.plan import ExpertStudy, read_study
from histoeval.web.study.store import ratings_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

RATERS = ("anna", "ben", "chloe")
SITES = ("colon", "stomach", "breast", "kidney", "skin", "lung", "liver", "prostate")
FINDINGS = ("adenocarcinoma, grade 2", "chronic inflammation", "tubular adenoma", "no malignancy")
CRITERIA = "3234"
"""What is typed for the four criteria, each time."""


def write_study(folder: Path, pairs: int, raters: tuple[str, ...] = RATERS) -> Path:
    """A plan and its pairs: every second candidate is wrong."""
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "system", "case", "reference", "candidate"])
        for number in range(pairs):
            case, is_wrong = number // 2, number % 2
            site = SITES[case % len(SITES)]
            finding, said = (FINDINGS[(case + step) % len(FINDINGS)] for step in (0, is_wrong))
            reference = f"Specimen {case}, {site}, biopsy: {finding}. Margins are clear."
            candidate = f"Biopsy of the {site} (specimen {case}) shows {said}."
            system = ("careful", "careless")[is_wrong]
            writer.writerow([f"p{case}", system, f"c{case}", reference, candidate])
    plan = {"name": "Benchmark", "pairs": "pairs.csv", "raters": list(raters), "seed": 3}
    (folder / "STUDY.yaml").write_text(yaml.safe_dump(plan | {"output": "study"}), "utf-8")
    return folder / "STUDY.yaml"


class StudyServer:
    """`histoeval serve --study` as a process of its own, on one port, that can be killed."""

    def __init__(self, plan: Path) -> None:
        self.plan = plan
        self._process: subprocess.Popen[str] | None = None
        self.port = 0
        self.links: dict[str, str] = {}

    def start(self) -> None:
        """Start it and wait until it listens; the port stays the same after the first time."""
        command = [sys.executable, "-m", "histoeval", "serve", "--study", str(self.plan)]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/study/(\w+)/\?token=\S+", line):
                self.port = int(found[1])
                self.links[found[2]] = found[0]
            if line.startswith("Stop with"):
                return
        raise RuntimeError("the server did not start")

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextmanager
def started(plan: Path) -> Iterator[StudyServer]:
    """A server that is running, and ends with the block."""
    server = StudyServer(plan)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def type_answers(page: Page, score: float) -> None:
    """Type the score and the criteria of the pair that is open."""
    page.keyboard.press(str(int(score)))
    if score != int(score):
        page.keyboard.press(".")
    for level in CRITERIA:
        page.keyboard.press(level)


def mark_an_error(page: Page) -> None:
    """Mark two words of the candidate as a major invention, by keyboard."""
    for key in ("c", "ArrowRight", "Shift+ArrowRight", "m", "3", "Enter"):
        page.keyboard.press(key)


def wait_for_another_page(page: Page, before: str) -> None:
    """Wait until a save has led to the next pair, or to the list after the last one."""
    page.wait_for_url(lambda address: address != before, wait_until="load", timeout=60_000)


def scores_of(study: ExpertStudy, rater: str) -> list[float]:
    """What a rater will give to the pairs, in this rater's order: good to careful reports."""
    source = random.Random(rater)
    base = {"careful": 4.0, "careless": 1.5}
    spread = (-1, -0.5, 0, 0, 0.5, 1)
    return [base[pair.key[1]] + source.choice(spread) for pair in study.order(rater)]


def drive(server: StudyServer, study: ExpertStudy, executable: str) -> int:
    """Score everything, and kill the server twice; returns how many scores were typed."""
    from playwright.sync_api import sync_playwright

    count = len(study.pairs)
    typed = 0
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for rater in study.file.raters:
            page = browser.new_context().new_page()
            page.goto(server.links[rater])
            page.keyboard.press("Enter")
            for number, score in enumerate(scores_of(study, rater), start=1):
                if number == count // 2:  # close the browser, and come back by the link
                    page.context.close()
                    page = browser.new_context().new_page()
                    page.goto(server.links[rater])
                    page.keyboard.press("Enter")
                page.wait_for_url(f"**/pairs/{number}")
                type_answers(page, score)
                if number % 10 == 0:
                    mark_an_error(page)
                is_down = (rater, number) == (study.file.raters[1], count // 3)
                if is_down:  # in the middle of a pair
                    server.kill()
                before = page.url
                page.keyboard.press("Enter")
                if (rater, number) == (study.file.raters[0], count // 4):  # while it is being saved
                    server.kill()
                    is_down = True
                if is_down:
                    page.wait_for_timeout(1_000)
                    server.start()
                wait_for_another_page(page, before)
                typed += 1
            assert page.get_by_text(f"You have scored all {count} pairs").is_visible()
            page.context.close()
        browser.close()
    return typed


def check(study: ExpertStudy) -> tuple[int, int]:
    """How many scores there are, and how many were saved more than once; all must be as typed."""
    saved = doubled = 0
    for rater, found in ratings_of(study).items():
        expected = scores_of(study, rater)
        for pair, score in zip(study.order(rater), expected, strict=True):
            assert found.score_of(pair.key) == score, (rater, pair.key)
        saved += len(found.saved)
        doubled += sum(times > 1 for times in found.revisions.values())
    return saved, doubled


def main(pairs: int = 60) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    with tempfile.TemporaryDirectory() as name:
        plan = write_study(Path(name), pairs)
        study = read_study(plan)
        begun = time.perf_counter()
        with started(plan) as server:
            typed = drive(server, study, chromium)
        took = time.perf_counter() - begun
        saved, doubled = check(study)
        assert (saved, doubled) == (typed, 0), (typed, saved, doubled)
        print(f"{typed} scores typed, server killed twice: {saved} saved, {doubled} doubled")
        print(f"{took:.0f} s, {took / typed:.2f} s for each score")
        command = [sys.executable, "-m", "histoeval"]
        sheet = Path(name) / "study" / "export" / "sheet.csv"
        subprocess.run(
            [*command, "study", "export", str(plan)], check=True, stdout=subprocess.DEVNULL
        )
        agree = [*command, "agree", str(sheet), "--metrics", "bleu", "--scale", "0,5"]
        read = subprocess.run(agree, check=True, capture_output=True, text=True, env=os.environ)
        print(read.stdout[: read.stdout.index("Fitted line")])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

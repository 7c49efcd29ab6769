"""The first minute: the demo and what it says to do next, and a quickstart whose scripts run."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from histoeval.cli import start
from histoeval.resources import resource_bytes, resource_text
from tests.support.command import Command, environment
from tests.support.tables import from_table


@pytest.fixture
def shell(command: Command) -> Command:
    """Runs a line as it would be typed."""
    return lambda line: command(*shlex.split(line)[1:])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open."""
    found: list[str] = []
    monkeypatch.setattr("webbrowser.open", found.append)
    monkeypatch.setattr(start, "DEFAULT_METRICS", "rouge_l,chrf")  # all of them: first-minute
    return found


def test_the_demo_scores_writes_its_page_and_names_three_commands_that_run(
    shell: Command, tmp_path: Path, opened: list[str]
) -> None:
    done = shell("histoeval demo --output 'a demo'")
    assert done.code == 0, done.err
    assert "rouge_l" in done.out
    assert "written by language models" in done.out
    assert (tmp_path / "a demo" / "pairs.csv").read_bytes() == resource_bytes("examples/pairs.csv")
    page = (tmp_path / "a demo" / "results" / "report.html").read_text("utf-8")
    assert "breast-02" in page
    commands = re.findall(r"^  (histoeval .+)$", done.out.partition("Next:")[2], re.MULTILINE)
    assert [each.split()[1] for each in commands] == ["explain", "compare", "quickstart"]
    for command in commands:
        found = shell(command.replace("--show", "--metric rouge_l --show"))
        assert found.code == 0, found.err
    assert opened == [], "there is no terminal"


def test_a_demo_replaces_no_file(shell: Command, tmp_path: Path, opened: list[str]) -> None:
    (tmp_path / "pairs.csv").write_text("id,reference,candidate\n1,mine,mine\n")
    refused = shell("histoeval demo --output .")
    assert (refused.code, refused.out) == (2, "")
    assert "pairs.csv exists and is another file: name another folder" in refused.err
    assert "mine" in (tmp_path / "pairs.csv").read_text()


@from_table
def test_a_page_is_opened_where_somebody_can_see_it(
    platform: str, variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert start._has_display() is expected
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert not start._has_display()


def test_no_open_opens_nothing(
    shell: Command, tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "_has_display", lambda: True)
    shell("histoeval demo --no-open")
    assert opened == []
    shell("histoeval demo")
    assert opened == [(tmp_path / "histoeval-demo" / "results" / "report.html").as_uri()]


def test_a_quickstart_refuses_a_folder_with_something_in_it(shell: Command, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert shell("histoeval quickstart mine").code == 0
    before = {file.name: file.read_bytes() for file in (tmp_path / "mine").iterdir()}
    assert sorted(before) == ["README.md", "pairs.csv", "score.py", "score.sh", "settings.toml"]
    refused = shell("histoeval quickstart mine")
    assert refused.code == 2
    assert "mine already exists and is not empty" in refused.err
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "mine").iterdir()}
    (tmp_path / "file").touch()
    assert "file already exists" in shell("histoeval quickstart file").err


def test_both_scripts_of_a_quickstart_have_the_same_settings() -> None:
    settings = tomllib.loads(resource_text("examples/quickstart/settings.toml"))
    script = resource_text("examples/quickstart/score.sh.txt")
    command = "histoeval score {data} --metrics {metrics} --output {output} ||".format(**settings)
    assert command in script


@pytest.mark.slow
def test_the_scripts_of_a_quickstart_run_from_anywhere(shell: Command, tmp_path: Path) -> None:
    shell("histoeval quickstart 'my reports'")
    folder = tmp_path / "my reports"
    table = (folder / "pairs.csv").read_text("utf-8")
    assert table.startswith("id,reference,candidate_good,candidate_bad\n")
    command = tmp_path / "bin" / "histoeval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m histoeval "$@"\n')
    command.chmod(0o700)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    for program, script in ((sys.executable, "score.py"), ("sh", "score.sh")):
        ran = subprocess.run(
            [program, folder / script],
            cwd=tmp_path,
            env=environment(PATH=path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "report.html" in ran.stdout
    assert (folder / "results" / "scores.jsonl").read_text().count("\n") == 2 * start.CASES

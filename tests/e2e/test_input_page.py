"""The files and commands of docs/input.md, as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from histoeval.cli.main import app
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "input.md").read_text("utf-8")
FILE = re.compile(r"`(\w+\.\w+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ histoeval (.*(?:truth|export).*)$", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILE.findall(PAGE):
        (tmp_path / name).write_text(content, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, shlex.split(command))
    return result.exit_code, " ".join(result.output.split())


def test_every_command_with_files_of_the_page_runs(folder: Path) -> None:
    commands = [line for line in COMMAND.findall(PAGE) if "#" not in line]
    found = {command: run(command) for command in commands}
    first = "score --truth truth.json team_a.json --metrics rouge_l"
    assert {command: code for command, (code, _) in found.items()} == {
        command: int(command == first) for command in commands
    }
    assert len(commands) == 6
    assert "has a report for 'PIT_01.svs'" in found[first][1]
    assert "ids taken for those of the truth: 1" in found[f"{first} --loose-ids"][1]
    assert "Tubular adenoma" in found["extract export.hl7"][1]
    best, mean = (
        json.loads((folder / name / "summary.json").read_text("utf-8"))["metrics"]["rouge_l"]
        for name in ("best", "mean")
    )
    assert best["systems"]["answers"]["mean"] > mean["systems"]["answers"]["mean"]


def test_the_python_of_the_page_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    assert "rouge_l" in names["results"].summary["metrics"]  # type: ignore[attr-defined]

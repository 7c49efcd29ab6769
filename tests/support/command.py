"""The command as a user runs it, without a terminal."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from histoeval.cli.main import app, main

PROGRAM = (sys.executable, "-m", "histoeval.cli.main")
LOUD = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS")
"""What would make the terminal libraries assume a terminal, or a width of it."""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]
"""The fixture `command`: `histoeval` with the given words."""


def environment(**changes: str) -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in LOUD} | changes


def python_path(first: Path) -> str:
    """Where Python looks for packages, a folder of plug-ins first."""
    return os.pathsep.join(filter(None, [str(first), os.environ.get("PYTHONPATH")]))


def histoeval(*arguments: str | Path, cwd: Path, **changes: str) -> Outcome:
    """Run it to the end; it must not print a traceback, a colour or a progress bar."""
    ran = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    return polite(Outcome(ran.returncode, ran.stdout, ran.stderr))


def histoeval_here(
    *arguments: str,
    cwd: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Outcome:
    """Run it in this process, which saves the second that a start takes."""
    return polite(Outcome(_exit_code(arguments, cwd, monkeypatch), *capsys.readouterr()))


def _exit_code(arguments: Sequence[str], cwd: Path, patch: pytest.MonkeyPatch, **set_: str) -> int:
    for name in LOUD:
        patch.delenv(name, raising=False)
    for name, value in set_.items():
        patch.setenv(name, value)
    patch.chdir(cwd)
    patch.setattr(sys, "argv", ["histoeval", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def polite(outcome: Outcome) -> Outcome:
    """The outcome, checked for tracebacks, unexpected errors, colours and progress bars."""
    for text in (outcome.out, outcome.err):
        assert "Traceback" not in text, text
        assert "unexpected error" not in text, text
        assert not set(text) & {"\x1b", "\r"}, text
    return outcome


def invoked(*arguments: object) -> Result:
    """Run it in this process and keep its exception, in a window of 200 columns."""
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def run_in(folder: Path, *arguments: str, **changes: str) -> Outcome:
    """Run it in this process and a folder, with changes of the environment."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _exit_code(arguments, folder, patch, **changes)
    return polite(Outcome(code, out.getvalue(), err.getvalue()))

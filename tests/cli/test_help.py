"""The command takes in one verb only, and nobody can tell."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from histoeval.cli.main import app, app_for


def said(command: typer.Typer, *arguments: str) -> str:
    done = CliRunner().invoke(command, arguments, env={"COLUMNS": "100", "TERM": "dumb"})
    return f"{done.exit_code} {done.output}"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("--version",),
        ("score", "--help"),
        ("trust", "--help"),
        ("trust", "tune", "--help"),
        ("experiment",),
        ("scroe",),
        ("--unknown", "score"),
    ],
)
def test_what_is_said_is_what_the_whole_command_says(arguments: tuple[str, ...]) -> None:
    assert said(app_for(arguments), *arguments) == said(app, *arguments)


def test_every_verb_is_listed() -> None:
    shown = said(app_for(["--help"]), "--help")
    for verb in ("score", "judge", "slide", "generate", "trust", "experiment", "entail"):
        assert f" {verb} " in shown


@pytest.mark.parametrize("option", ["body", "concurrency", "rpm", "tpm", "timeout", "attempts"])
def test_an_option_of_asking_is_the_same_in_every_verb_that_asks(option: str) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    verbs = [commands["generate"], commands["trust"], commands["judge"].commands["file"]]
    told = [
        (found.opts, found.help, found.default, found.min, found.max, found.rich_help_panel)
        for verb in verbs
        for found in verb.params
        if found.name == option
    ]
    assert told == [told[0]] * 3

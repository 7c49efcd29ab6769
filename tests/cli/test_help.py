"""Every verb explains itself with an example, and asking for help imports nothing heavy."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from histoeval.cli.main import PANELS, VERBS, app, load_verb
from tests.support.command import Command

README = Path(__file__).parents[2] / "README.md"
HEAVY = ("torch", "onnxruntime", "polars", "scipy", "matplotlib", "transformers")


def shown(*arguments: str) -> str:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100", "TERM": "dumb"}).output


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """The commands that do something, each with the words that call it."""
    children = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield name, command
    for child, each in children.items():
        yield from leaves(f"{name} {child}", each)


COMMANDS = {name: each for verb in VERBS for name, each in leaves(verb, load_verb(verb))}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_verb_has_help_with_an_example_that_it_can_parse(name: str) -> None:
    sentence, *_, examples = COMMANDS[name].help.split("\n\n")
    assert sentence.endswith(".")
    title, *lines = examples.splitlines()
    assert title == "Examples:"
    words = name.removesuffix(" file").split()
    for line in lines:
        assert len(line) <= 76, "it would be wrapped in a terminal of 80 columns"
        program, *given = shlex.split(line)
        assert (program, given[: len(words)]) == ("histoeval", words)
        known = {name for each in COMMANDS[name].params for name in each.opts}
        assert {word for word in given if word.startswith("--")} <= known
    for each in COMMANDS[name].params:
        assert each.help, f"{each.name} has no help"


@pytest.mark.parametrize("verb", VERBS)
def test_the_list_of_verbs_has_a_sentence_for_each(verb: str) -> None:
    assert f" {verb} " in shown("--help")
    assert VERBS[verb].endswith(".")
    assert COMMANDS.get(verb, load_verb(verb)).help


@pytest.mark.parametrize("panel", PANELS)
def test_the_verbs_stand_in_the_panel_of_what_they_are_for(panel: str) -> None:
    box = shown("--help").split(f"╭─ {panel} ")[1].split("╰")[0]
    listed = [line.split()[1] for line in box.splitlines()[1:] if line[2:3].strip()]
    assert listed == list(PANELS[panel])


@pytest.mark.parametrize("panel", PANELS)
def test_the_readme_lists_all_verbs_in_the_same_groups(panel: str) -> None:
    table = README.read_text("utf-8").split(f"| **{panel}** |")[1].split("| **")[0]
    cells = [row.split("|")[2] for row in table.split("\n\n")[0].splitlines()[1:]]
    named = [
        re.sub("^histoeval ", "", code).split()[0]
        for code in re.findall("`(.+?)`", " ".join(cells))
    ]
    assert {name for name in named if name in VERBS} == set(PANELS[panel])


@pytest.mark.parametrize(("given", "near"), [("scroe", "'score'"), ("evalute", "'evaluate'")])
def test_an_unknown_verb_suggests_the_nearest_one(given: str, near: str) -> None:
    assert f"No such command '{given}'. Did you mean {near}" in shown(given)


def test_a_verb_of_the_research_package_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setattr("histoeval.cli.main.entry_points", lambda **_: ())
    outcome = command("train", "reader")
    assert outcome.code == 2
    assert "comes with the research package: pip install 'histoeval[research]'" in outcome.err


def test_an_unknown_option_suggests_the_nearest_one() -> None:
    message = " ".join(shown("score", "a.csv", "--outptu", "b").replace("│", "").split())
    assert "No such option: --outptu" in message
    assert "--output" in message


@pytest.mark.parametrize("option", ["body", "concurrency", "rpm", "tpm", "timeout", "attempts"])
def test_an_option_for_requests_is_the_same_in_every_verb_that_sends_some(option: str) -> None:
    declared = [
        (each.opts, each.help, each.default, each.min, each.max, each.rich_help_panel)
        for verb in ("generate", "trust", "judge file")
        for each in COMMANDS[verb].params
        if each.name == option
    ]
    assert declared == [declared[0]] * 3


def heavy_after(program: str) -> str:
    """Which heavy libraries a program has imported."""
    whole = f"{program}\nimport sys; print([name for name in {HEAVY} if name in sys.modules])"
    return subprocess.check_output([sys.executable, "-c", whole], text=True).strip()


def test_help_imports_no_verb_and_nothing_heavy() -> None:
    program = (
        "from typer.testing import CliRunner; from histoeval.cli.main import app; import sys\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert 'histoeval.cli.score' not in sys.modules"
    )
    assert heavy_after(program) == "[]"


def test_the_help_of_a_verb_imports_nothing_heavy() -> None:
    program = "from histoeval.cli.main import VERBS, load_verb\nfor verb in VERBS: load_verb(verb)"
    assert heavy_after(program) == "[]"

"""Tab completes verbs, options, choices and metrics, in every shell, and quickly."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from histoeval.cli.main import VERBS
from tests.cli.test_help import heavy_after
from tests.support.command import Command, environment


@pytest.fixture
def offered(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What the command offers a shell: the protocol that the scripts of Typer speak."""

    def complete(*words: str, shell: str = "bash") -> list[str]:
        settings = {
            "_HISTOEVAL_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": "\n".join(["histoeval", *words]),
            "COMP_CWORD": str(len(words)),
            "_TYPER_COMPLETE_ARGS": " ".join(["histoeval", *words]),
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        done = command()
        assert (done.code, done.err) == (0, "")
        return done.out.splitlines()

    return complete


def test_verbs_and_verbs_of_verbs(offered: Callable[..., list[str]]) -> None:
    assert offered("") == list(VERBS)
    assert offered("sc") == ["score"]
    assert offered("corpus", "s") == ["stats", "split"]


def test_options_of_a_verb_and_their_choices(offered: Callable[..., list[str]]) -> None:
    assert "--metrics" in offered("score", "--me")
    assert offered("score", "pairs.csv", "--engine", "") == ["local", "ray", "inline"]
    assert offered("report", "run", "--to", "x") == ["xlsx"]


def test_metrics_one_by_one_and_after_a_comma(offered: Callable[..., list[str]]) -> None:
    assert offered("score", "--metrics", "conc") == ["concordance"]
    assert "bleu,rouge_l" in offered("score", "--metrics", "bleu,rou")
    assert offered("explain", "--metric", "rubric") == ["rubric_offline"]
    assert "hare" in offered("metrics", "ha")


def test_a_file_is_left_to_the_shell(offered: Callable[..., list[str]]) -> None:
    assert [each for each in offered("score", "pai") if each] == []


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("zsh", '"concordance":"what both reports state, as experts weigh it"'),
        ("fish", "concordance\twhat both reports state, as experts weigh it"),
    ],
)
def test_other_shells_show_more(shell: str, line: str, offered: Callable[..., list[str]]) -> None:
    assert line in "\n".join(offered("score", "--metrics", "conc", shell=shell))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_shown_and_installed_for_the_shell_that_is_named(
    shell: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "")  # undone afterwards
    assert f"complete_{shell}" in command("--show-completion", shell).out
    assert command("--install-completion", shell).code == 0
    written = "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert f"_HISTOEVAL_COMPLETE=complete_{shell}" in written


def test_an_unknown_shell_is_refused(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "")
    done = command("--show-completion", "zhs")
    assert done.code == 2
    assert "'--show-completion': 'zhs' is not one of" in done.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_by_the_script(tmp_path: Path) -> None:
    file = tmp_path / "histoeval"
    program = "import sys; sys.argv[0] = 'histoeval'; from histoeval.cli.main import main; main()"
    run = shlex.join([sys.executable, "-c", program])
    file.write_text(f'#!/bin/sh\nexec {run} "$@"\n')
    file.chmod(0o700)
    script = (
        'eval "$(histoeval --show-completion bash)"; COMP_WORDS=(histoeval score --metrics '
        'bleu,conc); COMP_CWORD=3; _histoeval_completion histoeval; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "--norc", "-c", script]
    assert subprocess.check_output(words, env=environment(PATH=path), text=True) == (
        "bleu,concordance\n"
    )


def test_completing_a_verb_imports_no_verb_and_metrics_nothing_heavy() -> None:
    program = (
        "import os, sys\n"
        "os.environ |= {'_HISTOEVAL_COMPLETE': 'complete_bash', 'COMP_CWORD': '%d', "
        "'COMP_WORDS': %r}\nsys.argv[:] = ['histoeval']\n"
        "from histoeval.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    )
    verbs = program % (1, "histoeval\nsc") + "assert 'histoeval.cli.score' not in sys.modules"
    assert heavy_after(verbs) == "score\n[]"
    metrics = program % (3, "histoeval\nscore\n--metrics\nconc")
    assert heavy_after(metrics) == "concordance\n[]"

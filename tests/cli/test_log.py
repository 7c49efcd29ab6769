"""`histoeval log`: a finished run in other tools, from the command line."""

from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.score_runs import make_score_run


@pytest.mark.heavy
def test_a_run_becomes_logs_of_inspect(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("inspect_ai")
    make_score_run(tmp_path / "run")
    capsys.readouterr()
    ran = command("log", "run", "--to", "inspect", "--output", "logs")
    assert (ran.code, ran.out) == (0, "Written: logs/a.eval, logs/b.eval\n")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("run", "--to", "mlflow", "--output", "logs"), "--output goes with --to inspect"),
        (("run", "--to", "inspect", "--no-rows"), "--no-rows does not go with --to inspect"),
        (("nowhere", "--to", "inspect"), "nowhere does not exist"),
        (("run/summary.json", "--to", "inspect"), "is not the results of a run"),
    ],
)
def test_what_cannot_be_logged_is_refused_in_a_sentence(
    words: tuple[str, ...],
    complaint: str,
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "inspect" in words:
        pytest.importorskip("inspect_ai")
    make_score_run(tmp_path / "run", "rouge_l")
    capsys.readouterr()
    ran = command("log", *words)
    assert ran.code == 2
    assert complaint in ran.err

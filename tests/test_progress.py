"""The bar while something takes its time."""

import io
import sys

import pytest

from histoeval import progress
from histoeval.progress import step_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, patience: float = 0.0, *, fails: bool
) -> str:
    """What two steps of three leave on stderr."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "DELAY_S", patience)
    with step_progress("training [x]", 3) as tell:
        tell(1)
        tell(2, "loss [0.5]")
        if fails:
            raise ValueError("stop")
    return stream.getvalue()


def test_nobody_is_told_of_steps_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown(monkeypatch, io.StringIO(), fails=False) == ""


@pytest.mark.parametrize(("patience", "is_shown"), [(0.0, True), (60.0, False)])
def test_a_bar_is_shown_only_for_what_takes_its_time(
    monkeypatch: pytest.MonkeyPatch, patience: float, is_shown: bool
) -> None:
    text = shown(monkeypatch, Terminal(), patience, fails=False)
    assert ("training [x]" in text) == ("loss [0.5]" in text) == is_shown


def test_a_bar_is_taken_away_when_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    with pytest.raises(ValueError, match="stop"):
        shown(monkeypatch, stream, fails=True)
    assert stream.getvalue().endswith(("\x1b[2K", "\x1b[?25h"))

"""No escape sequence from a file, a name or a server reaches a terminal; tried on a real one."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

import pytest
import typer
from rich.text import Text

from histoeval.console import Console, guarded
from histoeval.errors import TRACEBACK
from histoeval.table import ResultTable
from tests.support.command import environment
from tests.support.fake_server import Call, Loopback, Wrong, serving

EVIL = "x\x1b[2J\x1b[31mRED\x1b]0;owned\x07\x1b]8;;evil\x07\x9b2J\x08\x08\ry\u202egnp\u2066"
# what rich writes: colours, the moves of a progress bar, and the line ends of a terminal
OURS = re.compile(r"\x1b\[(?:\d+(?:;\d+)*)?m|\x1b\[\?25[lh]|\r?(?:\x1b\[1A)?\x1b\[2K|\r(?=\n)")
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

DRIVER = """
import json, sys
from histoeval.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["histoeval", *words]
    try:
        main()
    except SystemExit as stopped:
        print(f"=== {stopped.code}", flush=True)
"""


def on_a_terminal(commands: list[list[str]], cwd: Path, **changes: str) -> list[str]:
    """All that a terminal is sent by each command; they run one after another in one process."""
    main_end, terminal = pty.openpty()
    ran = subprocess.Popen(
        [sys.executable, "-c", DRIVER, json.dumps(commands)],
        cwd=cwd,
        env=environment(TERM="xterm-256color", COLUMNS="200", **changes),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    sent = bytearray()
    try:
        while piece := os.read(main_end, 65536):
            sent += piece
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(main_end)
        ran.wait(60)
    return re.split(r"=== \d+\r\n", sent.decode("utf-8"))[:-1]


@pytest.fixture
def evil_server() -> Iterator[Loopback]:
    """The first question is redirected to an evil place; all others are refused in evil words."""

    def fault(call: Call) -> Wrong:
        if call.body["model"] == "redirect":
            place = "http://x" + EVIL.replace("\r", "").encode().decode("latin-1")
            return Wrong(status=307, headers=(("Location", place),))
        return Wrong(status=400, raw=json.dumps({"error": {"message": EVIL}}).encode())

    with serving(Loopback(fault=fault)) as server:
        yield server


def test_nothing_that_comes_from_outside_steers_the_terminal(
    tmp_path: Path, evil_server: Loopback
) -> None:
    name = f"pairs {EVIL}.jsonl"
    rows = [
        {"id": f"{EVIL}{n}", "system": f"{EVIL}{system}", "reference": "Benign.", "candidate": text}
        for n in range(4)
        for system, text in (("one", f"Benign polyp {n}."), ("two", "Benign." if n else ""))
    ]
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    sheet = "".join(json.dumps({**row, EVIL: n % 5}) + "\n" for n, row in enumerate(rows))
    (tmp_path / "sheet.jsonl").write_text(sheet, "utf-8")
    passage = {"id": EVIL, "text": EVIL, "entities": [{"start": 0, "end": 1, "type": EVIL}]}
    good = {"id": "g", "text": "Benign.", "entities": [], "source": EVIL}
    lines = json.dumps(passage) + "\n" + json.dumps(good) + "\n"
    (tmp_path / "corpus.jsonl").write_text(lines, "utf-8")
    (tmp_path / "wrong.yaml").write_text(f"{json.dumps(EVIL)}: 1\n", "utf-8")
    asked = ["--endpoint", evil_server.url, "--attempts", "1", "--no-cache", "--model"]
    cache = {"HISTOEVAL_CACHE": str(tmp_path / "cache")}
    commands = [
        ["score", name, "--metrics", "rouge_l", "--output", "out"],
        ["compare", "out", "--metric", "rouge_l", "--resamples", "100", "--permutations", "100"],
        ["agree", "sheet.jsonl", "--metrics", "rouge_l", "--resamples", "100"],
        ["corpus", "stats", "corpus.jsonl"],
        ["judge", name, *asked, "redirect"],
        ["judge", name, *asked, "refuse"],
        ["explain", name, "--id", EVIL, "--metric", "rouge_l"],
        ["score", f"no such {EVIL}.csv"],
        ["score", name, "--metrics", EVIL],
        ["score", f"--{EVIL}", name],
        [EVIL],
        ["trust", "--reports", name, "--policy", "wrong.yaml", "--output", EVIL],
        ["train", "concordance", "wrong.yaml", "--output", EVIL],
        ["metrics", EVIL],
        ["doctor", EVIL],
    ]
    outputs = on_a_terminal(commands, tmp_path, **cache)
    assert len(outputs) == len(commands)
    for words, sent in zip(commands, outputs, strict=True):
        text = OURS.sub("", sent)
        assert not BAD.search(text), (words, ascii(text))
        assert "\x1b[31mRED" not in sent, words
    assert "␛[2J␛[31mRED␛]0;owned" in outputs[0]
    assert "No such option" in outputs[9]


def test_an_unexpected_error_and_its_traceback_are_made_visible(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from histoeval.cli import main

    def fail() -> None:
        raise RuntimeError(EVIL)

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(SystemExit):
        main.main()
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert not BAD.search(err)


def test_a_table_keeps_its_own_colours_and_shows_those_of_others() -> None:
    rows: list[list[str | Text]] = [[EVIL, Text(EVIL, "red")]]
    sent = StringIO()
    Console(file=sent, force_terminal=True, width=200).print(
        ResultTable(EVIL, ["name", EVIL], rows)
    )
    assert "\x1b[31m" in sent.getvalue()
    assert not BAD.search(OURS.sub("", sent.getvalue()))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_what_is_printed_in_any_way_is_made_visible_in_any_encoding(encoding: str) -> None:
    for way in (print, typer.echo, lambda text: sys.stderr.writelines([text, "\n"])):
        raw = BytesIO()
        stream = TextIOWrapper(raw, encoding, write_through=True)
        with redirect_stdout(stream), redirect_stderr(stream), guarded():
            way(EVIL)
        text = raw.getvalue().decode(encoding)
        assert not BAD.search(text), ascii(text)
        assert "\\u241b" in text or "␛" in text


def test_progress_bars_of_other_libraries_may_move() -> None:
    sent = StringIO()
    with redirect_stderr(sent), guarded():
        sys.stderr.write("\r 10%|#   |")
        sys.stderr.write("\x1b[A")
        sys.stderr.write("\x1b[A\x1b[2J")
    assert sent.getvalue() == "\r 10%|#   |\x1b[A␛[A␛[2J"


def test_text_of_every_language_is_printed_as_it_is() -> None:
    text = "naïve 皮膚 الجلد 😀\tñ\n"
    sent = StringIO()
    with redirect_stdout(sent), guarded():
        sys.stdout.write(text)
    assert sent.getvalue() == text

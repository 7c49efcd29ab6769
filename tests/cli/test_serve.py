"""`histoeval serve`: the link works, and whatever is wrong is said in a sentence."""

import importlib.util
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

import httpx2

from tests.support.command import PROGRAM, Command, environment

LINK = re.compile(r"Open (http://127\.0\.0\.1:\d+/\?token=\S{32})")


def test_the_printed_link_opens_the_runs(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "serve", str(tmp_path), "--port", "0"],
        stdout=subprocess.PIPE,
        env=environment(PYTHONUNBUFFERED="1"),
        encoding="utf-8",
    ) as server:
        assert server.stdout is not None
        (link,) = LINK.findall(server.stdout.readline())
        with httpx2.Client(follow_redirects=True, trust_env=False) as client:
            answer = client.get(link, timeout=60)
            assert answer.status_code == 200
            assert "No runs yet" in answer.text
            assert client.get(link.partition("?")[0]).status_code == 200
        assert httpx2.get(link.partition("?")[0], trust_env=False).status_code == 401
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 0
        assert server.stdout.read() == "Stop with Ctrl+C.\n"


@pytest.fixture
def refused(command: Command) -> Callable[..., str]:
    """What `histoeval serve .` with further words says when it does not start."""

    def said(*words: str) -> str:
        found = command("serve", *(words if "none" in words else (".", *words)))
        assert found.code == 2
        return found.err

    return said


ELSEWHERE = "this machine has no such address: correct --host, or leave it out ("


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--host 0.0.0.0",
            "--host 0.0.0.0 would let other machines read the reports; add --allow-others",
        ),
        ("--host ::", "--host :: would let other machines read the reports"),
        ("--host localhost.example", "would let other machines read the reports"),
        ("--host 192.0.2.1 --allow-others --port 0", ELSEWHERE),
        ("--host nowhere.invalid --allow-others --port 0", ELSEWHERE),
        ("none", "none is not a folder"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused_with_the_cure(
    words: str, said: str, refused: Callable[..., str]
) -> None:
    message = refused(*words.split())
    assert said in message
    assert "--port" not in message


def test_a_port_that_is_taken_is_named(refused: Callable[..., str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused("--port", port)
    assert f"port {port}" in said
    assert "--port 0" in said


def test_the_extra_is_named(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def absent(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "uvicorn" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    for name in [name for name in sys.modules if name.startswith("histoeval.web")]:
        monkeypatch.delitem(sys.modules, name)
    said = refused()
    assert "uvicorn not installed" in said
    assert "pip install 'histoeval[web]'" in said

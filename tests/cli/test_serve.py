"""`histoeval serve`: the link works, and whatever is wrong is said in a sentence."""

from __future__ import annotations

import importlib.util
import re
import signal
import socket
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

import httpx2

from tests.support.command import PROGRAM, environment, histoeval_here

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


def refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *words: str | Path,
) -> str:
    found = histoeval_here(
        "serve", *map(str, words), cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys
    )
    assert found.code == 2
    return found.err


def test_another_address_needs_an_explicit_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(tmp_path, monkeypatch, capsys, tmp_path, "--host", "0.0.0.0")
    assert "--host 0.0.0.0 would let other machines read the reports; add --allow-others" in said


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_of_another_machine_is_not_blamed_on_the_port(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (tmp_path, "--host", host, "--allow-others", "--port", "0")
    said = refused(tmp_path, monkeypatch, capsys, *words)
    assert "this machine has no such address: correct --host" in said
    assert "--port" not in said


def test_every_address_that_only_this_machine_reaches_is_its_own() -> None:
    from histoeval.web.server import _is_loopback

    own = ["127.0.0.1", "127.0.0.2", "::1", "localhost"]
    others = ["0.0.0.0", "::", "", "192.0.2.1", "localhost.example"]
    assert all(map(_is_loopback, own))
    assert not any(map(_is_loopback, others))


def test_a_port_that_is_taken_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused(tmp_path, monkeypatch, capsys, tmp_path, "--port", port)
    assert f"port {port}" in said
    assert "--port 0" in said


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(tmp_path, monkeypatch, capsys, tmp_path / "none")
    assert "none is not a folder" in said


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec

    def absent(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "uvicorn" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", absent)
    for name in [name for name in sys.modules if name.startswith("histoeval.web")]:
        monkeypatch.delitem(sys.modules, name)
    said = refused(tmp_path, monkeypatch, capsys, tmp_path)
    assert "uvicorn not installed" in said
    assert "pip install 'histoeval[web]'" in said

"""The command in a folder, with a server to ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Outcome, histoeval_here
from tests.support.fake_server import Loopback


class Here:
    """Commands in a folder with a table of pairs, and a server to ask."""

    def __init__(
        self,
        server: Loopback,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.server, self.folder = server, folder
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.who = ("--endpoint", server.url, "--model", "m")

    def __call__(self, *arguments: str) -> Outcome:
        return histoeval_here(
            *arguments, cwd=self.folder, monkeypatch=self._monkeypatch, capsys=self._capsys
        )

    def judge(self, *arguments: str, output: str = "out") -> Outcome:
        return self("judge", "pairs.csv", *self.who, "--output", output, *arguments)

    def read(self, name: str, output: str = "out") -> Any:
        return json.loads((self.folder / output / name).read_text("utf-8"))

    def lines(self, name: str, output: str = "out") -> list[Any]:
        text = (self.folder / output / name).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

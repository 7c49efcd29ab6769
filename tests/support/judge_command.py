"""The command in a folder, with a server to ask."""

import json
from pathlib import Path
from typing import Any

from tests.support.command import Outcome, run_in
from tests.support.fake_server import Loopback


class Here:
    """Commands in a folder with a table of pairs, and a server to ask."""

    def __init__(self, server: Loopback, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.who = ("--endpoint", server.url, "--model", "m")

    def __call__(self, *arguments: str) -> Outcome:
        return run_in(self.folder, *arguments)

    def judge(self, *arguments: str, output: str = "out") -> Outcome:
        return self("judge", "pairs.csv", *self.who, "--output", output, *arguments)

    def read(self, name: str, output: str = "out") -> Any:
        return json.loads((self.folder / output / name).read_text("utf-8"))

    def lines(self, name: str, output: str = "out") -> list[Any]:
        text = (self.folder / output / name).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

"""Which commands have written results, when and by what: `commands.jsonl` beside the cache.

A line is added each time that a run begins or resumes. It is not in the folder of the run, whose
files have no date: there the same command leaves the same bytes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from histoeval.callers import current_caller
from histoeval.io.writing import make_folder
from histoeval.runtime.audit import cache_folder
from histoeval.version import __version__


def journal() -> Path:
    """The file that commands are noted in."""
    return cache_folder() / "commands.jsonl"


def command_line() -> str:
    """The command as it was given, so that it can be repeated; addresses without their query."""
    words = [re.sub(r"(https?://[^?\s]*)\?\S*", r"\1", word) for word in sys.argv[1:]]
    return shlex.join(["histoeval", *words])


def note_command(place: Path) -> None:
    """Note the command that writes results here; a run does not fail where that cannot be done."""
    caller = current_caller()
    is_shell = caller is not None and caller.is_shell
    line = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "place": str(place.resolve()),
        "command": command_line() if is_shell else "called from Python",
        "histoeval": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    with suppress(OSError):
        make_folder(journal().parent)
        file = os.open(journal(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{json.dumps(line)}\n".encode())
        finally:
            os.close(file)


def read_commands(place: Path) -> list[dict[str, Any]]:
    """The commands that have written results here, the first of them first."""
    with suppress(OSError):
        lines = journal().read_bytes().splitlines()
        return [found for each in lines if (found := _of_place(each, str(place.resolve())))]
    return []


def _of_place(line: bytes, place: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        found = json.loads(line)
        if isinstance(found, dict) and found.get("place") == place and "command" in found:
            return found
    return None

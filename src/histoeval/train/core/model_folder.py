"""The folder of a trained model: written whole or not at all, and found again when it is there.

While a model is trained its folder holds `checkpoint.pt` and nothing else; the model itself is
put together in a draft folder beside it, `results.json` last, and takes its place at the end.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from histoeval.errors import OutputError
from histoeval.io.store import write_json, writing_to

CHECKPOINT = "checkpoint.pt"
RESULTS = "results.json"
CARD = "README.md"


class ModelFolder:
    """A folder that a trained model goes to."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.checkpoint = self.path / CHECKPOINT
        self.draft = self.path.with_name(f"{self.path.name}.part")

    def finished(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """The results of a training that has come to its end here, if it was this one."""
        with writing_to(self.path):
            if (self.draft / RESULTS).exists():
                self._take_place()
            if not (self.path / RESULTS).exists():
                self._refuse_what_is_not_ours()
                return None
            found = self._results()
        before, now = found.get("request", {}), json.loads(json.dumps(request))
        if different := _different(before, now):
            raise OutputError(
                f"{self.path} holds another training (different: {', '.join(different)}); "
                "give another --output, or --overwrite to replace it"
            )
        return found

    def clear(self) -> None:
        """Remove what an earlier training left; a folder that holds something else is refused."""
        with writing_to(self.path):
            if (self.path / RESULTS).exists():
                self._results()
            else:
                self._refuse_what_is_not_ours()
            for folder in (self.path, self.draft):
                if folder.exists():
                    shutil.rmtree(folder)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """An empty draft folder; what fails while it is filled leaves nothing behind."""
        with writing_to(self.path):
            shutil.rmtree(self.draft, ignore_errors=True)
            self.draft.mkdir(parents=True)
            try:
                yield self.draft
            finally:
                if not (self.draft / RESULTS).exists():
                    shutil.rmtree(self.draft, ignore_errors=True)

    def finish(self, results: Mapping[str, Any], card: str) -> None:
        """Put the card and the results to the draft and the draft in its place."""
        with writing_to(self.path):
            (self.draft / CARD).write_text(card, "utf-8")
            write_json(self.draft / RESULTS, results)
            self._take_place()

    def _take_place(self) -> None:
        """Rename the draft; a run that is killed in between does it when it starts again."""
        if self.path.exists():
            self.checkpoint.unlink(missing_ok=True)
            self.checkpoint.with_name(f"{CHECKPOINT}.part").unlink(missing_ok=True)
            self.path.rmdir()
        self.draft.rename(self.path)

    def _refuse_what_is_not_ours(self) -> None:
        if self.path.is_file():
            raise OutputError(f"{self.path} is a file; a model needs a folder")
        ours = {CHECKPOINT, f"{CHECKPOINT}.part"}
        if self.path.exists() and {file.name for file in self.path.iterdir()} - ours:
            raise OutputError(
                f"{self.path} holds files that are not of a training; give another --output"
            )

    def _results(self) -> dict[str, Any]:
        try:
            found = json.loads((self.path / RESULTS).read_text("utf-8"))
        except ValueError as error:
            raise OutputError(f"{self.path / RESULTS} cannot be read: {error}") from error
        if not isinstance(found, dict) or not isinstance(found.get("request"), dict):
            raise OutputError(f"{self.path / RESULTS} does not say what was trained")
        return found


def is_finished(path: Path) -> bool:
    """Whether a training has come to its end in this folder."""
    return (path / RESULTS).exists()


def _different(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The settings that differ, by name."""
    flat = [
        {**request, **request.get("settings", {}), **request.get("data", {}), "settings": 0}
        for request in (before, now)
    ]
    names = {name for request in flat for name in request} - {"settings", "data"}
    return sorted(name for name in names if flat[0].get(name) != flat[1].get(name))

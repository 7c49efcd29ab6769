"""What the steps of a training leave behind, each known by all that it depends on.

A step has a folder with `step.json`: its identity, whether it is done, and what is to be known of
its outcome. One that is done is not run again; one that was stopped goes on with what its folder
holds; one whose identity has changed begins anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from histoeval.errors import OutputError
from histoeval.io.store import write_json, writing_to
from histoeval.train.core.model_folder import CHECKPOINT
from histoeval.train.hare_bench.config import identity_of

RECORD = "step.json"


class TrainingStep:
    """One step: where its files lie, and what makes it the same as another."""

    def __init__(self, folder: Path, request: Mapping[str, Any]) -> None:
        self.folder = folder
        self.name = folder.name
        self.identity = identity_of({"step": folder.name, **request})
        self.checkpoint = folder / CHECKPOINT

    def run(self, act: Callable[[TrainingStep], Mapping[str, Any]]) -> dict[str, Any]:
        """Do what is to be done, unless it was done before; the facts that `act` gives back."""
        found = self._record()
        if found.get("identity") == self.identity and found.get("done"):
            return dict(found["facts"])
        with writing_to(self.folder):
            if found.get("identity") != self.identity:
                self._begin()
        facts = act(self)
        self._finish(facts)
        return dict(facts)

    @property
    def done(self) -> bool:
        """Whether this very step has come to its end."""
        found = self._record()
        return found.get("identity") == self.identity and bool(found.get("done"))

    def _begin(self) -> None:
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True)
        write_json(self.folder / RECORD, {"identity": self.identity, "done": False})

    def _finish(self, facts: Mapping[str, Any]) -> None:
        with writing_to(self.folder):
            record = {"identity": self.identity, "done": True, "facts": dict(facts)}
            write_json(self.folder / RECORD, record)
            self.checkpoint.unlink(missing_ok=True)

    def _record(self) -> dict[str, Any]:
        """What the folder says of itself; a folder that is not ours is left alone."""
        file = self.folder / RECORD
        with writing_to(self.folder):
            if not file.exists():
                if self.folder.exists() and any(self.folder.iterdir()):
                    raise OutputError(
                        f"{self.folder} holds files that are not of a training; "
                        "give another `work` or --output"
                    )
                return {}
            text = file.read_text("utf-8")
        try:
            found = json.loads(text)
        except ValueError as error:
            raise OutputError(f"{file} cannot be read: {error}; delete {self.folder}") from error
        return found if isinstance(found, dict) else {}

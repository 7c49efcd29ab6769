"""What a training that is stopped leaves behind: one file, whole or not at all.

A checkpoint is known by an identity, of data and settings; one of another training is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from histoeval.errors import ModelError, OutputError


class Checkpoint:
    """The file of one training; without a path nothing is kept."""

    def __init__(self, path: Path | None, identity: str = "") -> None:
        self.path = path
        self.identity = identity

    def found(self) -> dict[str, Any] | None:
        """What a stopped run of this training has left, if it has left something."""
        if self.path is None or not self.path.exists():
            return None
        found = _loaded(self.path)
        if found.pop("identity") != self.identity:
            raise OutputError(
                f"{self.path} is of a training with other data or settings: "
                "give another folder, or delete that file to begin anew"
            )
        return found

    def keep(self, state: Mapping[str, Any]) -> None:
        """Put this in place of what was kept before; a kill in between loses neither."""
        import torch

        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(f"{self.path.name}.part")
        torch.save({"identity": self.identity, **state}, draft)
        draft.replace(self.path)

    def misfit(self) -> ModelError:
        """What is said of a checkpoint whose weights do not go into the model."""
        return ModelError(
            f"{self.path} cannot be used: it is of another model; delete it to begin anew"
        )


def _loaded(path: Path) -> dict[str, Any]:
    """What a checkpoint holds; what torch says of a torn one is no help to people."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, UnpicklingError) as error:
        raise ModelError(
            f"{path} cannot be used: it is torn, or no checkpoint; delete it to begin anew"
        ) from error
    if not isinstance(found, dict) or "identity" not in found:
        raise ModelError(f"{path} cannot be used: it is no checkpoint of a training")
    return found

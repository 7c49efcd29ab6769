"""Two towers that another library made with torch, run one patch and one phrase at a time.

So a vector never depends on what else is in the batch. Each library has a module that loads its
models; what they share is here.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import HistoEvalError, MissingDependency, ModelError
from histoeval.pathgls.grounding.encoder import Pixels, Vectors, of_length_one
from histoeval.runtime.memo import Memory
from histoeval.runtime.recipe import Remade

_REMEMBERED = 20_000


class TwoTowers(NamedTuple):
    """A loaded model, and how one patch and one phrase are put to it."""

    model: Any
    size: int
    """Pixels along a side of the patches that it takes."""
    look: Callable[[Pixels], Any]
    """A patch to a tensor of one row."""
    read: Callable[[str], Any]
    """A phrase to a tensor of one row."""
    library: str
    """Who runs it, with the release."""


class TowerEncoder(Remade):
    """An image-text encoder made of two towers."""

    def __init__(self, name: str, towers: TwoTowers) -> None:
        self.name = name
        self._towers = towers
        self._hash = weights_hash(towers.model)
        self._remembered = Memory(self._encode, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.name}@{self._hash}/{self._towers.library}"

    @property
    def size(self) -> int:
        """Pixels along a side of the patches that it takes."""
        return self._towers.size

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        """One vector for each patch, in their order."""
        rows = [one_row(self._towers.look, patch) for patch in patches]
        return of_length_one(np.array(rows), self.name)

    def texts(self, phrases: Sequence[str]) -> Vectors:
        """One vector for each phrase, in their order."""
        return of_length_one(np.array(self._remembered(phrases)), self.name)

    def _encode(self, phrases: Sequence[str]) -> list[NDArray[np.float32]]:
        return [one_row(self._towers.read, phrase) for phrase in phrases]


def one_row(tower: Callable[[Any], Any], given: Any) -> NDArray[np.float32]:
    """What a tower makes of one patch or phrase, as numbers."""
    import torch

    with torch.inference_mode():
        return np.asarray(tower(given).float().cpu().numpy().reshape(-1), np.float32)


def library_of(package: str, module: str, *, needed_by: str, install: str) -> Any:
    """A module of a package that is not among our extras; or how to install it."""
    if find_spec(package) is None:
        raise MissingDependency(
            f"{package} is not installed, and {needed_by!r} needs it; run: {install}"
        )
    return import_module(module)


def release_of(module: Any) -> str:
    """The release of a library, where it says it."""
    return str(getattr(module, "__version__", "unknown"))


@contextmanager
def loading(name: str, library: str) -> Iterator[None]:
    """Whatever a library raises while it loads a model becomes one error of one line."""
    try:
        yield
    except HistoEvalError:
        raise
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ModelError(f"{library} cannot load {name!r}: {reason}") from error


def weights_hash(*models: Any) -> str:
    """The start of a hash over the names and values of all weights."""
    import torch

    digest = hashlib.sha256()
    for model in models:
        for name, tensor in sorted(model.state_dict().items()):
            digest.update(name.encode())
            flat = tensor.detach().cpu().contiguous().view(-1)
            digest.update(flat.view(torch.uint8).numpy())
    return digest.hexdigest()[:12]

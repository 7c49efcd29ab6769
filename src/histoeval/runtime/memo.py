"""Caches of answers and models, and objects that can be sent to other processes.

Connections, keys and loaded weights cannot be pickled, or should not be. What opened them can.
"""

import ctypes
import os
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Generic, TypeVar

from histoeval.errors import HistoEvalError

# in the environment: how many worker processes there are, of which this is one
PROCESSES = "HISTOEVAL_PROCESSES"
Key = TypeVar("Key", bound=Hashable)
T = TypeVar("T")


def return_freed_memory() -> None:
    """Return freed memory to the system, since malloc of Linux keeps it below live blocks."""
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # musl has no such function


class Memory(Generic[Key, T]):
    """A cache of answers to texts or other keys: least recently used go first, bounded by size.

    What is not cached is answered in one go, so that batches stay full. Workers, which see a part
    of the rows each, cache that part of them. Several threads may ask at once; a copy that is
    pickled has nothing cached.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Key]], Sequence[T]],
        most: int = 20_000,
        size: Callable[[Key], int] | None = None,
    ) -> None:
        self._answer = answer
        self._most = most
        self._size = size
        self._held = 0
        self._known: OrderedDict[Key, T] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, (self._answer, self._most, self._size)

    def __call__(self, texts: Sequence[Key]) -> list[T]:
        cached: dict[Key, T] = {}
        with self._lock:
            for text in texts:
                if text in self._known:
                    cached[text] = self._known[text]
                    self._known.move_to_end(text)
        unknown = [text for text in dict.fromkeys(texts) if text not in cached]
        if unknown:
            answers = dict(zip(unknown, self._answer(unknown), strict=True))
            cached |= answers
            size = self._size or (lambda _: 1)
            with self._lock:
                for text, answer in answers.items():
                    if text not in self._known:
                        self._held += size(text)
                    self._known[text] = answer
                while self._held * _shared_by() > self._most:
                    oldest, _ = self._known.popitem(last=False)
                    self._held -= size(oldest)
        return [cached[text] for text in texts]


_LOADED: dict[str, OrderedDict[Hashable, Any]] = {}
_LOADING = RLock()
_MAX_LOADED = 2  # models of one kind that a process keeps: those used last


def _shared_by() -> int:
    """Number of processes that share the size of a cache: at most 16, so that a block fits."""
    number = os.environ.get(PROCESSES, "")
    return min(16, max(1, int(number))) if number.isdigit() else 1


def shared_model(kind: str, key: Hashable, load: Callable[[], T]) -> T:
    """Return a model of this process, loaded on first use; `key` is all that it depends on.

    Of each kind, such as `reader`, the last two are kept.
    """
    with _LOADING:
        models = _LOADED.setdefault(kind, OrderedDict())
        if key not in models:
            models[key] = load()
        models.move_to_end(key)
        while len(models) > _MAX_LOADED:
            models.popitem(last=False)
        model: T = models[key]
        return model


def folder_stamp(name: str | Path | None) -> Hashable:
    """A value that changes with the files of a folder; None where it is no folder."""
    if name is None or not Path(name).is_dir():
        return None
    files = sorted(path for path in Path(name).iterdir() if path.is_file())
    return tuple((f.name, (stat := f.stat()).st_size, stat.st_mtime_ns) for f in files)


class Remade:
    """An object pickled as the call that made it, or as usual if none is remembered."""

    _recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._recipe or super().__reduce_ex__(protocol)


def remember(made: Remade, make: Callable[..., Any], *arguments: Any) -> None:
    """Let an object remember the call that makes another one like it."""
    made._recipe = (make, arguments)


def portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickle raises whatever the error does
        return HistoEvalError(f"{type(error).__name__}: {error}")
    return error

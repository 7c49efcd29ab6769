"""Objects that travel to another process as the call that made them, and errors that can.

Connections, keys and loaded weights cannot be pickled, or should not be. What opened them can.
"""

import pickle
from collections.abc import Callable
from typing import Any

from histoeval.errors import HistoEvalError


class Remade:
    """Pickled, it is the call that made it; without one it is pickled as usual."""

    _recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._recipe or super().__reduce_ex__(protocol)


def remember(made: Remade, make: Callable[..., Any], *arguments: Any) -> None:
    """Let an object remember the call that makes another one like it."""
    made._recipe = (make, arguments)


def portable(error: Exception) -> Exception:
    """An error that can be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickle raises whatever the error does
        return HistoEvalError(f"{type(error).__name__}: {error}")
    return error

"""Objects that travel to another process as the call that made them.

Connections, keys and loaded weights cannot be pickled, or should not be. What opened them can.
"""

from collections.abc import Callable
from typing import Any


class Remade:
    """Pickled, it is the call that made it; without one it is pickled as usual."""

    _recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._recipe or super().__reduce_ex__(protocol)


def remember(made: Remade, make: Callable[..., Any], *arguments: Any) -> None:
    """Let an object remember the call that makes another one like it."""
    made._recipe = (make, arguments)

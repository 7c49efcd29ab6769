"""An engine by its name."""

import os
from typing import Literal

from histoeval.errors import SettingError
from histoeval.run.engines.engine import INLINE, Engine
from histoeval.run.engines.local import LocalEngine

EngineName = Literal["local", "ray", "inline"]

DEFAULT = "HISTOEVAL_ENGINE"


def choose_engine(
    name: str | Engine | None = None, workers: int | None = None, address: str | None = None
) -> Engine:
    """The engine of a name; None is `local`, except for what is faster in this process.

    HISTOEVAL_ENGINE in the environment names the engine where nothing else does.
    """
    if isinstance(name, Engine):
        return name
    if address is not None and name != "ray":
        raise SettingError("--address names a Ray cluster: it goes with --engine ray")
    if name is None and workers is None:
        name = os.environ.get(DEFAULT) or None
    if name == "inline":
        if workers not in (None, 1):
            raise SettingError("--engine inline is this process alone: leave --workers out")
        return INLINE
    if name is None or name == "local":
        return LocalEngine(workers, demanded=name == "local" or workers is not None)
    if name == "ray":
        from histoeval.run.engines.ray_data import RayEngine

        return RayEngine(workers, address)
    raise SettingError(f"there is no engine {name!r}; known: local, ray, inline")

"""Ray itself: a running cluster or one for this run alone, what it has, and its noise."""

import logging
import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import EndpointError, MissingDependency, SettingError, pip_install
from histoeval.runtime.threads import cores

LOGS = "HISTOEVAL_RAY_LOGS"
"""Set this in the environment to see what Ray itself logs, and its progress bars."""

ANSWER_S = 5.0
"""How long the head of a cluster may take to answer."""

LONGEST_FOLDER = 20
"""Ray makes sockets some folders further down, and the path of a socket must be short."""


class ActorShare(NamedTuple):
    """How many actors there are, and what each of them takes of the cluster."""

    actors: int
    cpus: float
    gpus: float


def share_of(resources: dict[str, float], workers: int | None, task: Any) -> ActorShare:
    """One actor for each core or GPU; what a server does needs one, if no number is given."""
    cpus, gpus = resources.get("CPU", 0), resources.get("GPU", 0)
    if task.on_gpu:
        if gpus < 1:
            raise SettingError("the Ray cluster has no GPU: leave --device out")
        actors = workers or int(gpus)
        return ActorShare(actors, _part(cpus, actors), _part(gpus, actors))
    actors = workers or (int(cpus) if task.parallel else 1) or 1
    return ActorShare(actors, _part(cpus, actors), 0)


def _part(there: float, actors: int) -> float:
    """What an actor can have at most, if each is to find a place on some machine."""
    return 1 / ceil(actors / max(there, 1))


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Ray, connected to a cluster; one that is started here is stopped at the end."""
    ray = _imported()
    if ray.is_initialized():
        yield ray
        return
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    _demand_answer(place)
    with ExitStack() as stack:
        _start(ray, place, stack.enter_context(_private_folder()))
        stack.callback(ray.shutdown)
        yield ray


def _demand_answer(place: str) -> None:
    """Refuse an address where nobody answers at once: Ray itself would wait for minutes."""
    host, colon, port = place.rpartition(":")
    if "://" in place:
        raise EndpointError(
            f"{place} is an address of Ray Client, which is not supported: run the command on a "
            "machine of the cluster with --address auto, or by `ray job submit`"
        )
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_S).close()
    except (OSError, ValueError) as error:
        raise _no_cluster(place, error) from error


def _no_cluster(place: str, error: Exception) -> EndpointError:
    return EndpointError(
        f"there is no Ray cluster at {place}: {_first_line(error)}; start one with `ray start "
        "--head`, or leave --address out"
    )


def _imported() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingDependency(f"--engine ray needs Ray: {pip_install('ray')}") from error
    if not shows_logs():
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    return ray


def _start(ray: Any, place: str, folder: Path) -> None:
    level = logging.INFO if shows_logs() else logging.CRITICAL
    settings: dict[str, Any] = {"address": place, "logging_level": level}
    settings["log_to_driver"] = shows_logs()
    if place == "local":
        settings |= {
            "num_cpus": cores(),
            "include_dashboard": False,
            "_temp_dir": str(folder / "r"),
        }
    try:
        with _quiet():
            ray.init(**settings)
    except (ConnectionError, ValueError, OSError) as error:
        raise _no_cluster(place, error) from error
    except RuntimeError as error:
        raise EndpointError(
            f"the Ray cluster at {place} does not fit this installation: {error}"
        ) from error


def shows_logs() -> bool:
    """Whether Ray may write to the terminal."""
    return os.environ.get(LOGS, "") not in ("", "0")


def in_words(error: Exception) -> EndpointError:
    """What Ray says of a run that has failed, in short."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, ModuleNotFoundError) or "No module named 'histoeval" in str(error):
        return EndpointError(
            "the machines of the Ray cluster have no histoeval, or another version of it: install "
            "this one there"
        )
    return EndpointError(
        f"Ray has stopped: {type(cause).__name__}: {_first_line(cause)} ({LOGS}=1 shows more); "
        "finished blocks are kept: run the same command again"
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder for what Ray writes, which holds report texts: Ray makes its own open to all."""
    usual = tempfile.gettempdir()
    short = usual if len(usual) <= LONGEST_FOLDER else "/tmp"
    with tempfile.TemporaryDirectory(prefix="ray-", dir=short, ignore_cleanup_errors=True) as made:
        yield Path(made)


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray's own notes and warnings are kept off the terminal while it starts; no usage reports."""
    ours = {"RAY_USAGE_STATS_ENABLED": "0"}
    if not shows_logs():
        ours["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    added = {name: text for name, text in ours.items() if name not in os.environ}
    os.environ.update(added)
    try:
        with warnings.catch_warnings(), ExitStack() as stack:
            warnings.simplefilter("ignore")
            if not shows_logs():
                stack.enter_context(_silent())
            yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing reaches standard error, whoever writes to it."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

"""What can go wrong: exceptions and problems.

Exceptions stop a command; they are for what the user must change before anything can be done::

    HistoEvalError
    ├── InputError          a file, folder or column that cannot be used
    ├── SettingError        an option, metric name or value that makes no sense
    ├── ModelError          a model that cannot be loaded or does not fit its task
    ├── EndpointError       a service that cannot be reached, or refuses everything
    ├── MissingDependency   an extra or a data set that is not installed
    └── OutputError         a result folder that must not or cannot be written

Problems do not stop anything. A row that cannot be read and a pair that a metric cannot score
each become one `Problem`, kept beside the scores, counted, and never replaced by a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from struct import error as StructError  # noqa: N812 - a class, whatever its name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

TRACEBACK = "HISTOEVAL_TRACEBACK"
"""Set this in the environment to see the traceback of an unexpected error."""


class HistoEvalError(Exception):
    """Base of everything this package raises on purpose; its message is human-readable."""


class InputError(HistoEvalError):
    """A file, folder or column cannot be used."""


class SettingError(HistoEvalError):
    """An option, metric name or value makes no sense."""


class ModelError(HistoEvalError):
    """A model cannot be loaded, or is not of the kind its task needs."""


class EndpointError(HistoEvalError):
    """A service cannot be reached, or refuses everything; retrying is no use."""


class MissingDependency(HistoEvalError):  # noqa: N818 - reads better than MissingDependencyError
    """Something optional is needed here and is not installed."""


class OutputError(HistoEvalError):
    """A result folder must not or cannot be written."""


def pip_install(extra: str) -> str:
    """The command that installs an extra, for an installed package and for a clone."""
    clone = "./research" if extra == "research" else f"'.[{extra}]'"
    return f"pip install 'histoeval[{extra}]' (in a clone: pip install {clone})"


def reason_of(error: BaseException) -> str:
    """What an error of a library says, where it says it to people.

    Libraries stumble over damaged files in ways that they did not foresee; what Python says then
    is about their code, and the file is not what its format prescribes.
    """
    if isinstance(error, _STUMBLES) or not str(error):
        return "it is not built as its format prescribes"
    return str(error).partition("\n")[0]


_STUMBLES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    StructError,
    TypeError,
)


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A guess, in brackets, at which of these names was meant; nothing where none is near."""
    names = {name.casefold(): name for name in reversed(list(known))}
    near = get_close_matches(given.casefold(), names, n=1)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def explain_validation(error: ValidationError, root: str = "the file") -> str:
    """The first key that pydantic refuses, and why; `root` names what has no key."""
    fault = error.errors()[0]
    key = ".".join(map(str, fault["loc"])) or root
    message = fault["msg"].removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}"
    return f"{key}: {message}" if key else message


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one row, or one metric on one row, has no score."""

    code: str
    message: str
    column: str | None = None
    metric: str | None = None

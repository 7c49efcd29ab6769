"""Exceptions and problems.

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
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel, ValidationError

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
    """Return the command that installs an extra, for an installed package and for a clone."""
    clone = "./research" if extra == "research" else f"'.[{extra}]'"
    return f"pip install 'histoeval[{extra}]' (in a clone: pip install {clone})"


def reason_of(error: BaseException) -> str:
    """Describe an error of a library to users, without Python's terms for code."""
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
    """Suggest the nearest known name, in brackets; empty if none is near."""
    names = {name.casefold(): name for name in reversed(list(known))}
    near = get_close_matches(given.casefold(), names, n=1)
    return f" (did you mean {names[near[0]]!r}?)" if near else ""


def first_fault(error: ValidationError) -> Mapping[str, Any]:
    """Return the fault to explain: an unknown key first, since it may stand for a missing one."""
    return min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")


def explain_validation(
    error: ValidationError, root: str = "the file", model: type[BaseModel] | None = None
) -> str:
    """Explain the first key that pydantic refuses; `root` names the content as a whole.

    With the model, also name the refused value and the keys that exist there.
    """
    fault = first_fault(error)
    path = [str(part) for part in fault["loc"]]
    key = ".".join(path) or root
    message = fault["msg"].removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}"
    if model is None:
        return f"{key}: {message}" if key else message
    if fault["type"] == "extra_forbidden":
        keys = _keys_at(model, path[:-1])
        guess = did_you_mean(path[-1], keys)
        return f"there is no key {key}{guess}; there are {', '.join(keys)}"
    if fault["type"] == "missing":
        return f"{key} is missing"
    if fault["type"] == "model_type":
        message = f"keys are expected there: {', '.join(_keys_at(model, path))}"
    if fault["type"] == "dict_type":
        message = "names are expected there, each with its value, as in `name: value`"
    shown = "" if isinstance(fault["input"], dict) else f" is {fault['input']!r:.60}"
    return f"{key}{shown}: {message}"


def _keys_at(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    for name in path:
        if name in model.model_fields:
            annotation = model.model_fields[name].annotation
            kinds = (annotation, *get_args(annotation))
            model = next((kind for kind in kinds if hasattr(kind, "model_fields")), model)
    return [field.alias or name for name, field in model.model_fields.items()]


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason that one row, or one metric on one row, has no score."""

    code: str
    message: str
    column: str | None = None
    metric: str | None = None

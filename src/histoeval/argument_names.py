"""Spelling of arguments for the caller, so that a message names only options that exist there.

A message asks for `argument("candidate_column", "NAME")`. In `histoeval score` that reads
`--candidate NAME`, in `histoeval explain`, where `--candidate` is a text, `--candidate-column
NAME`, and from Python `candidate='NAME'`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper, wraps
from inspect import cleandoc, signature
from typing import Any, NamedTuple, ParamSpec, TypeVar

from histoeval.errors import HistoEvalError
from histoeval.settings import arguments_text, signature_of

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])

# what is a field of `Models` in Python
MODEL_SETTINGS = frozenset(
    "reader relations aligner encoder judge labels pooling device dtype token_budget".split()
)
# what is a field of `Endpoint` in Python
ENDPOINT_SETTINGS = {
    "endpoint": "url",
    "model": "model",
    "key_env": "key_env",
    "key_file": "key_file",
    "header": "headers",
}
# what is a field of the `Tls` of an `Endpoint` in Python
TLS_SETTINGS = frozenset({"ca", "client_cert", "client_key"})
# an option; or a whole command of the shell, which stays one
_OPTION = re.compile(r"`histoeval [^`]*`|(?<![\w-])--([a-z][a-z-]*)(?: ([A-Z]{2,})\b)?")


class Caller(NamedTuple):
    """A verb of the command line or a Python function, and the arguments that it takes."""

    arguments: frozenset[str]
    is_shell: bool = False

    def spell(self, name: str, value: object = None) -> str:
        """Return an argument as this caller writes it; empty if the caller has no such argument."""
        write = _option if self.is_shell else _keyword
        for spelling in (name, name.removesuffix("_column")):
            if spelling in self.arguments:
                return write(spelling, value)
        if self.is_shell:  # a verb that only lists metrics: those that run them have options
            if name == "judge":
                return f"{_option('endpoint', value)} and {_option('model', value)}"
            return _option(name, value) if name in MODEL_SETTINGS else ""
        if name in MODEL_SETTINGS:  # no argument of a function, but a field of one
            return f"models=Models({_keyword(name, value)})"
        if name.endswith("_column") and "columns" in self.arguments:
            field, names = name.removesuffix("_column"), value
            if field == "candidate":
                field, names = "candidates", (value,)
            return f"columns=Columns({_keyword(field, names)})"
        taker = next((keyword for keyword in ("llm", "vlm") if keyword in self.arguments), None)
        if name in ENDPOINT_SETTINGS and taker is not None:
            return f"{taker}=Endpoint({_keyword(ENDPOINT_SETTINGS[name], value)})"
        if name in TLS_SETTINGS and taker is not None:
            return f"{taker}=Endpoint(tls=Tls({_keyword(name, value)}))"
        return ""


_current: ContextVar[Caller | None] = ContextVar("caller", default=None)
_shell: list[Caller] = []  # the verb that this process runs, which every thread of it serves


@contextmanager
def called_from(caller: Caller) -> Iterator[None]:
    """Word messages for this caller while the context is open."""
    token = _current.set(caller)
    verbs = [caller] if caller.is_shell else []
    _shell[len(_shell) :] = verbs
    try:
        yield
    finally:
        _current.reset(token)
        del _shell[len(_shell) - len(verbs) :]


def current_caller() -> Caller | None:
    """Return the current caller, for another process that words messages for the same one."""
    return _current.get() or (_shell[-1] if _shell else None)


def in_shell() -> bool:
    """True if this process runs a verb of the command line, and ends with it."""
    return bool(_shell)


def argument(name: str, value: object = None) -> str:
    """Return an argument (`_column`: of a column) as the caller spells it; empty if it has none."""
    caller = current_caller()
    if caller is not None:
        return caller.spell(name, value)
    plain = name.removesuffix("_column")
    return Caller(frozenset({plain} - MODEL_SETTINGS)).spell(plain, value)


def front_door(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function public: its messages name its arguments and no options of a shell."""
    caller = Caller(frozenset(signature(function).parameters))

    def reworded(option: re.Match[str]) -> str:
        """Return an option as a Python argument; a whole command stays as it is."""
        if option[1] is None:
            return option[0]
        name = option[1].replace("-", "_")
        return caller.spell(name, option[2]) or _keyword(name, option[2])

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if in_shell():  # a verb calls, and its options are what can be named
            return function(*args, **kwargs)
        with called_from(caller):
            try:
                return function(*args, **kwargs)
            except HistoEvalError as error:
                error.args = (_OPTION.sub(reworded, str(error)),)
                raise

    return called


def public(settings: Callable[P, S]) -> Callable[[Callable[[S], R]], Callable[P, R]]:
    """Make a public function whose arguments, documented, are the fields of a settings model."""

    def decorate(function: Callable[[S], R]) -> Callable[P, R]:
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(settings(*args, **kwargs))

        update_wrapper(called, function)
        called.__doc__ = _with_arguments(function, settings)
        returned = function.__annotations__["return"]
        vars(called)["__signature__"] = signature_of(settings, returned)
        called.__annotations__ = {}
        return front_door(called)

    return decorate


def documented(function: F) -> F:
    """Add the help of the `Option`s of a function to its docstring."""
    function.__doc__ = _with_arguments(function, function)
    return function


def _with_arguments(function: Callable[..., Any], settings: Any) -> str:
    """Return the docstring with the settings inserted before results and examples."""
    text = cleandoc(function.__doc__ or "")
    end = re.search(r"\n\n(Returns|Examples):\n", text)
    cut = len(text) if end is None else end.start()
    return f"{text[:cut]}\n\n{arguments_text(settings)}{text[cut:]}"


def _option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    return option if value is None else f"{option} {value}"


def _keyword(name: str, value: object) -> str:
    if name in ("overwrite", "loose_ids"):
        return f"{name}=True"
    return f"{name}=..." if value is None else f"{name}={value!r}"
